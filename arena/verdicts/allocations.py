"""Which pairs get the matches that are played forward in thought: about as pairings choose them."""

from functools import partial

import numpy as np
from scipy.special import ndtr

from arena.pairing.registry import find_edge, find_two
from arena.ratings.counts import Bools, Floats
from arena.verdicts.base import Question, Terms
from arena.verdicts.beliefs import Belief
from arena.verdicts.futures import Allocation, match_information
from arena.verdicts.lead_states import LeadStates

_LEAST = 1e-12
# So much more often than another the pair is played that tells twice as much: 2^4 times.
_GREED = 4


def choose_allocation(
    belief: Belief, question: Question, terms: Terms, *, is_about_two: bool = True
) -> Allocation:
    """Return what the pairing of a question attends to: its edge, its two, or the order of all.

    is_about_two: whether that of a question about two plays only what tells about these.
    """
    if edge := find_edge(question.id, terms.parameters):
        return partial(weigh_edge, edge=edge)
    if is_about_two and (two := find_two(question.id, terms.parameters)):
        return partial(weigh_difference, a=two["a"], b=two["b"])
    return weigh_checked_order if belief.is_checked else weigh_order


def weigh_edge(states: LeadStates, edge: int) -> Floats:
    """Return the weights of a pairing for the first so many: pairs by how likely both cross it.

    Who is among the first does so behind the first of the others, who is not ahead of the last of
    the first.
    """
    lead, variance = states.find_leads()
    ranked = np.argsort(-states.find_skills()[0], axis=1)
    is_first = np.empty(ranked.shape, np.bool_)
    np.put_along_axis(is_first, ranked, np.arange(ranked.shape[1]) < edge, axis=1)
    rival = np.where(is_first, ranked[:, [edge]], ranked[:, [edge - 1]])
    case, agent = np.indices(ranked.shape)
    distance = np.abs(lead[case, agent, rival]) / np.sqrt(variance[case, agent, rival])
    # Whoever the last of the first has beaten may stand above it: then as likely as not.
    crosses = ndtr(-distance)
    is_across = is_first[:, :, None] & ~is_first[:, None, :]
    most = crosses.max(axis=1)[:, None, None]
    both = crosses[:, :, None] * crosses[:, None, :]
    weights = both * np.where(is_across | is_across.transpose(0, 2, 1), 1, most)
    return _add_upsets(weights, states, is_across)


def weigh_order(states: LeadStates) -> Floats:
    """Return the weights of the order information."""
    lead, variance = states.find_leads()
    weights: Floats = match_information(lead) * variance * np.exp(-(lead**2) / (2 * variance))
    return weights


def weigh_difference(states: LeadStates, a: int, b: int) -> Floats:
    """Return the weights of a pairing that asks about a and b: how much results narrow their gap.

    A pairing takes the best pair and not its share: so the best has nearly all of the weight.
    """
    covariance = states.find_skills()[1]
    side = covariance[:, a] - covariance[:, b]
    narrowing = (side[:, :, None] - side[:, None, :]) ** 2
    value = match_information(states.find_leads()[0]) * narrowing
    most = np.maximum(value.max(axis=(1, 2), keepdims=True), _LEAST)
    weights: Floats = (value / most) ** _GREED
    return weights


def weigh_checked_order(states: LeadStates) -> Floats:
    """Return those of one that also lets pairs meet that may depart from the ratings."""
    return _add_upsets(weigh_order(states), states, states.find_leads()[0] > 0)


def weigh_evenly(states: LeadStates) -> Floats:
    """Return the weights of a round robin."""
    return np.ones_like(states.share)


def _add_upsets(weights: Floats, states: LeadStates, are_claimed: Bools) -> Floats:
    """Return weights with those of pairs that may depart, by what is in doubt because of either.

    are_claimed: bool [t, n, n], whether the row's agent is said to be above the column's.
    """
    lead, variance = states.find_leads()
    doubts = np.where(are_claimed, ndtr(-lead / np.sqrt(variance)), 0).sum(axis=(1, 2))
    upsets = np.where(are_claimed, states.doubt_upsets(), 0)
    total = np.triu(weights, 1).sum(axis=(1, 2))
    scale = doubts / np.maximum(total, _LEAST)
    both: Floats = weights * scale[:, None, None] + upsets + upsets.transpose(0, 2, 1)
    return both
