"""A runner whose networks are stepped without processes."""

from collections.abc import Sequence
from dataclasses import replace

from arena.games.base import GameSpec
from arena.messages import AgentOrder, FaultRates
from arena.policies.network_policy import Network
from workers.message_buffer import MessageBuffer
from workers.order_setup import Setup, build_setup
from workers.runner import MatchRunner
from workers.tests.fake_networks import SumNetwork, network
from workers.tests.fakes import CATALOGS
from workers.tests.runners import Lookout, PlayerReports, items
from workers.wire import Assignment, EndedMatch, Prepare

PAIR = (network(), network())


class Stage:
    """A runner whose networks keep a common log."""

    def __init__(self, call_memory: Lookout) -> None:
        self.call_memory, self.reports = call_memory, PlayerReports()
        self.log: list[tuple[str, int]] = []
        self.networks: list[SumNetwork] = []
        self.slept: list[float] = []

    def open(self, order: AgentOrder, spec: GameSpec) -> Network:
        self.networks.append(SumNetwork(order.source, self.log))
        return self.networks[-1]

    def setup(self, agents: Sequence[AgentOrder] = PAIR, faults: FaultRates | None = None) -> Setup:
        prepare = Prepare(1, "sum", 1, {}, 0, list(agents), faults)
        return build_setup(prepare, replace(CATALOGS, network=self.open))

    def runner(self, setup: Setup) -> MatchRunner:
        self.reports.messages.clear()
        self.buffer = MessageBuffer(self.reports, clock=lambda: 0.0)
        return MatchRunner(
            setup, self.call_memory, self.buffer, clock=lambda: 0.0, sleep=self.slept.append
        )

    def play(
        self, agents: Sequence[AgentOrder] = PAIR, n: int = 40, **more: FaultRates
    ) -> dict[int, EndedMatch]:
        return self.finish(self.runner(self.setup(agents, **more)), items(n))

    def finish(self, runner: MatchRunner, items: Sequence[Assignment]) -> dict[int, EndedMatch]:
        runner.add_matches(items)
        while runner.is_busy:
            runner.step()
            runner.report_stored()
        self.buffer.flush()
        return self.reports.ended
