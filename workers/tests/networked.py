"""A table whose networks are stepped without processes."""

from collections.abc import Sequence
from dataclasses import replace

from arena.games.base import GameSpec
from arena.messages import AgentOrder, FaultRates
from arena.policies.network_policy import Network
from workers.message_buffer import Stream
from workers.order_setup import Setup, build
from workers.runner import Table
from workers.tests.fake_networks import SumNetwork, network
from workers.tests.fakes import CATALOGS
from workers.tests.runners import Lookout, Told, items
from workers.wire import EndedRow, Item, Prepare

PAIR = (network(), network())


class Stage:
    """A table whose networks keep a common log."""

    def __init__(self, beacon: Lookout) -> None:
        self.beacon, self.told, self.log = beacon, Told(), list[tuple[str, int]]()
        self.networks: list[SumNetwork] = []
        self.slept: list[float] = []

    def open(self, order: AgentOrder, spec: GameSpec) -> Network:
        self.networks.append(SumNetwork(order.source, self.log))
        return self.networks[-1]

    def setup(self, agents: Sequence[AgentOrder] = PAIR, faults: FaultRates | None = None) -> Setup:
        prepare = Prepare(1, "sum", 1, {}, 0, list(agents), faults)
        return build(prepare, replace(CATALOGS, network=self.open))

    def table(self, setup: Setup) -> Table:
        self.told.messages.clear()
        self.stream = Stream(self.told, clock=lambda: 0.0)
        return Table(setup, self.beacon, self.stream, clock=lambda: 0.0, sleep=self.slept.append)

    def play(
        self, agents: Sequence[AgentOrder] = PAIR, n: int = 40, **more: FaultRates
    ) -> dict[int, EndedRow]:
        return self.finish(self.table(self.setup(agents, **more)), items(n))

    def finish(self, table: Table, items: Sequence[Item]) -> dict[int, EndedRow]:
        table.add(items)
        while table.is_busy:
            table.step()
            table.give_out()
        self.stream.flush()
        return self.told.ended
