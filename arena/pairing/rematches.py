"""Pairs of neighbours in a list, nobody with whom it met before while that can be avoided."""

from collections.abc import Mapping, Sequence
from itertools import count

from arena.pairing.base import Lineup

NOBODY = -1
# How many ways are tried before rematches are allowed: more than any field of 100 agents needs.
_MAX_TURNS = 20_000


def pair_without_rematches(
    ranked: Sequence[int], n_met: Mapping[Lineup, int], byes: Sequence[int]
) -> list[Lineup]:
    """Return the pairs of all agents, best first, each with who stands nearest.

    n_met: how often each pair (sorted) met. byes: whom to leave out, the first that works, if the
    number of agents is odd; else empty. Where no way without rematches is found, those that met
    once may meet again, and so on.
    """
    solutions = (
        _search_pairs([agent for agent in ranked if agent != bye], n_met, n_allowed)
        for n_allowed in count()
        for bye in byes or (NOBODY,)
    )
    return next(pairs for pairs in solutions if pairs is not None)


def _search_pairs(
    ranked: Sequence[int], n_met: Mapping[Lineup, int], n_allowed: int
) -> list[Lineup] | None:
    """Return pairs that met n_allowed times at most, by depth-first search, or None."""
    pairs: list[Lineup] = []
    paired: set[int] = set()
    # The place after the partner that was tried last, for each pair and the one sought now.
    next_places = [0]
    # A loop and no recursion: fields are deeper than Python's stack, and turns can be counted.
    for _ in range(_MAX_TURNS):
        first = next((agent for agent in ranked if agent not in paired), None)
        if first is None:
            return pairs
        start = max(next_places[-1], ranked.index(first) + 1)
        place = next(
            (
                place
                for place, other in enumerate(ranked[start:], start)
                if other not in paired
                and n_met.get((min(first, other), max(first, other)), 0) <= n_allowed
            ),
            None,
        )
        if place is not None:
            next_places[-1] = place + 1
            next_places.append(0)
            pairs.append((first, ranked[place]))
            paired.update(pairs[-1])
        elif pairs:
            next_places.pop()
            paired.difference_update(pairs.pop())
        else:
            return None
    return None
