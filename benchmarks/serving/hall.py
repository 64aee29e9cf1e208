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
from benchmarks.serving.load import Maker, Pool, Served, Window, measure_window

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
    clients: int
    block: int


ONE, EIGHT, BLOCKS, LARGE = Load(1, 1), Load(8, 1), Load(4, 64), Load(4, 256)
DIRECT_LOADS = tuple(Load(1, block) for block in (1, 32, 128, 512))


class Length(NamedTuple):
    """Seconds that a cell is warmed up and measured in each round."""

    warm_s: float
    window_s: float


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
    # What ours reached of the direct forward of as many rows, in each round.
    shares: list[float] = field(default_factory=list)

    def measure(self, pool: Pool, length: Length, shape: Sequence[int]) -> Window:
        """Measure once more and check what was answered. Raises ValueError for a wrong answer."""
        window = measure_window(
            pool,
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
        medians = {name: median(map(figure, self.windows)) for name, figure in figures.items()}
        return {"name": self.name, "network": self.network, **self.load._asdict(), **medians}


class Hall(NamedTuple):
    """The clients and the cells of the table."""

    pool: Pool
    cells: Sequence[Cell]

    def measure_cell(self, cell: Cell, length: Length) -> None:
        """Measure a cell once more; ours at once beside the direct forward of as many rows."""
        window = cell.measure(self.pool, length, SHAPE)
        if cell.name == OURS and cell.load.block > 1:
            n_rows = max(1, round(cell.count_rows_per_forward(window)))
            # At once, as the machine is as noisy now as it was for ours.
            direct = self.find_cell(cell.network, DIRECT, DIRECT_LOADS[0])
            single = replace(direct, load=Load(1, n_rows), fixed_rows=n_rows, windows=[])
            limit = single.measure(self.pool, length, SHAPE)
            cell.shares.append(window.observations_per_s / limit.observations_per_s)

    def find_ratio(self, network: str, other: str, figure: Callable[[Window], float]) -> float:
        """Return a figure of ours over that of another way, at 4 x 64, the median of rounds."""
        own_windows, other_windows = (
            self.find_cell(network, name, BLOCKS).windows for name in (OURS, other)
        )
        return median(
            figure(own_window) / figure(other_window)
            for own_window, other_window in zip(own_windows, other_windows, strict=True)
        )

    def find_share_of_direct(self, network: str, load: Load) -> float:
        """Return what ours reached of the direct forward of as many rows as ours merged."""
        return median(self.find_cell(network, OURS, load).shares)

    def find_cell(self, network: str, name: str, load: Load) -> Cell:
        key = (network, name, load)
        return next(cell for cell in self.cells if (cell.network, cell.name, cell.load) == key)


def make_answer(siblings: Sequence[Checkpoint]) -> Callable[[FloatBatch], FloatBatch]:
    """Return what computes the right logits: every sibling is asked an equal part of a block."""
    forwards = [Forward(sibling.path) for sibling in siblings]

    def answer(observations: FloatBatch) -> FloatBatch:
        parts = np.split(observations, len(forwards))
        logits = [
            forward.answer_logits(part) for forward, part in zip(forwards, parts, strict=True)
        ]
        return np.concatenate(logits)

    return answer


@contextmanager
def open_hall(folder: Path) -> Iterator[Hall]:
    """Start every server and the clients; end them after the block."""
    cache, width = folder / "cache", N_ACTIONS + 1
    networks = {}
    for size in (SMALL, BIG):
        seal = size.seal("bench", SHAPE, N_ACTIONS)
        seeds = range(N_SIBLINGS)
        networks[size.name] = [write_checkpoint(seal, cache, seed=seed) for seed in seeds]
    paths = {name: siblings[0].path for name, siblings in networks.items()}
    with ExitStack() as stack:
        enter = stack.enter_context
        broker, celery = enter(servers.run_celery(folder / "celery", paths))
        address, merging = enter(servers.run_zmq(paths))
        ours = enter(servers.run_ours(folder / "ours", cache, {}))
        free = enter(servers.run_ours(folder / "free", cache, {"EVALSITE_DETERMINISTIC": "0"}))
        pool = Pool(N_CLIENTS)
        stack.callback(pool.close)
        cells = []
        for name, siblings in networks.items():
            connect, path, one = servers.connect_ours, paths[name], siblings[:1]
            answer = make_answer(one)
            by_celery = partial(servers.connect_celery, broker, name, width)
            by_zmq = partial(servers.connect_zmq, address, name, width)
            by_ours, by_free = (partial(connect, at.environment, one) for at in (ours, free))
            # Rows of a forward: where nothing merges requests, those of a request.
            ways: list[tuple[str, Sequence[Load], Maker, Served, bool]] = [
                (DIRECT, DIRECT_LOADS, partial(servers.load_whole, path), Served(), False),
                (CELERY, (EIGHT, BLOCKS), by_celery, celery, False),
                (ZMQ, (ONE, EIGHT, BLOCKS, LARGE), by_zmq, merging, True),
                (OURS, (ONE, EIGHT, BLOCKS, LARGE), by_ours, ours.served, True),
                (FREE, (EIGHT, BLOCKS), by_free, free.served, True),
            ]
            cells += [
                Cell(way, name, load, make, served, answer, 0 if is_merging else load.block)
                for way, loads, make, served, is_merging in ways
                for load in loads
            ]
            by_row = partial(servers.load_by_row, path)
            cells.append(Cell(COPIES, name, EIGHT, by_row, Served(), answer, fixed_rows=1))
            by_all, answer = partial(connect, ours.environment, siblings), make_answer(siblings)
            cells.append(
                Cell(SIBLINGS, name, BLOCKS, by_all, ours.served, answer, settle_s=SETTLE_S)
            )
        yield Hall(pool, cells)
