"""What is measured: a way of answering, a network, so many clients with blocks of so many rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

import numpy as np

from arena.policies.network_policy import FloatBatch
from benchmarks.serving.load import Maker, Pool, Served, Window

TOLERANCE = 1e-3


@dataclass(frozen=True)
class Length:
    """Seconds that a cell is warmed up and measured in each round."""

    warm_s: float
    window_s: float


@dataclass(frozen=True, eq=False)
class Cell:
    """One row of the table."""

    name: str
    network: str
    clients: int
    block: int
    make: Maker
    served: Served
    answer: Callable[[FloatBatch], FloatBatch]
    """The logits that must come, computed in this process."""
    fixed_rows: int = 0
    """Rows of every forward where nothing is merged; 0: the server counts them."""
    settle_s: float = 0.0
    """Longer warm-up before the first window: what is learned once is not what is measured."""
    windows: list[Window] = field(default_factory=list)

    def measure(self, pool: Pool, length: Length, shape: Sequence[int]) -> Window:
        """Measure once more and check what was answered. Raises ValueError for a wrong answer."""
        window = pool.run(
            self.make,
            [(self.block, *shape)] * self.clients,
            key=f"{self.name} {self.network}",
            served=self.served,
            warm_s=length.warm_s + (0.0 if self.windows else self.settle_s),
            window_s=length.window_s,
        )
        for tally in window.tallies:
            wanted = self.answer(tally.observations)
            if not np.allclose(tally.answer, wanted, rtol=TOLERANCE, atol=TOLERANCE):
                raise ValueError(f"{self.name}: the {self.network} network answered wrongly")
        self.windows.append(window)
        return window

    def median(self, figure: Callable[[Window], float]) -> float:
        """Return the median of a figure over the rounds."""
        return median(figure(window) for window in self.windows)

    def with_block(self, n_rows: int) -> "Cell":
        """Return the same for blocks of other size, unmeasured."""
        return replace(self, block=n_rows, fixed_rows=n_rows, windows=[])

    def row(self) -> dict[str, Any]:
        """Return the medians over the rounds under their names in the JSON."""
        return {
            "name": self.name,
            "network": self.network,
            "clients": self.clients,
            "block": self.block,
            "requests_per_s": self.median(lambda window: window.requests_per_s),
            "observations_per_s": self.median(lambda window: window.observations_per_s),
            "p50_ms": self.median(lambda window: _percentile_ms(window, 50)),
            "p99_ms": self.median(lambda window: _percentile_ms(window, 99)),
            "cpu_us_per_observation": self.median(lambda window: window.cpu_us_per_observation),
            "rows_per_forward": self.median(self.rows_per_forward),
        }

    def rows_per_forward(self, window: Window) -> float:
        """Return the mean rows that went through the network at once."""
        return float(self.fixed_rows) or window.rows / max(1, window.forwards)


def _percentile_ms(window: Window, percent: float) -> float:
    return 1000 * float(np.percentile(window.latencies, percent))
