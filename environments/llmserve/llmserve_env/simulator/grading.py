# A copy of arena/games/llmserve/grading.py, made by environments/copy_simulator.py: change that one.
"""What a window earns and what an episode scores: fixed before any constant of the simulator.

docs/llmserve.md has both formulae with their reasons.
"""

from dataclasses import dataclass
from typing import NamedTuple

CHEAP = 0.0009
"""US dollars for 1,000 output tokens, below which nothing more is earned by being cheap."""
FULL, FREE = 1.0, 0.92
"""Shares of the node's memory between which pressure rises from 0 to 1."""


class Window(NamedTuple):
    """What happened in one window. Requests are weighted by their class, tokens are not.

    offered: requests that arrived or waited since the window before, as far as they were admitted
    or given up in this one; good: those of them within both latency limits, times their quality;
    in_time: the same without their quality; tokens: put out; dollars: spent; memory: share of the
    node's that was used at most; evicted, active, dropped, arrived: requests.
    """

    offered: float
    good: float
    in_time: float
    tokens: float
    dollars: float
    memory: float
    evicted: float
    active: float
    dropped: float
    arrived: float


class Terms(NamedTuple):
    """Shares of 0..1: the first three are earned, the last three are paid for."""

    goodput: float
    compliance: float
    cheapness: float
    pressure: float
    evictions: float
    drops: float


def read_terms(window: Window) -> Terms:
    """Return what the reward of a window is made of."""
    return Terms(
        goodput=_share(window.good, window.offered),
        compliance=_share(window.in_time, window.offered),
        cheapness=_cheapness(window.tokens, window.dollars),
        pressure=min(max((window.memory - FREE) / (FULL - FREE), 0.0), 1.0),
        evictions=min(window.evicted / (window.active + 1), 1.0),
        drops=min(window.dropped / (window.arrived + 1), 1.0),
    )


def reward(window: Window) -> float:
    """Return the reward of a window, -0.65..1."""
    terms = read_terms(window)
    earned = 0.55 * terms.goodput + 0.25 * terms.compliance + 0.20 * terms.cheapness
    paid = 0.20 * terms.pressure + 0.20 * terms.evictions + 0.25 * terms.drops
    return earned - paid


@dataclass
class Grader:
    """Adds up the windows of an episode."""

    offered: float = 0.0
    good: float = 0.0
    in_time: float = 0.0
    tokens: float = 0.0
    dollars: float = 0.0
    pressure: float = 0.0
    n_windows: int = 0

    def add(self, window: Window) -> None:
        """Count one more window."""
        self.offered += window.offered
        self.good += window.good
        self.in_time += window.in_time
        self.tokens += window.tokens
        self.dollars += window.dollars
        self.pressure += read_terms(window).pressure
        self.n_windows += 1

    def score(self) -> float:
        """Return the score of the episode, 0..1."""
        goodput, compliance = _share(self.good, self.offered), _share(self.in_time, self.offered)
        cheapness = 0.5 + 0.5 * _cheapness(self.tokens, self.dollars)
        ease = 1.0 - 0.5 * self.pressure / max(self.n_windows, 1)
        return min(max(goodput * compliance * cheapness * ease, 0.0), 1.0)


def _share(part: float, whole: float) -> float:
    """Return a share of 0..1; of nothing everything."""
    return min(part / whole, 1.0) if whole > 0 else 1.0


def _cheapness(tokens: float, dollars: float) -> float:
    """Return 1 up to CHEAP dollars for 1,000 tokens, less above; 0 without a token."""
    return min(CHEAP * tokens / (1_000 * dollars), 1.0) if dollars > 0 else 1.0
