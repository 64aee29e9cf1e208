"""All servers of the benchmark at once; one is asked at a time, the others sleep."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from arena.policies.network_policy import FloatBatch
from benchmarks.serving.askers import CeleryMaker, ZmqMaker
from benchmarks.serving.celery_server import celery_server
from benchmarks.serving.cells import Cell, Length
from benchmarks.serving.copies import CopyMaker
from benchmarks.serving.load import Maker, Pool, Served
from benchmarks.serving.networks import BIG, N_ACTIONS, SHAPE, SMALL, Network, networks
from benchmarks.serving.ours import OurMaker, Ours, our_server
from benchmarks.serving.stores import stores
from benchmarks.serving.zmq_server import zmq_server

DIRECT, COPIES = "direct forward", "a copy each, row by row"
CELERY, ZMQ = "plain Celery", "ideal ZMQ"
OURS, SIBLINGS, FREE = "ours", "ours, 8 siblings", "ours, not deterministic"
N_CLIENTS = 8
DIRECT_BLOCKS = (1, 32, 128, 512)
SETTLE_S = 3.0  # a gpu worker tries out once whether stacking siblings pays


class Load(NamedTuple):
    """So many clients with blocks of so many rows."""

    clients: int
    block: int


ONE, EIGHT, BLOCKS, LARGE = Load(1, 1), Load(8, 1), Load(4, 64), Load(4, 256)


class Hall:
    """The cells of the table, and what ours reached of the direct forward."""

    def __init__(self, pool: Pool, cells: Sequence[Cell]) -> None:
        self._pool, self.cells = pool, cells
        self._over_direct: dict[Cell, list[float]] = {}
        self._direct = {one.network: one for one in cells if one.name == DIRECT}

    def measure(self, cell: Cell, length: Length) -> None:
        """Measure a cell once more; ours at once beside the direct forward of as many rows."""
        window = cell.measure(self._pool, length, SHAPE)
        if cell.name == OURS and cell.block > 1:
            n_rows = max(1, round(cell.rows_per_forward(window)))
            alone = self._direct[cell.network].with_block(n_rows)
            limit = alone.measure(self._pool, length, SHAPE)
            share = window.observations_per_s / limit.observations_per_s
            self._over_direct.setdefault(cell, []).append(share)

    def ratio(self, network: str, name: str, other: str, load: Load) -> float:
        """Return the observations a second of one way over another's, the median of rounds."""
        ours, theirs = (self.cell(network, one, load).windows for one in (name, other))
        pairs = zip(ours, theirs, strict=True)
        return median(one.observations_per_s / two.observations_per_s for one, two in pairs)

    def cpu_ratio(self, network: str, name: str, other: str, load: Load) -> float:
        """Return the rows per CPU second of one way over another's, the median of rounds."""
        ours, theirs = (self.cell(network, one, load).windows for one in (name, other))
        pairs = zip(ours, theirs, strict=True)
        return median(two.cpu_us_per_observation / one.cpu_us_per_observation for one, two in pairs)

    def over_direct(self, network: str, load: Load) -> float:
        """Return what ours reached of the direct forward of as many rows as ours merged."""
        return median(self._over_direct[self.cell(network, OURS, load)])

    def cell(self, network: str, name: str, load: Load) -> Cell:
        """Return the cell of that way and load."""
        key = (network, name, *load)
        (found,) = (c for c in self.cells if (c.network, c.name, c.clients, c.block) == key)
        return found


class Way(NamedTuple):
    """One way of answering, for every network."""

    name: str
    loads: Sequence[Load]
    make: Callable[[Network], Maker]
    served: Served = Served()
    fixed_rows: Callable[[Load], int] = lambda _: 0
    answer: Callable[[Network], Callable[[FloatBatch], FloatBatch]] = Network.answer
    settle_s: float = 0.0

    def cells(self, network: Network) -> list[Cell]:
        """Return the rows of the table for a network."""
        make, answer = self.make(network), self.answer(network)
        return [
            Cell(
                self.name,
                network.name,
                *load,
                make,
                self.served,
                answer,
                self.fixed_rows(load),
                self.settle_s,
            )
            for load in self.loads
        ]


@contextmanager
def hall(folder: Path) -> Iterator[Hall]:
    """Start every server and the clients; end them after the block."""
    with ExitStack() as stack:
        shown = [networks(size, folder / "cache") for size in (SMALL, BIG)]
        paths = {network.name: network.path for network in shown}
        ways = [
            *_alone(),
            _celery(stack, folder, paths),
            _zmq(stack, paths),
            *_ours(stack, folder),
            _free(stack, folder),
        ]
        pool = Pool(N_CLIENTS)
        stack.callback(pool.close)
        yield Hall(pool, [cell for network in shown for way in ways for cell in way.cells(network)])


def _alone() -> list[Way]:
    direct = [Load(1, block) for block in DIRECT_BLOCKS]
    return [
        Way(DIRECT, direct, _whole, fixed_rows=lambda load: load.block),
        Way(COPIES, (EIGHT,), _by_row, fixed_rows=lambda _: 1),
    ]


def _whole(network: Network) -> Maker:
    return CopyMaker(network.path, is_by_row=False)


def _by_row(network: Network) -> Maker:
    return CopyMaker(network.path, is_by_row=True)


def _celery(stack: ExitStack, folder: Path, paths: Mapping[str, Path]) -> Way:
    servers = stack.enter_context(stores(folder / "celery"))
    worker = celery_server(servers.broker, paths, folder / "celery.log")
    served = stack.enter_context(worker).beside(servers.pids)
    return Way(
        CELERY,
        (EIGHT, BLOCKS),
        lambda network: CeleryMaker(servers.broker, network.name, N_ACTIONS),
        served,
        fixed_rows=lambda load: load.block,
    )


def _zmq(stack: ExitStack, paths: Mapping[str, Path]) -> Way:
    address, served = stack.enter_context(zmq_server(paths))
    return Way(
        ZMQ,
        (ONE, EIGHT, BLOCKS, LARGE),
        lambda network: ZmqMaker(address, network.name, N_ACTIONS),
        served,
    )


def _ours(stack: ExitStack, folder: Path) -> list[Way]:
    ours = stack.enter_context(our_server(folder / "ours", folder / "cache", {}))
    loads = (ONE, EIGHT, BLOCKS, LARGE)
    return [
        Way(OURS, loads, partial(_asked, ours), ours.served),
        Way(
            SIBLINGS,
            (BLOCKS,),
            lambda network: OurMaker(ours.environment, [one.sha256 for one in network.siblings]),
            ours.served,
            answer=Network.siblings_answer,
            settle_s=SETTLE_S,
        ),
    ]


def _free(stack: ExitStack, folder: Path) -> Way:
    settings = {"EVALSITE_DETERMINISTIC": "0"}
    ours = stack.enter_context(our_server(folder / "free", folder / "cache", settings))
    return Way(FREE, (EIGHT, BLOCKS), partial(_asked, ours), ours.served)


def _asked(ours: Ours, network: Network) -> Maker:
    return OurMaker(ours.environment, [network.siblings[0].sha256])
