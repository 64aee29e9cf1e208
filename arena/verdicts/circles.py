"""Fields without an order: agents that beat each other in a circle, and what can be said of them.

Who beats whom is told by the leads of pairs. A group through which a circle goes, each agent of
which beats the next one by more than the margin, has no best one, no best few and no order: whoever
is named first is beaten by one who is not, or who is named later.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, shortest_path

from arena.ratings.counts import Bools, Floats, Ints
from arena.verdicts.beliefs import Belief

# Of larger fields the circles are not looked for, and of larger groups not tested.
MOST_AGENTS = 64
MOST_IN_CIRCLE = 7
EVEN = 0.5
# Doubts of a circle that is none, and of the surest victory: a graph has no edge of about 0.
_NONE, _LEAST = 1.0, 1e-6


def group_by_circles(belief: Belief) -> list[Ints]:
    """Return the agents in groups, the best first: each beats all behind, rather than not.

    Within a group of several each is reached by the others' victories: they make a circle, and each
    beats the next one.
    """
    n = belief.n_agents
    every = np.arange(n)
    is_above = belief.superiority(np.repeat(every, n), np.tile(every, n)).reshape(n, n) > EVEN
    n_beaten = is_above.sum(axis=1)
    ranked = np.argsort(-n_beaten)
    if (n_beaten[ranked] == every[::-1]).all():
        # Without a circle, and only then, each beats one agent less than the one before.
        return list(ranked[:, None])
    n_groups, group = connected_components(coo_array(is_above), connection="strong")
    # Groups follow each other in a line: whoever is in an earlier one beats more agents.
    strongest = np.zeros(n_groups, np.int64)
    np.maximum.at(strongest, group, n_beaten)
    by_rating = belief.order
    # Of equals, as agents without a match are, the one of the higher rating, then the first.
    _, first_members = np.unique(group[by_rating], return_index=True)
    places = np.lexsort((first_members, -strongest))
    members = [by_rating[group[by_rating] == place] for place in places]
    return [_sort_by_victories(agents, is_above) for agents in members]


def rank_agents(belief: Belief) -> Ints:
    """Return the agents from the best to the worst: by whom they beat, else by their ratings."""
    is_by_mu = belief.leads is None and belief.other is None
    if is_by_mu or belief.n_agents > MOST_AGENTS:
        return belief.order
    return np.concatenate(group_by_circles(belief))


def find_blocking(groups: Sequence[Ints], n_named: int) -> Ints | None:
    """Return the circle in the way of naming so many: that at which they would end, if any."""
    n_before = 0
    for group in groups:
        if n_before + len(group) > n_named:
            # One agent, or none that is named: the order ends between two groups.
            return group if len(group) > 1 and n_before < n_named else None
        n_before += len(group)
    return None


def doubt_some_circle(belief: Belief, margin: float) -> float:
    """Return at most how probably there is no circle at all: the doubt of the surest one.

    As doubtful as its edges together, it is a shortest way there and back.
    """
    ways = shortest_path(_doubt_victories(belief, np.arange(belief.n_agents), margin))
    np.fill_diagonal(ways, np.inf)
    return min(_NONE, float((ways + ways.T).min()))


def doubt_beaten(belief: Belief, group: Ints, margin: float) -> float:
    """Return at most how probably anybody is beaten by nobody, or one of a group by none of it."""
    every = np.arange(belief.n_agents)
    doubts = _doubt_victories(belief, every, margin)
    np.fill_diagonal(doubts, _NONE)
    doubts[np.ix_(np.setdiff1d(every, group), group)] = _NONE
    return min(_NONE, float(doubts.min(axis=0).sum()))


def doubt_circle(belief: Belief, group: Ints, margin: float) -> float:
    """Return at most how probably no circle goes through all of a group; 1 of a large group.

    The sum of the doubts that each beats the next by more than the margin, of the surest circle.
    """
    if len(group) > MOST_IN_CIRCLE:
        return _NONE
    table, circles = _doubt_victories(belief, group, margin), _list_circles(len(group))
    return float(table[circles, np.roll(circles, -1, axis=1)].sum(axis=1).min())


def _doubt_victories(belief: Belief, group: Ints, margin: float) -> Floats:
    """Return P(the row's agent does not beat the column's by more than the margin)."""
    size = len(group)
    is_ahead = belief.superiority(np.repeat(group, size), np.tile(group, size), margin)
    doubts: Floats = np.maximum(1 - is_ahead, _LEAST).reshape(size, size)
    return doubts


@lru_cache(maxsize=MOST_IN_CIRCLE)
def _list_circles(size: int) -> Ints:
    """Return all ways round that many, each beginning with the first: int64 [ways, size]."""
    ways = np.array([(0, *rest) for rest in permutations(range(1, size))], np.int64)
    ways.setflags(write=False)
    return ways


def _sort_by_victories(by_rating: Ints, is_above: Bools) -> Ints:
    """Return the agents by their ratings, but behind whoever beats them just after them."""
    ranked: list[int] = []
    for agent in by_rating.tolist():
        place = len(ranked)
        while place and is_above[agent, ranked[place - 1]]:
            place -= 1
        ranked.insert(place, agent)
    return np.array(ranked, np.int64)
