"""Training steps across a drawing: where they stand, and which of them are marked."""

from collections.abc import Sequence
from itertools import pairwise
from math import floor, log2, log10

from matches.ratings.axes import find_round_step
from pages.plots.charts import LEFT, RIGHT, Tick, list_round, place_across

N_STEP_TICKS = 6
# Steps are spaced by their logarithm where the mean gap is so many times the smallest one.
UNEVEN = 4


class Steps:
    """Where steps stand across: by their logarithm where they grow by factors, else evenly."""

    def __init__(self, steps: Sequence[int]) -> None:
        distinct = sorted(set(steps))
        self._lowest, self._highest = distinct[0], max(distinct[-1], 1)
        self._unit = next((step for step in distinct if step), 1)
        gaps = [after - before for before, after in pairwise(distinct)]
        self.is_geometric = bool(gaps) and sum(gaps) > UNEVEN * len(gaps) * min(gaps)

    def place(self, step: float) -> float:
        """Return percent across."""
        low, high = self._spread(self._lowest), self._spread(self._highest)
        share = (self._spread(step) - low) / (high - low) if high > low else 1 / 2
        return place_across(share)

    def list_ticks(self) -> list[Tick]:
        """Return marks at round steps that do not crowd each other."""
        # Step 0 is the untrained network: it has its mark wherever it is shown.
        marks = [0] if self._lowest == 0 else []
        marks += [step for step in self._list_candidates() if 0 < step <= self._highest]
        ticks: list[Tick] = []
        for step in marks:
            at = self.place(step)
            if not ticks or at - ticks[-1].at >= (RIGHT - LEFT) / (2 * N_STEP_TICKS):
                ticks.append(Tick(at, shorten_step(step)))
        return ticks

    def _list_candidates(self) -> list[int]:
        if not self.is_geometric:
            width = self._highest - self._lowest
            finest = find_round_step(width / (N_STEP_TICKS - 1))
            if finest < 1:  # there is no half step
                return list(range(self._lowest, self._highest + 1))
            marks = list_round(self._lowest, self._highest, N_STEP_TICKS - 1)
            return [int(mark) for mark in marks] or [self._lowest]
        powers = range(floor(log10(self._unit)), floor(log10(self._highest)) + 1)
        candidates = [factor * 10**power for power in powers for factor in (1, 2, 5)]
        return [step for step in candidates if self._unit <= step]

    def _spread(self, step: float) -> float:
        if not self.is_geometric:
            return step
        # As far from step 0 to the first one as for a doubling: the untrained network has a place.
        return 1 + log2(step / self._unit) if step else 0.0


def shorten_step(step: int) -> str:
    """Return a step as a short label: 0, 500, 1.5k, 20k, 3M."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if step >= size:
            return f"{step / size:g}{letter}"
    return str(step)
