"""A stream of Kinesis as a streaming source of Spark, in Python.

Its offsets are, by shard, the sequence number of the last record that was read: Spark keeps them in
the checkpoint, and asks for the same records again where a batch was not finished.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from examples.aws_stack.cloud import connect

START: Final = ""
"""Of a shard: before its oldest record."""
MOST_AT_ONCE: Final = 10_000
"""Kinesis itself returns no more."""
SCHEMA: Final = "shard string, sequence string, arrived timestamp, content string"

Offset = dict[str, str]
Row = tuple[str, str, datetime, str]


class Span(InputPartition):
    """Records of a shard: after the first number, up to the last, which is one of them."""

    def __init__(self, shard: str, after: str, last: str) -> None:
        """Take the ends."""
        super().__init__(shard)
        self.shard, self.after, self.last = shard, after, last


class _Page(NamedTuple):
    records: list[Any]
    is_newest: bool


class KinesisSource(DataSource):
    """Options: stream, endpoint (none: AWS), per_batch (records of all shards)."""

    @classmethod
    def name(cls) -> str:
        """Return its name as a format."""
        return "kinesis"

    def schema(self) -> str:
        """Return the columns."""
        return SCHEMA

    def streamReader(self, schema: Any) -> "KinesisReader":  # noqa: ARG002, N802 - Spark's
        """Return a reader."""
        return KinesisReader(self.options)


class KinesisReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches in the driver, and reads them in the executors."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """options: those of the source."""
        self._stream, self._endpoint = options["stream"], options.get("endpoint", "")
        self._per_batch = int(options.get("per_batch", "20000"))
        self._is_draining = False
        self._target: Offset | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        """Return where a stream begins that was never read."""
        return dict.fromkeys(self._list_shards(), START)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return how much a batch holds."""
        return ReadMaxRows(self._per_batch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Let the query end: what comes after its first look at the stream is not its own."""
        self._is_draining = True

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Return where the next batch ends. A shard does not tell its end: it is read up to it."""
        if self._is_draining and self._target is None:
            # From where the query goes on: Kinesis may hold a year of what was read before.
            shards = self._list_shards()
            self._target = self._find_ends({one: start.get(one, START) for one in shards}, None)
        shards = [*(self._target or dict.fromkeys([*start, *self._list_shards()]))]
        most = None
        if not isinstance(limit, ReadAllAvailable):
            most = max(1, self._per_batch // max(1, len(shards)))
        ends = self._find_ends({shard: start.get(shard, START) for shard in shards}, most)
        if self._target is None:
            return ends
        return {shard: min(end, self._target[shard], key=_order_of) for shard, end in ends.items()}

    def partitions(self, start: Offset, end: Offset) -> list[Span]:
        """Return a span for each shard that has something new."""
        spans = [Span(shard, start.get(shard, START), last) for shard, last in end.items()]
        return [span for span in spans if _order_of(span.last) > _order_of(span.after)]

    def read(self, span: Span) -> Iterator[Row]:
        """Yield the records of a span. Raises RuntimeError where the stream has lost some."""
        for record in self._read_records(span):
            content = record["Data"].decode(errors="replace")
            number = record["SequenceNumber"]
            yield span.shard, number, record["ApproximateArrivalTimestamp"], content
            if number == span.last:
                return
        raise RuntimeError(
            f"shard {span.shard} of {self._stream} has no record {span.last} any more: it was "
            "longer without a reader than it keeps records"
        )

    def _read_records(self, span: Span) -> Iterator[Any]:
        for page in self._read_pages(span.shard, span.after):
            for record in page.records:
                if _order_of(record["SequenceNumber"]) > _order_of(span.last):
                    return
                yield record
            if page.is_newest:
                return

    def _find_ends(self, start: Offset, most: int | None) -> Offset:
        return {shard: self._find_end(shard, after, most) for shard, after in start.items()}

    def _find_end(self, shard: str, after: str, most: int | None) -> str:
        """Return the number of the last record, at most so many after this one."""
        n_records, end = 0, after
        for page in self._read_pages(shard, after, most):
            if page.records:
                end = page.records[-1]["SequenceNumber"]
            n_records += len(page.records)
            if page.is_newest or (most is not None and n_records >= most):
                break
        return end

    def _read_pages(self, shard: str, after: str, most: int | None = None) -> Iterator[_Page]:
        client = connect("kinesis", self._endpoint)
        place = {"ShardIteratorType": "TRIM_HORIZON"}
        if after != START:
            place = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": after}
        begin = client.get_shard_iterator(StreamName=self._stream, ShardId=shard, **place)
        iterator, count = begin["ShardIterator"], min(most or MOST_AT_ONCE, MOST_AT_ONCE)
        # A shard that was closed has no further iterator once it is read to its end.
        while iterator:
            answer = client.get_records(ShardIterator=iterator, Limit=count)
            # Behind by less than a millisecond is said to be 0, too: only then without records.
            is_newest = not answer["Records"] and answer.get("MillisBehindLatest", 0) == 0
            yield _Page(answer["Records"], is_newest)
            iterator = answer.get("NextShardIterator")

    def _list_shards(self) -> list[str]:
        pages = connect("kinesis", self._endpoint).get_paginator("list_shards")
        answers = pages.paginate(StreamName=self._stream)
        return sorted(shard["ShardId"] for answer in answers for shard in answer["Shards"])


def _order_of(number: str) -> int:
    return int(number) if number != START else -1
