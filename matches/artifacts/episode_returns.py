"""The returns of an agent's episodes of a game of one seat, where nobody wins against anybody."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import fsum, sqrt

_LEAST_FOR_SPREAD = 2


@dataclass
class EpisodeReturns:
    """Returns with how often each came; episodes that were forfeited have none.

    Sums are exact, so that the order in which episodes come changes no bit of a manifest.
    """

    n_forfeits: int = 0
    values: "array[float]" = field(default_factory=lambda: array("d"))
    times: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, value: float | None, n: int = 1) -> None:
        """Add `n` episodes with this return; None: forfeited."""
        if value is None:
            self.n_forfeits += n
            return
        self.values.append(value)
        self.times.append(n)

    def describe(self) -> dict[str, int | float | None]:
        """Return the number of episodes, and mean and standard deviation without forfeits."""
        n = sum(self.times)
        mean = fsum(value * times for value, times in self._list_rows()) / n if n else None
        return {
            "episodes": n + self.n_forfeits,
            "forfeits": self.n_forfeits,
            "mean_return": mean,
            "return_sd": None
            if mean is None or n < _LEAST_FOR_SPREAD
            else self._measure_spread(mean, n),
        }

    def _measure_spread(self, mean: float, n: int) -> float:
        return sqrt(
            fsum(times * (value - mean) ** 2 for value, times in self._list_rows()) / (n - 1)
        )

    def _list_rows(self) -> Iterator[tuple[float, int]]:
        return zip(self.values, self.times, strict=True)
