"""What the ranking of a match of more than two sides says about each pair of sides.

A shared rank there means that the game did not tell which of the two was better: those who all lost
are no equals. So it counts for nothing, where a draw of two sides counts as closeness.

The pairs of one ranking are not independent, so each counts for less. What one is to weigh is the
information that the pairs claim, taken as independent, by the variance of their score (Godambe
1960; Varin, Reid, Firth, "An overview of composite likelihood methods", 2011). For equal sides that
is 2 D / sum (n_below - n_above)^2 over the sides of a match with D decided pairs: 3 / (k + 1) where
the whole order of k sides is told, 2 / k where they fall into two groups.
"""

from typing import Generic, NamedTuple, Protocol, Self, TypeVar

from arena.ratings.base import unit_draw_margin

_PAIR = 2


class Counts(Protocol):
    """How often each two agents or teams won, drew and lost."""

    @property
    def n_results(self) -> int:
        """How many results there are."""
        ...

    def without_draws(self) -> Self:
        """Return the counts of decided results only."""
        ...


_Counts = TypeVar("_Counts", bound=Counts)


class WeighedCounts(NamedTuple, Generic[_Counts]):
    """Counts that ratings are fitted to, what each of their results weighs, and the draw margin.

    decided: the share of all results that are decided, where the others count for nothing.
    """

    counts: _Counts
    weight: float
    margin: float
    decided: float = 1.0


def weigh_rankings(
    counts: _Counts, n_sides: int, draw_probability: float
) -> WeighedCounts[_Counts]:
    """Return the counts of each two sides of matches of n_sides as a fit takes them.

    Raises RatingError.
    """
    margin = unit_draw_margin(draw_probability)
    if n_sides <= _PAIR:
        return WeighedCounts(counts, 1.0, margin)
    decided = counts.without_draws()
    share = decided.n_results / counts.n_results if counts.n_results else 1.0
    return WeighedCounts(decided, pair_weight(n_sides, share), 0.0, share)


def pair_weight(n_sides: int, decided: float = 1.0) -> float:
    """Return what each two of a match weigh: 1 for a match of two sides.

    decided: the share of pairs with different ranks. Between one winner and a whole order, where
    the counts do not say how the sides fell into groups, it is right to a sixth up to ten sides.
    """
    two_groups, complete = 2 / n_sides, 3 / (n_sides + 1)
    return two_groups + find_order(n_sides, decided) * (complete - two_groups)


def find_order(n_sides: int, decided: float) -> float:
    """Return how much of the order of a match is told: 0 of two groups, 1 of all sides."""
    two_groups = 2 / n_sides
    # One winner of equal losers decides a share of 2 / k as well; fewer are decided where all tie.
    return max(0.0, decided - two_groups) / (1 - two_groups) if n_sides > _PAIR else 0.0
