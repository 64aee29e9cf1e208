"""Fields without an order: agents that beat each other in a circle, and what can be said of them.

Who beats whom is told by the leads of pairs. A group through which a circle goes, each agent of
which beats the next one by more than the margin, has no best one, no best few and no order: whoever
is named first is beaten by one who is not, or who is named later.
"""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from arena.ratings.counts import Floats, Ints
from arena.verdicts.beliefs import Belief

# Of larger fields the circles are not looked for, and of larger groups not tested.
MOST_AGENTS = 64
MOST_IN_CIRCLE = 7
_NONE = 1.0


def group_by_circles(belief: Belief) -> list[Ints]:
    """Return the agents in groups, the best first: each beats all behind, by what is expected.

    Within a group of several each is reached by the others' victories: they make a circle.
    """
    n = belief.n_agents
    every = np.arange(n)
    leads = belief.expected_leads(np.repeat(every, n), np.tile(every, n)).reshape(n, n)
    is_above = leads > 0
    _, group = connected_components(coo_array(is_above), connection="strong")
    n_beaten = is_above.sum(axis=1)
    # Groups follow each other in a line: whoever is in an earlier one beats more agents.
    places = sorted(np.unique(group), key=lambda one: -int(n_beaten[group == one].max()))
    return [_sort_by_rating(np.flatnonzero(group == one), belief.mu) for one in places]


def rank_agents(belief: Belief) -> Ints:
    """Return the agents from the best to the worst: by whom they beat, else by their ratings."""
    if belief.leads is None or belief.n_agents > MOST_AGENTS:
        return belief.order
    return np.concatenate(group_by_circles(belief))


def find_blocking(groups: Sequence[Ints], n_named: int, *, is_ranking: bool) -> list[Ints]:
    """Return the circles in the way of an order: of a ranking all, else that at which it ends."""
    if is_ranking:
        return [group for group in groups if len(group) > 1]
    n_before = 0
    for group in groups:
        if n_before + len(group) > n_named:
            # One agent, or none that is named: the order ends between two groups.
            return [group] if len(group) > 1 and n_before < n_named else []
        n_before += len(group)
    return []


def doubt_circle(belief: Belief, group: Ints, margin: float) -> float:
    """Return at most how probably no circle goes through all of a group; 1 of a large group.

    The sum of the doubts that each beats the next by more than the margin, of the surest circle.
    """
    if len(group) > MOST_IN_CIRCLE:
        return _NONE
    size = len(group)
    doubts = 1 - belief.superiority(np.repeat(group, size), np.tile(group, size), margin)
    table: Floats = doubts.reshape(size, size)
    return min(
        float(sum(table[one, other] for one, other in _walk((0, *rest))))
        for rest in permutations(range(1, size))
    )


def _walk(circle: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(circle, (*circle[1:], circle[0]), strict=True))


def _sort_by_rating(agents: Ints, mu: Floats) -> Ints:
    ranked: Ints = agents[np.argsort(-mu[agents], kind="stable")]
    return ranked
