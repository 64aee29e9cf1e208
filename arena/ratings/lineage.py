"""Parents: an agent that goes on from another is thought to be about as strong."""

from collections.abc import Sequence

import numpy as np

from arena.ratings.base import BETA, RatingError
from arena.ratings.counts import Floats, Ints
from arena.ratings.posterior import NO_LINKS, Prior

# How far an agent is from its parent, as a standard deviation, on the scale of the ratings.
LINK_SPREAD = 2.0
_UNIT = 2**0.5 * BETA


def check_parents(parents: Sequence[int] | Ints | None, n_agents: int) -> Ints:
    """Return the parent of each agent, -1 for none: int64 [n]. Raises RatingError for a circle."""
    if parents is None:
        return np.full(n_agents, -1)
    parent_array = np.asarray(parents)
    if parent_array.shape != (n_agents,) or (n_agents and parent_array.dtype.kind not in "iu"):
        raise RatingError(f"parents must be {n_agents} ints, got {parents!r:.100}")
    for agent, parent in enumerate(parent_array.tolist()):
        if not -1 <= parent < n_agents:
            raise RatingError(f"parents: {parent} of agent {agent} is not -1..{n_agents - 1}")
    checked = parent_array.astype(np.int64)
    # All climb to their parents together; who is not at a root after n + 1 steps runs in a circle.
    ancestors = checked
    for _ in range(n_agents + 1):
        if (ancestors < 0).all():
            return checked
        ancestors = np.where(ancestors >= 0, checked[ancestors], -1)
    agent = int(np.flatnonzero(ancestors >= 0)[0])
    raise RatingError(f"parents: agent {agent} is among its own ancestors, or one of these is")


def find_families(parents: Ints, agents: Ints) -> Ints:
    """Return the agents that are linked to one of these, over however many links, in order."""
    roots = np.where(parents >= 0, parents, np.arange(len(parents)))
    while not np.array_equal(roots, roots[roots]):
        roots = roots[roots]
    children = np.flatnonzero(parents >= 0)
    linked = np.union1d(children, parents[children])
    return linked[np.isin(roots[linked], roots[agents])]


def find_prior_covariance(parents: Ints, root_variance: float) -> Floats:
    """Return how sure the skills are before any result, on the scale of the ratings: [n, n].

    root_variance: of an agent without a parent; each link adds that of its own.
    """
    covariance = np.diag(np.full(len(parents), root_variance))
    n_links = _count_links(parents)
    # Parents before their children.
    for agent in np.argsort(n_links, kind="stable")[np.count_nonzero(n_links == 0) :]:
        parent = parents[agent]
        covariance[agent], covariance[:, agent] = covariance[parent], covariance[:, parent]
        covariance[agent, agent] = covariance[parent, parent] + LINK_SPREAD**2
    return covariance


def find_prior_drift(parents: Ints) -> Floats:
    """Return how far each is from the first of its family before any result (sd): float64 [n]."""
    drift: Floats = LINK_SPREAD * np.sqrt(_count_links(parents))
    return drift


def _count_links(parents: Ints) -> Ints:
    """Return over how many links each agent comes from the first of its family: int64 [n]."""
    n_links = (parents >= 0).astype(np.int64)
    ancestors = np.where(parents >= 0, parents, np.arange(len(parents)))
    while n_links[ancestors].any():
        # Each step of all is twice as far as the one before.
        n_links, ancestors = n_links + n_links[ancestors], ancestors[ancestors]
    return n_links


def parent_prior(parents: Ints, fitted: Ints) -> Prior:
    """Return the prior of the fitted agents, whole families, by their places."""
    children = fitted[parents[fitted] >= 0]
    if children.size == 0:
        return NO_LINKS
    places = np.searchsorted(fitted, children), np.searchsorted(fitted, parents[children])
    return Prior(*places, LINK_SPREAD / _UNIT)
