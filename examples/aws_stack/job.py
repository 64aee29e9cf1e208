"""The streaming job: Kinesis -> Parquet, and chunks to the platform; run in the tool `spark`.

    python -m examples.aws_stack.job --stream experience --out FOLDER --site URL

It goes on from FOLDER/checkpoint after whatever ended it. EVALSITE_TOKEN is the platform's token.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from examples.aws_stack.cassandra_table import CassandraTable
from examples.aws_stack.forwarding import Forwarder
from examples.aws_stack.kinesis import KinesisSource
from examples.aws_stack.uploading import Site, Tally

RECORD: Final = """client string, number bigint, game string, policy_version int, episode bigint,
    step int, observation array<float>, next_observation array<float>, action int, reward float,
    terminated boolean, truncated boolean, log_prob float, broken string"""
"""The columns of a record; broken: its text where it is none."""


class Job:
    """Does the batches that Spark gives it; a batch that is given again leaves the same."""

    def __init__(
        self, forwarder: Forwarder, out: Path, table: CassandraTable | None = None
    ) -> None:
        """out: where the Parquet files are written, a folder for each batch."""
        self._forwarder, self._out, self._table = forwarder, out, table

    def write_batch(self, rows: DataFrame, batch: int) -> None:
        """Write the records of a batch, then send them."""
        options = {"columnNameOfCorruptRecord": "broken"}
        records = rows.withColumn("record", sql.from_json("content", RECORD, options))
        # Kept, as it is read twice, and Kinesis is not to be.
        kept = records.select("shard", "sequence", "arrived", "record.*").persist()
        try:
            kept.write.mode("overwrite").parquet(str(self._out / f"batch={batch:08d}"))
            if self._table:
                kept.foreachPartition(self._table.write)
            say(f"batch {batch}", self._forward(kept, batch))
        finally:
            kept.unpersist()

    def _forward(self, records: DataFrame, batch: int) -> Tally:
        forwarder, total = self._forwarder, Tally()
        # Where a shard is, all of it is: its leftovers have one writer.
        by_shard = records.repartition("shard").sortWithinPartitions("shard").rdd
        for tally in by_shard.mapPartitions(lambda rows: forwarder.forward(rows, batch)).collect():
            total.add(tally)
        return total


def say(what: str, tally: Tally) -> None:
    """Print what was done with a batch."""
    counts = ", ".join(f"{n} {outcome}" for outcome, n in sorted(tally.steps.items()))
    print(
        f"{what}: {counts or 'nothing full'}; {tally.n_waiting} wait, {tally.n_broken} broken",
        flush=True,
    )


def open_session() -> SparkSession:
    """Return Spark with two threads on this machine; cluster settings come by spark-submit."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings: dict[str, Any] = {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # A handful of shards: more partitions are more processes.
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        # On a busy machine a Python worker takes longer to start than the 15 s that are usual.
        "spark.python.authenticate.socketTimeout": "120s",
    }
    builder = SparkSession.builder.appName("evalsite-aws-stack")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def read_options() -> argparse.Namespace:
    """Return the command's options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--stream", required=True)
    parser.add_argument("--endpoint", default="", help="of Kinesis; none: AWS itself")
    parser.add_argument("--out", type=Path, required=True, help="of Parquet files and checkpoint")
    parser.add_argument("--site", required=True, help="address of the platform")
    parser.add_argument("--cassandra", type=read_server, help="HOST:PORT to write records to, too")
    parser.add_argument("--per-batch", type=int, default=20_000, help="records of a batch at most")
    parser.add_argument(
        "--until-drained", action="store_true", help="end with what is there now, short chunks too"
    )
    return parser.parse_args()


def read_server(text: str) -> CassandraTable:
    """Return the table on a server."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        raise argparse.ArgumentTypeError(f"must be HOST:PORT, got {text!r}")
    return CassandraTable(host, int(port))


def main() -> None:
    """Run until killed, or until the stream is drained."""
    options = read_options()
    if not (token := os.environ.get("EVALSITE_TOKEN")):
        raise SystemExit("EVALSITE_TOKEN is missing: `./run manage ...` and the admin make tokens")
    checkpoint = options.out.absolute() / "checkpoint"
    forwarder = Forwarder(options.stream, Site(options.site, token), checkpoint / "forwarded")
    if options.cassandra:
        options.cassandra.create()
    job = Job(forwarder, options.out.absolute() / "records", options.cassandra)
    spark = open_session()
    spark.dataSource.register(KinesisSource)
    rows = spark.readStream.format("kinesis").options(
        stream=options.stream, endpoint=options.endpoint, per_batch=str(options.per_batch)
    )
    query = rows.load().writeStream.foreachBatch(job.write_batch)
    query = query.option("checkpointLocation", str(checkpoint / "spark"))
    if not options.until_drained:
        query.trigger(processingTime="1 second").start().awaitTermination()
        return
    query.trigger(availableNow=True).start().awaitTermination()
    for tally in forwarder.finish():
        say("the rest", tally)


if __name__ == "__main__":
    main()
