"""All servers of the benchmark at once; one is asked at a time, the others sleep.

What is measured is a cell: a way of answering, a network, so many clients with blocks of so many
rows.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from arena.policies.network_policy import FloatBatch
from benchmarks.networks import Checkpoint, Forward, Size, write_checkpoint
from benchmarks.serving import servers
from benchmarks.serving.load import Maker, Pool, Served, Window

DIRECT, COPIES = "direct forward", "a copy each, row by row"
CELERY, ZMQ = "plain Celery", "ideal ZMQ"
OURS, SIBLINGS, FREE = "ours", "ours, 8 siblings", "ours, not deterministic"
SMALL, BIG = Size("small", 256, 2), Size("big", 1024, 8)
N_ACTIONS, SHAPE = 8, (128,)
N_CLIENTS = 8
N_SIBLINGS = 8
SETTLE_S = 3.0  # a gpu worker tries out once whether stacking siblings pays
TOLERANCE = 1e-3


class Load(NamedTuple):
    """So many clients with blocks of so many rows."""

    clients: int
    block: int


ONE, EIGHT, BLOCKS, LARGE = Load(1, 1), Load(8, 1), Load(4, 64), Load(4, 256)
DIRECT_LOADS = tuple(Load(1, block) for block in (1, 32, 128, 512))


class Length(NamedTuple):
    """Seconds that a cell is warmed up and measured in each round."""

    warm_s: float
    window_s: float


@dataclass(frozen=True)
class Network:
    """A network of the table: the checkpoint that is asked, first of its siblings."""

    name: str
    siblings: Sequence[Checkpoint]

    @property
    def path(self) -> Path:
        """Return the file of the one that is asked."""
        return self.siblings[0].path


@dataclass(frozen=True, eq=False)
class Cell:
    """One row of the table."""

    name: str
    network: str
    load: Load
    make: Maker
    served: Served
    # The logits that must come, computed in this process.
    answer: Callable[[FloatBatch], FloatBatch]
    # Rows of every forward where nothing is merged; 0: the server counts them.
    fixed_rows: int = 0
    # Longer warm-up before the first window: what is learned once is not what is measured.
    settle_s: float = 0.0
    windows: list[Window] = field(default_factory=list)

    def measure(self, pool: Pool, length: Length, shape: Sequence[int]) -> Window:
        """Measure once more and check what was answered. Raises ValueError for a wrong answer."""
        window = pool.measure_window(
            self.make,
            [(self.load.block, *shape)] * self.load.clients,
            key=f"{self.name} {self.network}",
            served=self.served,
            warm_s=length.warm_s + (0.0 if self.windows else self.settle_s),
            window_s=length.window_s,
        )
        for tally in window.tallies:
            right = self.answer(tally.observations)
            # Batches of other sizes add up in another order: only the last bits may differ.
            if not np.allclose(tally.answer, right, rtol=TOLERANCE, atol=TOLERANCE):
                raise ValueError(f"{self.name}: the {self.network} network answered wrongly")
        self.windows.append(window)
        return window

    def count_rows_per_forward(self, window: Window) -> float:
        """Return the mean rows that went through the network at once."""
        return float(self.fixed_rows) or window.rows / max(1, window.forwards)

    def make_row(self) -> dict[str, Any]:
        """Return the medians over the rounds under their names in the JSON."""
        figures: dict[str, Callable[[Window], float]] = {
            "requests_per_s": lambda window: window.requests_per_s,
            "observations_per_s": lambda window: window.observations_per_s,
            "p50_ms": lambda window: window.find_percentile_ms(50),
            "p99_ms": lambda window: window.find_percentile_ms(99),
            "cpu_us_per_observation": lambda window: window.cpu_us_per_observation,
            "rows_per_forward": self.count_rows_per_forward,
        }
        medians = {
            name: median(figure(window) for window in self.windows)
            for name, figure in figures.items()
        }
        return {"name": self.name, "network": self.network, **self.load._asdict(), **medians}


class Hall:
    """The cells of the table, and what ours reached of the direct forward."""

    def __init__(self, pool: Pool, cells: Sequence[Cell]) -> None:
        self._pool, self.cells = pool, cells
        self._over_direct: dict[Cell, list[float]] = {}
        self._direct = {cell.network: cell for cell in cells if cell.name == DIRECT}

    def measure_cell(self, cell: Cell, length: Length) -> None:
        """Measure a cell once more; ours at once beside the direct forward of as many rows."""
        window = cell.measure(self._pool, length, SHAPE)
        if cell.name == OURS and cell.load.block > 1:
            n_rows = max(1, round(cell.count_rows_per_forward(window)))
            # At once, as the machine is as noisy now as it was for ours.
            direct = self._direct[cell.network]
            alone = replace(direct, load=Load(1, n_rows), fixed_rows=n_rows, windows=[])
            limit = alone.measure(self._pool, length, SHAPE)
            share = window.observations_per_s / limit.observations_per_s
            self._over_direct.setdefault(cell, []).append(share)

    def find_ratio(
        self, network: str, other: str, figure: Callable[[Window], float], load: Load = BLOCKS
    ) -> float:
        """Return a figure of ours over that of another way, the median of rounds."""
        ours, theirs = (self.find_cell(network, name, load).windows for name in (OURS, other))
        return median(figure(one) / figure(two) for one, two in zip(ours, theirs, strict=True))

    def find_share_of_direct(self, network: str, load: Load) -> float:
        """Return what ours reached of the direct forward of as many rows as ours merged."""
        return median(self._over_direct[self.find_cell(network, OURS, load)])

    def find_cell(self, network: str, name: str, load: Load) -> Cell:
        """Return the cell of that way and load."""
        key = (network, name, load)
        return next(cell for cell in self.cells if (cell.network, cell.name, cell.load) == key)


class Way(NamedTuple):
    """One way of answering, for every network."""

    name: str
    loads: Sequence[Load]
    make: Callable[[Network], Maker]
    served: Served = Served()
    fixed_rows: Callable[[Load], int] = lambda _: 0
    has_siblings: bool = False


def make_cells(network: Network, way: Way) -> list[Cell]:
    """Return the rows of the table for a network."""
    siblings = network.siblings if way.has_siblings else network.siblings[:1]
    forwards = [Forward(one.path) for one in siblings]

    def answer(observations: FloatBatch) -> FloatBatch:
        # Every sibling is asked an equal part of the block.
        parts = np.split(observations, len(forwards))
        logits = [one.answer_logits(part) for one, part in zip(forwards, parts, strict=True)]
        return np.concatenate(logits)

    settle_s = SETTLE_S if way.has_siblings else 0.0
    name, make = way.name, way.make(network)
    return [
        Cell(name, network.name, load, make, way.served, answer, way.fixed_rows(load), settle_s)
        for load in way.loads
    ]


@contextmanager
def open_hall(folder: Path) -> Iterator[Hall]:
    """Start every server and the clients; end them after the block."""
    cache = folder / "cache"
    networks = []
    for size in (SMALL, BIG):
        seal = size.seal("bench", SHAPE, N_ACTIONS)
        siblings = [write_checkpoint(seal, cache, seed=seed) for seed in range(N_SIBLINGS)]
        networks.append(Network(size.name, siblings))
    paths, width = {network.name: network.path for network in networks}, N_ACTIONS + 1
    every = (ONE, EIGHT, BLOCKS, LARGE)
    free_settings = {"EVALSITE_DETERMINISTIC": "0"}
    with ExitStack() as stack:
        enter = stack.enter_context
        broker, celery = enter(servers.run_celery(folder / "celery", paths))
        address, merging = enter(servers.run_zmq(paths))
        ours = enter(servers.run_ours(folder / "ours", cache, {}))
        free = enter(servers.run_ours(folder / "free", cache, free_settings))
        ways = [
            Way(
                DIRECT,
                DIRECT_LOADS,
                lambda network: partial(servers.load_whole, network.path),
                fixed_rows=lambda load: load.block,
            ),
            Way(
                COPIES,
                (EIGHT,),
                lambda network: partial(servers.load_by_row, network.path),
                fixed_rows=lambda _: 1,
            ),
            Way(
                CELERY,
                (EIGHT, BLOCKS),
                lambda network: partial(servers.connect_celery, broker, network.name, width),
                celery,
                fixed_rows=lambda load: load.block,
            ),
            Way(
                ZMQ,
                every,
                lambda network: partial(servers.connect_zmq, address, network.name, width),
                merging,
            ),
            Way(OURS, every, partial(connect_one, ours), ours.served),
            Way(
                SIBLINGS,
                (BLOCKS,),
                lambda network: partial(servers.connect_ours, ours.environment, network.siblings),
                ours.served,
                has_siblings=True,
            ),
            Way(FREE, (EIGHT, BLOCKS), partial(connect_one, free), free.served),
        ]
        pool = Pool(N_CLIENTS)
        stack.callback(pool.close)
        cells = [cell for network in networks for way in ways for cell in make_cells(network, way)]
        yield Hall(pool, cells)


def connect_one(ours: servers.Ours, network: Network) -> Maker:
    """Return what connects a client to our queue for the network alone, without its siblings."""
    return partial(servers.connect_ours, ours.environment, network.siblings[:1])
