"""What a batch has brought goes to the platform as chunks; what is not full yet waits in a file.

The file of a batch follows from that of the batch before and from the records: where a batch is
done again, it comes to the same chunks under the same ids, which the platform has already.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from examples.aws_stack.cutting import Client, Record, add_records, build_chunk, name_chunk
from examples.aws_stack.uploading import Site, Tally

NEEDED: Final = (
    *("client", "number", "game", "policy_version", "episode", "step", "observation"),
    *("next_observation", "action", "reward", "terminated", "truncated"),
)
_KEPT_FILES: Final = 3

Clients = dict[str, Client]


@dataclass(frozen=True)
class Forwarder:
    """Sends the records of a stream. folder: seen by all executors, as Spark's checkpoint is."""

    stream: str
    site: Site
    folder: Path

    def forward(self, rows: Iterable[Any], batch: int) -> Iterator[Tally]:
        """Send what is full of the rows of one batch, given shard by shard."""
        for shard, group in groupby(rows, key=lambda row: str(row["shard"])):
            files = Leftovers(self.folder / "leftovers" / shard)
            clients, tally = files.read(before=batch), Tally()
            records = [*_read_records(group, tally)]
            add_records(clients, sorted(records, key=lambda record: int(record["sequence"])))
            yield self._send(shard, clients, tally)
            files.write(clients, batch)

    def finish(self) -> Iterator[Tally]:
        """Send what was left of all shards: nothing follows."""
        for folder in sorted((self.folder / "leftovers").glob("*")):
            files = Leftovers(folder)
            batch = files.newest_batch
            clients = files.read(before=batch + 1)
            yield self._send(folder.name, clients, Tally(), is_last=True)
            files.write(clients, batch)

    def _send(self, shard: str, clients: Clients, tally: Tally, *, is_last: bool = False) -> Tally:
        for client in clients.values():
            for records in client.cut(is_last=is_last):
                chunk = build_chunk(name_chunk(self.stream, shard, records), records)
                tally.count(self.site.send(chunk, refused=self.folder / "refused"), len(records))
            tally.n_waiting += len(client.waiting)
        return tally


class Leftovers:
    """What clients of a shard have sent that is in no chunk yet, a file for each batch."""

    def __init__(self, folder: Path) -> None:
        """folder: of the shard."""
        self._folder = folder

    @property
    def newest_batch(self) -> int:
        """Return the last batch that has a file, -1 without any."""
        return max((int(file.stem) for file in self._folder.glob("*.json")), default=-1)

    def read(self, *, before: int) -> Clients:
        """Return what was left before a batch."""
        files = [file for file in self._list_files() if int(file.stem) < before]
        if not files:
            return {}
        kept: dict[str, Any] = json.loads(files[-1].read_text())
        return {name: _read_client(client) for name, client in kept.items()}

    def write(self, clients: Clients, batch: int) -> None:
        """Keep what is left after a batch, at once or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        target = self._folder / f"{batch:012d}.json"
        with (part := target.with_suffix(".part")).open("w") as file:
            json.dump({name: asdict(client) for name, client in clients.items()}, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
        # Spark does no batch again but the last one.
        for file_name in self._list_files()[:-_KEPT_FILES]:
            file_name.unlink()

    def _list_files(self) -> list[Path]:
        return sorted(self._folder.glob("*.json"))


def _read_client(kept: Mapping[str, Any]) -> Client:
    # JSON has no numbers as names.
    waiting = {int(number): record for number, record in kept["waiting"].items()}
    return Client(kept["next"], waiting)


def _read_records(rows: Iterable[Any], tally: Tally) -> Iterator[Record]:
    """Yield what can be sent; the rest stays in the Parquet files alone."""
    for row in rows:
        record: Record = row.asDict()
        if any(record[name] is None for name in NEEDED):
            tally.n_broken += 1
            continue
        yield {name: record[name] for name in (*NEEDED, "log_prob", "sequence")}
