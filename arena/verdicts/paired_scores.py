"""Which agent scores higher on common game seeds, however often it is asked before it is sure.

The evidence against "the mean difference is at most b" is the wealth of a gambler who starts with 1
and stakes a constant share of it on each difference being above b. While that is true no strategy
grows in the mean, so the wealth ever reaches 1 / error with a probability of at most error (Ville's
inequality): one may look after every seed. The wealth here is the mean over several shares, and
depends on no order of the seeds.

Source: I. Waudby-Smith and A. Ramdas, Estimating means of bounded random variables by betting,
Journal of the Royal Statistical Society B 86 (2024), sections 3 and 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log

import numpy as np
from numpy.typing import NDArray

from arena.ratings.counts import Floats
from arena.verdicts.base import Terms, VerdictError, check_field

Bools = NDArray[np.bool_]

BEATS, BEST, TOP_K, RANK_ALL = "beats", "best", "top_k", "rank_all"
QUESTIONS = (BEATS, BEST, TOP_K, RANK_ALL)
# Shares of what may be staked, from careful to bold: the best one is not known beforehand.
_SHARES = 0.9 * 0.6 ** np.arange(14)
_N_HALVINGS = 50
_PAIR = 2


@dataclass(frozen=True)
class Judgement:
    """What scores say of a question.

    order: agents by mean score, best first. subjects: the answer as it stands. playing: the agents
    whose next common seeds could change it; empty exactly where it is decided.
    """

    order: tuple[int, ...]
    subjects: tuple[int, ...]
    playing: tuple[int, ...]

    @property
    def is_decided(self) -> bool:
        """Whether it is as sure as asked for."""
        return not self.playing


def weigh_evidence(differences: Floats, *, bound: float, span: float) -> Floats:
    """Return ln of the wealth after each seed, float64 [..., T], against "the mean is <= bound".

    differences: float64 [..., T], each within -span..span, NaN where one of both has not played.
    Raises VerdictError for a bound or a difference that is out of range.
    """
    if not -span < bound < span:
        raise VerdictError(f"bound must be between -{span:g} and {span:g}, got {bound!r}")
    largest = np.abs(differences[np.isfinite(differences)]).max(initial=0.0)
    if largest > span * (1 + 1e-9):
        raise VerdictError(f"differences must be within -{span:g}..{span:g}, one is {largest:g}")
    # The most that can be lost on a seed, as a part of what is staked.
    gains = (differences - bound) / (span + bound)
    steps = np.log1p(np.nan_to_num(gains)[..., None, :] * _SHARES[:, None])
    return np.asarray(np.logaddexp.reduce(steps.cumsum(axis=-1), axis=-2) - log(len(_SHARES)))


def find_interval(differences: Floats, *, span: float, error: float) -> tuple[float, float]:
    """Return bounds of the mean difference that hold at all times at once but for the error.

    differences: float64 [T], as of weigh_evidence.
    """
    limit = log(2 / error)
    low = _find_bound(differences, span, limit)
    return low, -_find_bound(-differences, span, limit)


def _find_bound(differences: Floats, span: float, limit: float) -> float:
    """Return the highest bound that the mean is surely above; the wealth falls with the bound."""
    low, high = -span, span
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        is_above = weigh_evidence(differences, bound=middle, span=span).max(initial=0.0) >= limit
        low, high = (middle, high) if is_above else (low, middle)
    return low


def judge(scores: Floats, question: str, terms: Terms, *, span: float, k: int = 1) -> Judgement:
    """Return the answer of a question and who has to go on.

    scores: float64 [n, T] by agent and common seed, NaN where not played. question: one of
    QUESTIONS; beats is about the first two agents, k is of top_k. terms.margin is in units of the
    score. span: the width of the game's score range. The errors of all comparisons that could make
    the answer wrong are added up (union bound). Raises VerdictError.
    """
    n_agents = len(scores)
    check_field(n_agents)
    if question not in QUESTIONS or (question == BEATS and n_agents != _PAIR):
        raise VerdictError(f"question {question!r} cannot be asked of {n_agents} agents")
    if question == TOP_K and not 0 < k < n_agents:
        raise VerdictError(f"k must be from 1 to {n_agents - 1}, got {k}")
    if terms.margin >= span:
        raise VerdictError(f"margin must be below the range of scores, {span:g}: {terms.margin!r}")
    order = np.argsort(-_mean_scores(scores), kind="stable")
    limit = log(_count_errors(question, n_agents) / terms.error)
    is_close = _weigh_all(scores, bound=-terms.margin, span=span) >= limit
    alive: Bools = np.ones(n_agents, np.bool_)
    if question == BEST:
        # Surely worse than another one: it needs no comparison with the best any more.
        is_worse = _weigh_all(scores, bound=0.0, span=span) >= limit
        alive = np.asarray(~is_worse.any(axis=0))
        order = np.concatenate((order[alive[order]], order[~alive[order]]))
    claims = _list_claims(question, order[alive[order]].tolist(), k)
    doubtful = sorted({agent for pair in claims if not is_close[pair] for agent in pair})
    n_subjects = {BEST: 1, TOP_K: k}.get(question, n_agents)
    return Judgement(tuple(order.tolist()), tuple(order[:n_subjects].tolist()), tuple(doubtful))


def _mean_scores(scores: Floats) -> Floats:
    """Return the mean of each agent's own seeds, below all others where it played none."""
    is_played = np.isfinite(scores)
    n_played = is_played.sum(axis=1)
    totals = np.where(is_played, scores, 0.0).sum(axis=1)
    return np.asarray(np.where(n_played, totals / np.maximum(n_played, 1), -np.inf))


def _weigh_all(scores: Floats, *, bound: float, span: float) -> Floats:
    """Return float64 [n, n], the most evidence there was that i - j has a mean above the bound."""
    weighed = [weigh_evidence(own - scores, bound=bound, span=span) for own in scores]
    return np.array([evidence.max(axis=-1, initial=0.0) for evidence in weighed])


def _count_errors(question: str, n_agents: int) -> int:
    """Return how many comparisons could be the one that makes the answer wrong."""
    return {BEATS: 1, BEST: n_agents - 1}.get(question, n_agents * (n_agents - 1) // 2)


def _list_claims(question: str, order: Sequence[int], k: int) -> list[tuple[int, int]]:
    """Return what has to be sure: that the second of each pair is not better by the margin."""
    if question in (BEST, TOP_K):
        n_above = 1 if question == BEST else k
        return [(one, other) for one in order[:n_above] for other in order[n_above:]]
    return list(combinations(order, 2))
