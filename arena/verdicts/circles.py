"""Fields without an order: agents that beat each other in a circle, and what can be said of them.

Who beats whom is told by the leads of pairs. An order is one in which nobody is beaten, by more
than the margin, by somebody behind; where every world that may be true has a circle in the way,
there is none to be found, however much is played.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from arena.ratings.counts import Floats, Ints
from arena.verdicts.beliefs import Belief, Bools

# Of larger fields the circles are not looked for.
MOST_AGENTS = 64
_N_SAMPLES = 512


def chance_of_order(belief: Belief, n_named: int, *, is_ranking: bool, margin: float) -> float:
    """Return P(some order names the first n_named apart from the rest, or ranks them all)."""
    beats = _sample_beats(belief, margin)
    n_from_top = _count_freed(beats)
    if is_ranking:
        return float(np.mean(n_from_top == belief.n_agents))
    n_from_bottom = _count_freed(beats.transpose(0, 2, 1))
    has_cut = (n_from_top >= n_named) | (belief.n_agents - n_from_bottom <= n_named)
    return float(np.mean(has_cut))


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


def cut_groups(groups: Sequence[Ints], n_named: int) -> tuple[Ints, Ints]:
    """Return the groups down to the one in which the first n_named end, and that one itself."""
    named: list[Ints] = []
    for group in groups:
        named.append(group)
        if sum(map(len, named)) >= n_named:
            break
    return np.concatenate(named), named[-1]


def _sort_by_rating(agents: Ints, mu: Floats) -> Ints:
    ranked: Ints = agents[np.argsort(-mu[agents], kind="stable")]
    return ranked


def _sample_beats(belief: Belief, margin: float) -> NDArray[np.bool_]:
    """Return who beats whom by more than the margin in worlds that may be true: bool [s, n, n]."""
    n = belief.n_agents
    above, below = np.triu_indices(n, 1)
    leads = belief.sample_leads(above, below)[:_N_SAMPLES]
    beats = np.zeros((len(leads), n, n), np.bool_)
    beats[:, above, below], beats[:, below, above] = leads > margin, leads < -margin
    return beats


def _count_freed(beats: Bools) -> Ints:
    """Return how many agents go, one after the other, none of whom somebody left beats: [s]."""
    is_left = np.ones(beats.shape[:2], np.bool_)
    for _ in range(beats.shape[1]):
        is_beaten = (beats & is_left[:, :, None]).any(axis=1)
        is_free = is_left & ~is_beaten
        if not is_free.any():
            break
        is_left &= is_beaten
    n_freed: Ints = beats.shape[1] - is_left.sum(axis=1)
    return n_freed
