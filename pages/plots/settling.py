"""Which ratings have settled: the others are left out of plots, or they were all that is seen.

Before its first results an agent lies anywhere, and a diagram that shows this shows nothing else.
"""

from collections.abc import Sequence
from statistics import median

from arena.ratings.base import SIGMA

WIDEST = 3.0
"""So many times as wide as the last interval of a curve, or as most of a diagram, is too wide."""
DOUBTFUL = 0.8 * SIGMA
"""With a doubt near that before any result there is nothing to draw, whatever the others say."""


def find_start(doubts: Sequence[float]) -> int:
    """Return from which place on all of a history has settled; its length where nothing has.

    doubts: the standard deviations in the order of time.
    """
    limit = min(DOUBTFUL, WIDEST * doubts[-1]) if doubts else DOUBTFUL
    unsettled = [place for place, doubt in enumerate(doubts) if doubt > limit]
    return unsettled[-1] + 1 if unsettled else 0


def find_limit(doubts: Sequence[float]) -> float:
    """Return the doubt up to which agents of one diagram have settled."""
    certain = [doubt for doubt in doubts if doubt <= DOUBTFUL]
    return min(DOUBTFUL, WIDEST * median(certain)) if certain else DOUBTFUL
