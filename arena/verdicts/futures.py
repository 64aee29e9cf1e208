"""What may come of a field: truths that a belief allows, and what would be believed in each."""

from collections.abc import Callable
from dataclasses import replace
from math import sqrt

import numpy as np
from scipy.special import log_ndtr, ndtr

from arena.ratings.base import BETA
from arena.ratings.counts import Bools, Floats
from arena.ratings.departures import Departures
from arena.ratings.pair_leads import PairLeads
from arena.verdicts.beliefs import Belief
from arena.verdicts.lead_states import LeadStates
from arena.verdicts.lead_variances import change_variance, complete_skills, weigh_variances

# Of so many the median and the tenths are cases, and no means of two; fewer of larger fields.
_N_TRUTHS, _FEW_TRUTHS, _LARGE = 31, 11, 30
_N_SAMPLES = 512
_UNIT = sqrt(2) * BETA
_LEAST = 1e-12
# A lead that no result tells from another: below it the divergence is lost in rounding.
_NO_LEAD = 0.01

# From what is believed to the weight of each pair: float64 [t, n, n], symmetric.
Allocation = Callable[[LeadStates], Floats]
# From true leads [t, n, n] to what a match of each pair says about what is asked.
Inform = Callable[[Floats], Floats]


def match_information(gap: Floats) -> Floats:
    """Return what one match says about a gap: the inverse of the variance, nearly."""
    z = np.clip(gap / _UNIT, -8, 8)
    win = ndtr(z)
    information: Floats = (
        np.exp(-(z**2)) / (2 * np.pi) / np.maximum(win * (1 - win), _LEAST) / _UNIT**2
    )
    return information


def deciding_information(lead: Floats, asked: float = 0.0) -> Floats:
    """Return what one match says about who is better, where this lead is true: as an information.

    Such that results of it speak as much against the lead that is asked about as they do in the
    mean: twice the divergence of Kullback and Leibler (1951) from a match of that lead, by the
    square of the distance. Of who is far ahead a match says next to nothing about how far, but much
    about who it is.
    """
    distance = lead - asked
    distance = np.where(np.abs(distance) < _NO_LEAD, _NO_LEAD, distance)
    true, other = (asked + distance) / _UNIT, asked / _UNIT
    of_win, of_loss = (log_ndtr(side * true) - log_ndtr(side * other) for side in (1, -1))
    divergence = ndtr(true) * of_win + ndtr(-true) * of_loss
    information: Floats = 2 * np.maximum(divergence, 0) / distance**2
    return information


def inform_of_lead(lead: Floats, a: int, b: int, *, asked: float) -> Floats:
    """Return what matches say about whether a is ahead of b by what is asked: [t, n, n].

    lead: float64 [t, n, n], antisymmetric. Others tell how far the two are from each other.
    """
    information = match_information(lead)
    information[:, a, b] = deciding_information(lead[:, a, b], asked)
    information[:, b, a] = information[:, a, b]
    return information


class Futures:
    """Truths that go on, one a case, and what is believed in each."""

    def __init__(
        self, belief: Belief, seed: int, inform: Inform, *, first_belief: Belief | None = None
    ) -> None:
        """Draw the truths. first_belief: what is believed at first, if not the same."""
        self._rng = np.random.default_rng(seed)
        self._lead = self._draw_leads(belief)
        self._information = inform(self._lead)
        self._first = replace(first_belief or belief, n_samples=_N_SAMPLES)
        self._states = _repeat(self._first, self.n_cases)
        if self._first.pair_variances is not None:
            values = self._first.pair_variances.values
            self._likelihood = weigh_variances(_repeat(self._first, 1), values)
        n_matches = self._first.n_matches.astype(np.float64)
        self._n_matches = np.repeat(n_matches[None], self.n_cases, axis=0)

    @property
    def n_cases(self) -> int:
        """How many go on."""
        return len(self._lead)

    @property
    def n_agents(self) -> int:
        """How many agents they are about."""
        return self._first.n_agents

    @property
    def n_known(self) -> float:
        """Matches that are known at first."""
        return float(self._first.n_matches.sum()) / 2

    def keep(self, are_kept: Bools) -> None:
        """Go on with these cases alone: bool [t]."""
        self._states = LeadStates(*(part[are_kept] for part in self._states))
        self._lead, self._information = self._lead[are_kept], self._information[are_kept]
        self._n_matches = self._n_matches[are_kept]

    def play_matches(self, n_matches: float, allocation: Allocation) -> None:
        """Spend so many matches in each, and learn."""
        weights = np.triu(allocation(self._states), 1)
        # Where every order is as good as sure all weights are too small for a float64: then no pair
        # comes before another.
        is_sure = ~weights.any(axis=(1, 2))
        weights[is_sure] = np.triu(np.ones(weights.shape[1:]), 1)
        share = weights / weights.sum(axis=(1, 2), keepdims=True)
        information = n_matches * share * self._information
        # A result is normal about the true lead, with the variance that its information says.
        noise = np.sqrt(information) * self._rng.standard_normal(information.shape)
        learnt = self._states.learn(information, information * self._lead + noise)
        self._states = self._believe_variances(learnt)
        self._n_matches += n_matches * (share.sum(axis=1) + share.sum(axis=2))

    def _believe_variances(self, states: LeadStates) -> LeadStates:
        """Return the same by what results say of how far pairs depart, as evidence.py has it."""
        variances = self._first.pair_variances
        if variances is None:
            return states
        likelihood = weigh_variances(states, variances.values) - self._likelihood
        weights = variances.now * np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
        return change_variance(states, weights @ variances.values / weights.sum(axis=1))

    def list_beliefs(self) -> list[Belief]:
        """Return what would be believed in each truth that goes on, by few samples each."""
        skills = zip(*self._states.find_skills(), self._n_matches, strict=True)
        return [self._form_belief(case, *of_case) for case, of_case in enumerate(skills)]

    def _form_belief(self, case: int, mu: Floats, covariance: Floats, n_matches: Floats) -> Belief:
        first, states = self._first, self._states
        leads = PairLeads(states.share[case], states.own[case], states.variance[case])
        apart = Departures(states.chance[case], states.apart[case], states.apart_variance[case])
        return replace(
            first,
            mu=mu,
            covariance=covariance,
            sd=np.sqrt(np.diag(covariance)),
            n_matches=np.floor(n_matches).astype(np.int64),
            leads=first.leads and leads,
            departures=first.departures and apart,
        )

    def _draw_leads(self, belief: Belief) -> Floats:
        """Return true leads that the belief allows: float64 [t, n, n], antisymmetric."""
        n_truths = _N_TRUTHS if belief.n_agents <= _LARGE else _FEW_TRUTHS
        states = _repeat(belief, n_truths)
        if belief.pair_variances is not None:
            values, _, now = belief.pair_variances
            states = change_variance(states, self._rng.choice(values, n_truths, p=now))
        mu, covariance = states.find_skills()
        factor = np.linalg.cholesky(covariance + _LEAST * np.eye(belief.n_agents))
        skills = mu + (factor @ self._rng.standard_normal(mu.shape)[:, :, None])[:, :, 0]
        gaps = skills[:, :, None] - skills[:, None, :]
        noise = self._rng.standard_normal(gaps.shape)
        drawn = states.share * gaps + states.own + np.sqrt(states.variance) * noise
        departs = self._rng.random(gaps.shape) < states.chance
        apart = states.apart + np.sqrt(states.apart_variance) * noise
        drawn = np.where(departs, apart, drawn)
        upper = np.triu(drawn, 1)
        turned: Floats = upper - upper.transpose(0, 2, 1)
        return turned


def _repeat(belief: Belief, n_cases: int) -> LeadStates:
    """Return the same belief in so many cases, of complete skills where variances are in doubt."""
    states = LeadStates.repeat(belief, n_cases)
    return states if belief.pair_variances is None else complete_skills(states)
