"""Turn what happens to an order into reports: started, results each second, the last one."""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol

from arena.messages import BegunRow, MatchOrder, Report, ResultRow, Results, Started

MAX_ROWS = 1_000
MAX_TEXT = 2_000_000
KEEP_AT_LEAST_S = 60.0


class PostReport(Protocol):
    """Where reports go; returns at once and does not fail."""

    def __call__(self, report: Report, *, queue: str, keep_s: float) -> None:
        """Send a report to a queue; while the broker is away keep it for so many seconds."""
        ...


class OrderReports:
    """The reports of one order."""

    # How often those say how far they are that have not ended.
    actions_s = 2.0

    def __init__(
        self,
        order: MatchOrder,
        *,
        node: str,
        incarnation: str,
        key: str,
        post: PostReport,
        report_s: float,
        now: float,
    ) -> None:
        self._order, self._node, self._incarnation, self._key = order, node, incarnation, key
        self._report_s, self._flushed_at = report_s, now
        self._post, self._keep_s = post, max(KEEP_AT_LEAST_S, order.limits.match_s)
        self._rows: list[ResultRow] = []
        self._n_text = 0
        self._executing: list[int] = []
        self._endings: Counter[str] = Counter()

    @property
    def endings(self) -> dict[str, int]:
        """How many attempts ended how, so far."""
        return dict(self._endings)

    def report_start(self) -> None:
        """Say that the order has been taken."""
        started = Started(
            node=self._node,
            incarnation=self._incarnation,
            order=self._order.order,
            token=self._order.token,
            key=self._key,
        )
        self._post(started, queue=self._order.reports, keep_s=self._keep_s)

    def add_result(self, row: ResultRow) -> None:
        """Keep a result for the next report."""
        self._rows.append(row)
        self._endings[row.ending.value] += 1
        self._n_text += len(row.actions) + len(row.notes)

    def is_due(self, now: float) -> bool:
        """Return True when it is time for a report, or when one is full."""
        is_full = len(self._rows) >= MAX_ROWS or self._n_text >= MAX_TEXT
        return is_full or now - self._flushed_at >= self._report_s

    def flush(
        self, executing: Sequence[int], *, now: float, begun: Sequence[BegunRow] = ()
    ) -> None:
        """Report the results that wait, how far others are, and what is executing if changed."""
        self._flushed_at = now
        if self._rows or begun or self._executing != executing:
            self._send_rows(executing, is_last=False, begun=_take_fitting(begun))

    def report_end(self) -> None:
        """Report the results that wait and that the order is done with."""
        self._send_rows([], is_last=True)

    def _send_rows(
        self, executing: Sequence[int], *, is_last: bool, begun: Sequence[BegunRow] = ()
    ) -> None:
        rows, self._rows, self._n_text = self._rows, [], 0
        self._executing = list(executing)
        for start in range(0, max(1, len(rows)), MAX_ROWS):
            end = start + MAX_ROWS
            results = Results(
                node=self._node,
                incarnation=self._incarnation,
                order=self._order.order,
                results=rows[start:end],
                executing=self._executing,
                is_last=is_last and end >= len(rows),
                key=self._key,
                begun=list(begun) if start == 0 else [],
            )
            self._post(results, queue=self._order.reports, keep_s=self._keep_s)


def _take_fitting(begun: Sequence[BegunRow]) -> list[BegunRow]:
    """Return as many as a report takes; what is left over is reported with later moves."""
    lengths = accumulate(len(row.actions) for row in begun)
    return [row for row, length in zip(begun, lengths, strict=True) if length <= MAX_TEXT]
