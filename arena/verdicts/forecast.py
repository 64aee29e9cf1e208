"""How many matches a verdict will take, and what some more would change: played forward in thought.

Truths are drawn from the belief. For each, matches are spent as the pairing would spend them, their
results are normal with the information that a match has, and the belief moves as normal beliefs do,
all truths at once. The rule that stops is the question's own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from arena.ratings.base import BETA, MU, SIGMA
from arena.ratings.counts import Floats, Ints
from arena.verdicts.base import Question, Terms, VerdictError
from arena.verdicts.beliefs import Belief

# Of a larger field, those with the highest mu + 3 sd are looked at.
MAX_AGENTS = 60
_N_TRUTHS = 32
_N_SAMPLES = 512
_GROWTH, _GROWTH_AT_FIRST = 0.25, 0.5
_UNIT = sqrt(2) * BETA
_LEAST = 1e-12
_LOW, _HIGH = 0.1, 0.9


class BeliefState(NamedTuple):
    """What is believed in each of t cases: mu float64 [t, n], covariance float64 [t, n, n]."""

    mu: Floats
    covariance: Floats


# From what is believed to the weight of each pair: float64 [t, n, n], symmetric.
Allocation = Callable[[BeliefState], Floats]


def weigh_best(state: BeliefState) -> Floats:
    """Return the weights of a pairing for the best: pairs by how likely both are to lead."""
    best = state.mu.argmax(axis=1)
    gap, variance = _pair_gaps(state)
    which = np.arange(len(best))
    may_lead: Floats = ndtr(-gap[which, best] / np.sqrt(variance[which, best]))
    # The leader against itself: by the gap of 0 it would be one half.
    may_lead[which, best] = 1.0
    both: Floats = may_lead[:, :, None] * may_lead[:, None, :]
    return both


def weigh_order(state: BeliefState) -> Floats:
    """Return the weights of the order information."""
    gap, variance = _pair_gaps(state)
    weights: Floats = match_information(gap) * variance * np.exp(-(gap**2) / (2 * variance))
    return weights


def weigh_evenly(state: BeliefState) -> Floats:
    """Return the weights of a round robin."""
    return np.ones_like(state.covariance)


# What the pairing of a question attends to; that of any other to the order.
_ALLOCATIONS: dict[str, Allocation] = {"best": weigh_best}


def match_information(gap: Floats) -> Floats:
    """Return what one match says about a gap: the inverse of the variance, nearly."""
    z = np.clip(gap / _UNIT, -8, 8)
    win = ndtr(z)
    information: Floats = (
        np.exp(-(z**2)) / (2 * np.pi) / np.maximum(win * (1 - win), _LEAST) / _UNIT**2
    )
    return information


@dataclass(frozen=True)
class Forecast:
    """How many more results until the verdict: the median, and 10 % and 90 % of the cases.

    decided: the share of the cases that end within the limit; the others count as the limit.
    round_robin: the median if every pair played equally often.
    """

    matches: float
    low: float
    high: float
    decided: float
    round_robin: float


@dataclass(frozen=True)
class Outlook:
    """What some more matches would change.

    now, then: the probability of the likeliest answer; then is what to expect. verdict: the chance
    that they bring it.
    """

    now: float
    then: float
    verdict: float


def prior_belief(n_agents: int) -> Belief:
    """Return the belief about a field without any result, to forecast from before the start."""
    sd = np.full(n_agents, SIGMA)
    return Belief(np.full(n_agents, MU), np.diag(sd**2), sd, np.zeros(n_agents, np.int64))


def forecast_matches(
    belief: Belief, question: Question, terms: Terms, *, limit: int, seed: int
) -> Forecast:
    """Return the matches to the verdict, at most `limit`. Raises VerdictError."""
    if limit < 1:
        raise VerdictError(f"limit must be 1 or more, got {limit}")
    looked_at = _take_ratings_of_top(belief)
    adaptive = _ALLOCATIONS.get(question.id, weigh_order)
    matches = _Futures(looked_at, seed).play_until(question, terms, adaptive, limit)
    even = _Futures(looked_at, seed).play_until(question, terms, weigh_evenly, limit)
    low, high = np.quantile(matches, [_LOW, _HIGH])
    return Forecast(
        float(np.median(matches)),
        float(low),
        float(high),
        float(np.mean(matches < limit)),
        float(np.median(even)),
    )


def forecast_change(
    belief: Belief, question: Question, terms: Terms, *, seed: int, n_matches: int = 100
) -> Outlook:
    """Return what n_matches more would change. Raises VerdictError."""
    if n_matches < 1:
        raise VerdictError(f"n_matches must be 1 or more, got {n_matches}")
    looked_at = _take_ratings_of_top(belief)
    futures = _Futures(looked_at, seed)
    # In four parts: the pairing looks at the ratings again between them.
    for _ in range(4):
        futures.play_matches(n_matches / 4, _ALLOCATIONS.get(question.id, weigh_order))
    then = futures.list_beliefs()
    return Outlook(
        question.guess(looked_at, terms).probability,
        float(np.mean([question.guess(one, terms).probability for one in then])),
        float(np.mean([question.judge(one, terms) is not None for one in then])),
    )


def round_robin_matches(
    belief: Belief, question: Question, terms: Terms, *, limit: int, seed: int
) -> float:
    """Return how many matches a round robin would have needed to a verdict, from nothing.

    The median over truths drawn from the belief. Raises VerdictError.
    """
    if limit < 1:
        raise VerdictError(f"limit must be 1 or more, got {limit}")
    looked_at = _take_ratings_of_top(belief)
    futures = _Futures(looked_at, seed, first_belief=prior_belief(looked_at.n_agents))
    return float(np.median(futures.play_until(question, terms, weigh_evenly, limit)))


class _Futures:
    """Some truths that the belief allows, and what would be believed in each."""

    def __init__(self, belief: Belief, seed: int, *, first_belief: Belief | None = None) -> None:
        """Draw the truths. first_belief: what is believed at first, if not the same."""
        self._rng, n = np.random.default_rng(seed), belief.n_agents
        self._spread = belief.spread
        joint = np.diag(belief.sd**2) if belief.covariance is None else belief.covariance
        factor = np.linalg.cholesky(joint + _LEAST * np.eye(n))
        truth = belief.mu + self._rng.standard_normal((_N_TRUTHS, n)) @ factor.T
        self._gap = truth[:, :, None] - truth[:, None, :]
        self._information = match_information(self._gap)
        first = first_belief or belief
        joint = np.diag(first.sd**2) if first.covariance is None else first.covariance
        # In information form what a match tells is added, and an inverse gives the belief.
        self._precision = np.repeat(np.linalg.inv(joint)[None], _N_TRUTHS, axis=0)
        self._pull = self._precision @ first.mu
        self._mu = np.repeat(first.mu[None], _N_TRUTHS, axis=0)
        self._covariance = np.repeat(joint[None], _N_TRUTHS, axis=0)
        self._n_matches = np.repeat(first.n_matches[None].astype(np.float64), _N_TRUTHS, axis=0)

    def play_until(
        self, question: Question, terms: Terms, allocation: Allocation, limit: int
    ) -> Floats:
        """Return the matches to the verdict in each: float64 [t], at most the limit."""
        ended, waiting = np.full(_N_TRUTHS, float(limit)), np.arange(_N_TRUTHS)
        n_known, n_played = float(self._n_matches[0].sum()) / 2, 0.0
        while n_played < limit and len(waiting):
            # Looks get rarer as the matches grow: a quarter more between two of them. Where much is
            # known, the first are closer: a quarter of that may be all that is missing.
            more = min((n_known + n_played) * _GROWTH, n_played * _GROWTH_AT_FIRST)
            more = min(max(len(self._mu[0]) / 2, more), limit - n_played)
            self.play_matches(more, allocation)
            n_played += more
            is_over = np.array([question.judge(b, terms) is not None for b in self.list_beliefs()])
            ended[waiting[is_over]] = n_played - more / 2  # somewhere since the last look
            waiting = waiting[~is_over]
            # All that is kept of each truth stands in arrays of as many rows.
            for name, value in vars(self).items():
                if isinstance(value, np.ndarray):
                    setattr(self, name, value[~is_over])
        return ended

    def play_matches(self, n_matches: float, allocation: Allocation) -> None:
        """Spend so many matches in each, and learn."""
        weights = np.triu(allocation(BeliefState(self._mu, self._covariance)), 1)
        # Where every order is as good as sure all weights are too small for a float64: then no pair
        # comes before another.
        is_sure = ~weights.any(axis=(1, 2))
        weights[is_sure] = np.triu(np.ones(weights.shape[1:]), 1)
        share = weights / weights.sum(axis=(1, 2), keepdims=True)
        information = n_matches * share * self._information
        # A result is normal about the true gap, with the variance that its information says.
        noise = np.sqrt(information) * self._rng.standard_normal(information.shape)
        evidence = information * self._gap + noise
        both = information + information.transpose(0, 2, 1)
        diagonal = np.arange(both.shape[1])
        self._precision -= both
        self._precision[:, diagonal, diagonal] += both.sum(axis=2)
        self._pull += evidence.sum(axis=2) - evidence.sum(axis=1)
        self._n_matches += n_matches * (share.sum(axis=1) + share.sum(axis=2))
        self._covariance = np.linalg.inv(self._precision)
        self._mu = (self._covariance @ self._pull[:, :, None])[:, :, 0]

    def list_beliefs(self) -> list[Belief]:
        """Return what would be believed in each truth that goes on, by few samples each."""
        return [
            Belief(
                mu,
                joint,
                np.sqrt(np.diag(joint)),
                np.floor(n).astype(np.int64),
                _N_SAMPLES,
                self._spread,
            )
            for mu, joint, n in zip(self._mu, self._covariance, self._n_matches, strict=True)
        ]


def _take_ratings_of_top(belief: Belief) -> Belief:
    """Return what ratings alone say of the top.

    What pairs will do beside them is not foretold, nor is a walk.
    """
    belief = replace(belief, leads=None, departures=None, other=None)
    agents: Ints = np.sort(np.argsort(-(belief.mu + 3 * belief.sd), kind="stable")[:MAX_AGENTS])
    return belief if belief.n_agents <= MAX_AGENTS else belief.restrict_to(agents)


def _pair_gaps(state: BeliefState) -> tuple[Floats, Floats]:
    """Return the differences [t, n, n] and their variances."""
    mu, covariance = state
    alone = np.diagonal(covariance, axis1=1, axis2=2)
    variance = alone[:, :, None] + alone[:, None, :] - 2 * covariance
    return mu[:, :, None] - mu[:, None, :], np.maximum(variance, _LEAST)
