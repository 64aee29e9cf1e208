"""Orders of the fake game, and what tests need to have them played."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from arena.messages import (
    AgentOrder,
    FaultRates,
    Limits,
    MatchOrder,
    MatchOrderRow,
    Report,
    ResultRow,
    Results,
)
from workers.pool import PlayerPool
from workers.progress import PaceEstimate
from workers.reports import OrderReports
from workers.scheduler import Scheduler
from workers.stop_signals import Stop

ORDER = "0" * 32


def fake(what: str = "nothing", *, policy: str = "fake", **where: int) -> AgentOrder:
    """Return an agent that misbehaves so."""
    return AgentOrder(policy, {"what": what, **where})


def make_order(
    n: int = 8,
    *,
    agents: Sequence[AgentOrder] = (fake(), fake()),
    game: str = "sum",
    rules_version: int = 1,
    limits: Limits | None = None,
    faults: FaultRates | None = None,
    seats: Sequence[int] = (0, 1),
    **game_parameters: Any,
) -> MatchOrder:
    """Return an order of n matches; match 100 + i has game seed i + 1."""
    return MatchOrder(
        order=ORDER,
        token="order-token",
        game=game,
        rules_version=rules_version,
        game_parameters=game_parameters,
        opening_plies=0,
        limits=limits or Limits(),
        agents=list(agents),
        matches=[MatchOrderRow(100 + i, 1, i + 1, list(seats), f"token-{i}") for i in range(n)],
        faults=faults,
    )


class Posted:
    """Keeps what would be sent to the recorder."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.queues: list[str] = []

    def post(self, report: Report, *, queue: str, keep_s: float) -> None:
        self.queues.append(queue)
        self.reports.append(report)

    @property
    def results(self) -> list[Results]:
        return [report for report in self.reports if isinstance(report, Results)]

    @property
    def rows(self) -> dict[int, ResultRow]:
        """Result rows by match; fails when one is reported twice."""
        rows = [row for results in self.results for row in results.results]
        by_match = {row.match: row for row in rows}
        assert len(by_match) == len(rows)
        return by_match


def play(
    order: MatchOrder,
    pool: PlayerPool,
    *,
    stop: Callable[[], Stop] = lambda: Stop.NO,
    notice_s: float = 5.0,
    report_s: float = 1.0,
    clock: Callable[[], float] = time.monotonic,
    posted: Posted | None = None,
) -> Posted:
    """Play an order with a pool and return what is reported."""
    posted = posted or Posted()
    reports = OrderReports(
        order,
        node="node-1",
        incarnation="first",
        key="key",
        post=posted.post,
        report_s=report_s,
        now=clock(),
    )
    Scheduler(
        order, pool, reports, PaceEstimate(), stop=stop, notice_s=notice_s, clock=clock
    ).play_order()
    return posted
