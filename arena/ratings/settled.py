"""The settled rating: the posterior mode of TrueSkill's likelihood over a whole set of results.

A function of the set alone: neither order nor grouping nor seats matter, and a cold start gives the
same bits again with one BLAS thread on one kind of CPU (1e-9 elsewhere). The cost does not grow
with the number of results but with the cube of the number of agents that have any: 0.07 s for 200,
5 s for 2,000. Larger fields are fitted sparsely (see information): 4 s of one core for 10,000
agents in 10^6 pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import NamedTuple

import numpy as np

from arena.ratings.base import (
    BETA,
    DRAW_PROBABILITY,
    MAX_SPREAD,
    MIN_SPREAD,
    MU,
    SIGMA,
    Z95,
    DrawWithoutDrawProbabilityError,
    RatingError,
    UnknownAgentError,
    probability_of_margin,
)
from arena.ratings.counts import Floats, Ints, PairCounts, count_results
from arena.ratings.draw_margin import fit_margin
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.lineage import (
    check_parents,
    find_families,
    find_prior_covariance,
    find_prior_drift,
    parent_prior,
)
from arena.ratings.mixtures import Mixture, find_gap_variances, find_superiorities
from arena.ratings.posterior import Likelihood, Objective, Posterior, find_mode, make_objective
from arena.ratings.ranking_weight import count_meetings, weigh_at_strengths
from arena.ratings.rankings import WeighedCounts, weigh_rankings
from arena.ratings.spread_doubt import SpreadDoubt, weigh_spreads
from arena.ratings.tail_doubt import ROOT_MEAN_SQUARE
from arena.ratings.teamcounts import TeamCounts
from arena.ratings.teamlikelihood import TeamLikelihood

__all__ = [
    "FittedTerms",
    "PairCounts",
    "SeatAdvantage",
    "SettledRatings",
    "TeamCounts",
    "count_results",
    "settle_ratings",
]

_UNIT, _PAIR = sqrt(2) * BETA, 2
# How often the spread is fitted anew. On little evidence it moves slowly from SIGMA, which guards
# against the bias of the Laplace approximation there; on much evidence four rounds are enough.
_N_SPREAD_ROUNDS = 4


@dataclass(frozen=True)
class SeatAdvantage:
    """What sitting first is worth, on the scale of the ratings, and how sure that is (sd)."""

    mu: float
    sd: float


class FittedTerms(NamedTuple):
    """What is fitted beside skills and spread.

    seat: what sitting first is worth. draws: how often equals draw; the draw probability that is
    given, above 0, is what is thought of it before. is_shown: as leaderboards show them.
    Intervals, and who is above whom, hold whatever the spread may be, not for the fitted one only;
    and pairs of rankings weigh what they do at the fitted skills, not at equal ones.
    """

    seat: bool = False
    draws: bool = False
    is_shown: bool = False


NO_TERMS = FittedTerms()


@dataclass(frozen=True, eq=False)
class SettledRatings:
    """The ratings of a field, and how sure they are together.

    mu: float64 [n]. sd: float64 [n], about the mean of the agents with results and their families
    (of another family the first has mean MU and the spread as sd, and each link makes it wider), at
    the fitted spread: how far apart all are makes no doubt about who is above whom. low, high:
    float64 [n], the ends of the 95 % interval of mu, one of which may be further away. covariance:
    float64 [n, n], joint, of agents without results as wide as their interval; None if more than
    2,000 agents have results, whose sd is then good to a percent or two. spread: the fitted
    standard deviation of the skills. results_hash: the digest of the pair counts. seat: the
    advantage of the first seat, where it is a term of the fit. draw_probability: of two equal
    agents, as given or fitted. above: float64 [n, n], P(row is above column), where that says more
    than mu and covariance. believed: what all of this is of, of the k agents with results, and the
    places of all agents there, int64 [n], -1 without; None where it is normal.
    """

    mu: Floats
    sd: Floats
    low: Floats
    high: Floats
    covariance: Floats | None
    spread: float
    n_results: int
    results_hash: str
    seat: SeatAdvantage | None = None
    draw_probability: float = DRAW_PROBABILITY
    above: Floats | None = None
    believed: Mixture | None = None
    places: Ints | None = None

    def superiority(self, i: int, j: int) -> float:
        """Return P(agent i is above agent j); one half for an agent and itself."""
        if i == j:
            return 0.5
        if self.above is not None:
            return float(self.above[i, j])
        pair = np.array([i, j])
        return float(find_superiorities(self.mu[pair], self._read_joint(pair))[0, 1])

    def gap_ends(self, i: Ints, j: Ints) -> tuple[Floats, Floats]:
        """Return the ends of the 95 % intervals of how far agents i [k] are above agents j [k].

        They lie on both sides of 0 where P(i is above j) is within 0.025 and 0.975.
        """
        lead, agents = self.mu[i] - self.mu[j], np.arange(len(self.mu))
        half = Z95 * np.sqrt(find_gap_variances(self._read_joint(agents), i, j))
        low, high = lead - half, lead + half
        if self.believed is None or self.places is None:
            return low, high
        has_belief = (self.places[i] >= 0) & (self.places[j] >= 0) & (i != j)
        ends = self.believed.find_gap_ends(self.places[i[has_belief]], self.places[j[has_belief]])
        least, most = (end * _UNIT for end in ends)
        # Towards 0 as P(i is above j): by the surer of both.
        least = np.where(lead[has_belief] > 0, np.maximum(low[has_belief], least), least)
        most = np.where(lead[has_belief] < 0, np.minimum(high[has_belief], most), most)
        low[has_belief] = np.minimum(least, lead[has_belief])
        high[has_belief] = np.maximum(most, lead[has_belief])
        return low, high

    def superiorities(self) -> Floats:
        """Return P(row is above column) for all pairs: float64 [n, n], one half on the diagonal."""
        if self.above is not None:
            return self.above
        return find_superiorities(self.mu, self._read_joint(np.arange(len(self.mu))))

    def _read_joint(self, agents: Ints) -> Floats:
        """Return the covariance of these agents, [k, k].

        Without one they count as independent about the mean, as they nearly are.
        """
        if self.covariance is None:
            return np.diag(self.sd[agents] ** 2)
        return self.covariance[np.ix_(agents, agents)]


def settle_ratings(  # noqa: PLR0913 - each is one thing that a fit depends on
    counts: PairCounts | TeamCounts,
    n_agents: int,
    *,
    n_sides: int = 2,
    draw_probability: float = DRAW_PROBABILITY,
    weight: float | Floats = 1.0,
    start: Sequence[float] | Floats | None = None,
    parents: Sequence[int] | Ints | None = None,
    terms: FittedTerms = NO_TERMS,
) -> SettledRatings:
    """Return the settled ratings of agents 0..n_agents-1.

    counts: of pairs, or of teams in a game of teams. n_sides: seats or teams of a match: of more
    than two see arena.ratings.rankings. weight: what a result counts against one that is alone,
    such as 1 by the dispersion of the blocks; float64 [n, n] where pairs of agents differ in it,
    never of teams.
    start: the mu of an earlier fit, to get there faster; it may be shorter than the field. parents:
    of each agent the one it goes on from, or -1: its prior is N(parent, 2^2). terms: what
    is fitted beside the skills. Raises RatingError.
    """
    _check_field(counts, n_agents, weight)
    weighed = weigh_rankings(counts, n_sides, draw_probability)
    if weighed.margin == 0 and weighed.counts.has_draws:
        raise DrawWithoutDrawProbabilityError
    parent_of = check_parents(parents, n_agents)
    # Agents without results cost nothing: the fit leaves them out, but for the families of others.
    # A family without any would only make it less sure where the mean of all fitted agents is.
    fitted = np.union1d(weighed.counts.agents, find_families(parent_of, weighed.counts.agents))
    if fitted.size == 0:
        return _assemble_field(counts, parent_of, fitted, None, draw_probability)
    likelihood = _make_likelihood(weighed, fitted, weight, is_seated=terms.seat)
    z = (_find_starting_point(start, n_agents)[fitted] - MU) / _UNIT
    objective = make_objective(likelihood, parent_prior(parent_of, fitted))
    is_fitted = terms.draws and weighed.margin > 0
    posterior, objective = _fit_skills(objective, z, fits_draws=is_fitted)
    if n_sides > _PAIR and terms.is_shown and isinstance(counts, PairCounts):
        n_met = count_meetings(counts, fitted)
        anew = weigh_at_strengths(posterior.z, n_met, n_sides, weighed.decided) / weighed.weight
        posterior, objective = _fit_skills(
            objective.with_weight(anew), posterior.z, fits_draws=is_fitted
        )
    if is_fitted:
        draw_probability = probability_of_margin(objective.likelihood.margin)
    settled = _assemble_field(counts, parent_of, fitted, posterior, draw_probability)
    if not terms.is_shown:
        return settled
    doubt = weigh_spreads(objective, posterior, given_margin=weighed.margin if is_fitted else 0.0)
    return settled if doubt is None else _add_doubt(settled, parent_of, fitted, doubt)


def _make_likelihood(
    weighed: WeighedCounts[PairCounts | TeamCounts],
    fitted: Ints,
    weight: float | Floats,
    *,
    is_seated: bool,
) -> Likelihood:
    """Return the likelihood of the skills of the fitted agents, in their order."""
    within, n_fitted = weighed.counts.reindex(fitted), len(fitted)
    weight = weighed.weight * weight
    if isinstance(within, PairCounts):
        return PairLikelihood(
            within,
            n_fitted,
            margin=weighed.margin,
            weight=weight if isinstance(weight, float | int) else weight[np.ix_(fitted, fitted)],
            is_seated=is_seated,
        )
    if is_seated:
        raise RatingError("terms.seat: teams have no first seat, leave it out")
    return TeamLikelihood(within, n_fitted, margin=weighed.margin, weight=_read_number(weight))


def _fit_skills(
    objective: Objective, z: Floats, *, fits_draws: bool
) -> tuple[Posterior, Objective]:
    """Fit skills, spread and draw margin in turn; return the posterior and what it is of.

    The spread is the one that explains the field (EM), the margin is that of the mode.
    """
    # SIGMA is what is thought of an agent of which nothing is known: the first guess.
    spread, seat = SIGMA / _UNIT, [0.0] * objective.likelihood.is_seated
    first_margin = objective.likelihood.margin
    for _ in range(_N_SPREAD_ROUNDS):
        # A rough mode is enough to fit the spread by: the last fit, below, starts from it.
        rough = find_mode(objective, spread, np.append(z, seat), is_rough=True)
        z, spread = rough.z, _find_next_spread(rough, objective.prior.children)
        seat = [] if rough.seat is None else [rough.seat]
        if fits_draws:
            objective = objective.with_margin(_fit_draws(objective.likelihood, rough, first_margin))
    return find_mode(objective, spread, np.append(z, seat)), objective


def _fit_draws(likelihood: Likelihood, posterior: Posterior, prior: float) -> float:
    seat = [] if posterior.seat is None else [posterior.seat]
    leads = likelihood.leads(np.append(posterior.z, seat))
    return fit_margin(
        leads, likelihood.n_decided, likelihood.times, start=likelihood.margin, prior=prior
    )


def _find_next_spread(posterior: Posterior, children: Ints) -> float:
    """Return the spread about the field's mean; the mean itself is fixed by the prior alone.

    Those with a parent say nothing about it, as their prior is another.
    """
    z, variances = (np.delete(c, children) for c in (posterior.z, posterior.uncertainty.variances))
    if len(z) == 1:
        return posterior.spread
    # EM: the expected square of a skill is that of its mode plus its variance.
    about_mean = float(z @ z + variances.sum())
    return float(np.clip(sqrt(about_mean / (len(z) - 1)), MIN_SPREAD / _UNIT, MAX_SPREAD / _UNIT))


def _assemble_field(
    counts: PairCounts | TeamCounts,
    parents: Ints,
    fitted: Ints,
    posterior: Posterior | None,
    draw_probability: float,
) -> SettledRatings:
    """Return the ratings of all agents: the fit of those that played, and the prior of the rest."""
    mu, drift = np.full(len(parents), MU), find_prior_drift(parents)
    if posterior is None:
        sd = np.hypot(SIGMA, drift)
        low, high = mu - Z95 * sd, mu + Z95 * sd
        prior, digest = find_prior_covariance(parents, SIGMA**2), counts.digest
        return SettledRatings(
            mu, sd, low, high, prior, SIGMA, 0, digest, draw_probability=draw_probability
        )
    spread = posterior.spread * _UNIT
    sd = np.hypot(spread, drift)
    mu[fitted] = MU + posterior.z * _UNIT
    sd[fitted] = np.sqrt(posterior.uncertainty.variances) * _UNIT
    covariance, joint = None, posterior.uncertainty.covariance
    if joint is not None:
        # Families without results are independent of all others.
        covariance = find_prior_covariance(parents, spread**2)
        covariance[np.ix_(fitted, fitted)] = joint * _UNIT**2
    seat = None
    if posterior.seat is not None and posterior.uncertainty.seat is not None:
        seat = SeatAdvantage(posterior.seat * _UNIT, sqrt(posterior.uncertainty.seat) * _UNIT)
    low, high, digest = mu - Z95 * sd, mu + Z95 * sd, counts.digest
    return SettledRatings(
        mu, sd, low, high, covariance, spread, counts.n_results, digest, seat, draw_probability
    )


def _add_doubt(
    settled: SettledRatings, parents: Ints, fitted: Ints, doubt: SpreadDoubt
) -> SettledRatings:
    """Return the ratings with intervals and chances of the fitted agents taken from the doubt."""
    # Whoever has no results is as far from the mean as any spread allows, and as anybody who has,
    # but for those that surely are where hardly anybody is.
    low, high = MU + doubt.low * _UNIT, MU + doubt.high * _UNIT
    furthest = max(float((high - MU).max()), float((MU - low).max()))
    usual = Z95 * doubt.believed.spread * _UNIT
    reach = min(max(usual, furthest), ROOT_MEAN_SQUARE * usual)
    reaches = np.hypot(reach, Z95 * find_prior_drift(parents))
    ends = MU - reaches, MU + reaches
    ends[0][fitted], ends[1][fitted] = low, high
    joint = find_prior_covariance(parents, (reach / Z95) ** 2)
    joint[np.ix_(fitted, fitted)] = np.asarray(settled.covariance)[np.ix_(fitted, fitted)]
    above = find_superiorities(settled.mu, joint)
    above[np.ix_(fitted, fitted)] = doubt.above
    places = np.full(len(settled.mu), -1)
    places[fitted] = np.arange(len(fitted))
    return replace(
        settled,
        low=ends[0],
        high=ends[1],
        covariance=joint,
        above=above,
        believed=doubt.believed,
        places=places,
    )


def _read_number(weight: float | Floats) -> float:
    if isinstance(weight, float | int):
        return weight
    raise RatingError("weight must be one number for results of teams")


def _find_starting_point(start: Sequence[float] | Floats | None, n_agents: int) -> Floats:
    full = np.full(n_agents, MU)
    if start is not None:
        earlier = np.asarray(start, np.float64)
        if earlier.ndim != 1 or len(earlier) > n_agents or not np.isfinite(earlier).all():
            raise RatingError(f"start must be at most {n_agents} finite floats, got {start!r}")
        full[: len(earlier)] = earlier
    return full


def _check_field(counts: PairCounts | TeamCounts, n_agents: int, weight: float | Floats) -> None:
    if n_agents < 0:
        raise RatingError(f"n_agents must be 0 or more, got {n_agents}")
    highest = int(counts.agents.max(initial=-1))
    if highest >= n_agents:
        raise UnknownAgentError(highest, n_agents)
    weights = np.asarray(weight)
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise RatingError(f"weight must be finite and above 0, got {weight!r}")
    if weights.shape not in {(), (n_agents, n_agents)}:
        raise RatingError(f"weight must be one number, or of {n_agents} x {n_agents} agents")
