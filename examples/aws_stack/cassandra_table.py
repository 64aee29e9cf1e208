"""The table of Cassandra that the seed's trainers sample from, written by the same job.

A record's key follows from its place in the stream, so a record that is written again is no second
row.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import RoundRobinPolicy

KEYSPACE: Final = """CREATE KEYSPACE IF NOT EXISTS experience
    WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"""
# A partition is a day of a shard: one that grew for ever would not fit a node.
TABLE: Final = """CREATE TABLE IF NOT EXISTS experience.steps (
    shard text, day date, sequence varint, client text, number bigint, game text,
    policy_version int, episode bigint, step int, observation frozen<list<float>>,
    next_observation frozen<list<float>>, action int, reward float, terminated boolean,
    truncated boolean, log_prob float, PRIMARY KEY ((shard, day), sequence))"""
COLUMNS: Final = (
    *("shard", "day", "sequence", "client", "number", "game", "policy_version", "episode", "step"),
    *("observation", "next_observation", "action", "reward", "terminated", "truncated"),
    "log_prob",
)
INSERT: Final = (
    f"INSERT INTO experience.steps ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
)
AT_ONCE: Final = 32
PROTOCOL: Final = 4
"""Of Cassandra 3 and 4."""


@dataclass(frozen=True)
class CassandraTable:
    """The table on a server."""

    host: str
    port: int

    def create(self) -> None:
        """Make keyspace and table where they are not there."""
        with self._connect() as cluster:
            session = cluster.connect()
            for statement in (KEYSPACE, TABLE):
                session.execute(statement)

    def write(self, rows: Iterable[Any]) -> None:
        """Write the records of one partition of Spark. Raises the driver's errors."""
        with self._connect() as cluster:
            session = cluster.connect()
            insert = session.prepare(INSERT)
            execute_concurrent_with_args(session, insert, _list_values(rows), concurrency=AT_ONCE)

    def _connect(self) -> Any:
        policy = RoundRobinPolicy()
        return Cluster(
            [self.host],
            port=self.port,
            protocol_version=PROTOCOL,
            execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)},
            # The table is known: what else there is need not be asked for.
            schema_metadata_enabled=False,
        )


def _list_values(rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the values of records; what could not be read has no client, and is passed over."""
    for row in rows:
        record = row.asDict()
        if record["client"] is not None:
            record |= {"day": record["arrived"].date(), "sequence": int(record["sequence"])}
            yield tuple(record[name] for name in COLUMNS)
