"""What is believed about the skills of a field: they are jointly normal about the posterior mode.

All probabilities come from here: those of two agents in closed form, those of more from samples.
The samples are made from the same normal numbers every time, so that equal beliefs say the same,
and watching the same evidence twice is not a second chance.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import log, sqrt
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import log_ndtr, ndtr

from arena.ratings.counts import Floats, Ints, PairCounts
from arena.ratings.departures import Departures
from arena.ratings.pair_leads import PairLeads
from arena.ratings.pair_variance import LikelyVariances
from arena.ratings.settled import SettledRatings

N_SAMPLES = 8_192
# More agents than this are judged by their top, as the rest cannot be among the best.
N_TOP = 200
_JITTER = 1e-9
# Of skills, to weigh evidence by: fitted to few agents it follows their results too closely. With 2
# for all, two equal agents among others far away got a wrong "beats" in 5.3 % instead of 5.
LEAST_SPREAD, MOST_SPREAD = 2.0, 4.0
# Of leads that are drawn: numbers at a time, and samples however many pairs there are.
_MOST_NUMBERS, _FEWEST_SAMPLES = 4_000_000, 512
# Where chances are only shown: of 30 agents they are good to 0.01 then.
_MOST_SHOWN = 1_000_000
# A probability, or several.
Averaged = TypeVar("Averaged", float, Floats)


@dataclass(frozen=True, eq=False)
class Belief:
    """mu: float64 [n]. covariance: float64 [n, n] or, of a large field, None: independent, sd [n].

    n_matches: int64 [n], how many matches of each agent are known. n_samples: even; how many to
    draw, where they are needed. spread: sd of the skills of such a field. leads: of pairs, where
    they are more than the differences of skills. pair_variances: how much more that may be, where
    it is in doubt; leads go by their mean. departures: pairs of which neither may tell.
    is_checked: whether those met of whom the ratings alone tell who is better. other: what else may
    be true of the agents; all probabilities are means over both.
    """

    mu: Floats
    covariance: Floats | None
    sd: Floats
    n_matches: Ints
    n_samples: int = N_SAMPLES
    spread: float = LEAST_SPREAD
    leads: PairLeads | None = None
    pair_variances: LikelyVariances | None = None
    departures: Departures | None = None
    is_checked: bool = False
    other: "OtherBelief | None" = None

    @property
    def n_agents(self) -> int:
        """How many agents the belief is about, n."""
        return len(self.mu)

    @cached_property
    def order(self) -> Ints:
        """The agents from the highest to the lowest mean of mu; of equals the first one first."""
        return np.argsort(-self.average(lambda one: one.mu), kind="stable")

    def expected_leads(self, above: Ints, below: Ints) -> Floats:
        """Return by how much the one is expected to be better than the other, pair by pair."""
        gaps: Floats = self.mu[above] - self.mu[below]
        if self.leads is None:
            return gaps
        led: Floats = self.leads.share[above, below] * gaps + self.leads.own[above, below]
        return led

    def variances(self, above: Ints, below: Ints) -> Floats:
        """Return the variance of the lead of above over below, pair by pair."""
        if self.covariance is None:
            independent: Floats = self.sd[above] ** 2 + self.sd[below] ** 2
            return independent
        joint, alone = self.covariance, np.diag(self.covariance)
        gaps: Floats = alone[above] + alone[below] - 2 * joint[above, below]
        if self.leads is not None:
            gaps = self.leads.share[above, below] ** 2 * gaps + self.leads.variance[above, below]
        # Rounding may leave the gap of two nearly equal agents a variance below 0.
        return np.maximum(gaps, _JITTER)

    def superiority(self, above: Ints, below: Ints, lead: float | Floats = 0.0) -> Floats:
        """Return P(above is better than below by more than lead), pair by pair."""

        def find_alone(one: Belief) -> Floats:
            gaps = one.expected_leads(above, below) - lead
            chances: Floats = ndtr(gaps / np.sqrt(one.variances(above, below)))
            return chances

        return self.average(find_alone)

    def average(self, find: Callable[["Belief"], Averaged]) -> Averaged:
        """Return the mean of what is found by either of what may be true, by their chances."""
        if self.other is None:
            return find(self)
        chance, belief = self.other
        return (1 - chance) * find(self._alone) + chance * find(belief)

    @cached_property
    def _alone(self) -> "Belief":
        return replace(self, other=None)

    def doubt_upsets(self, above: Ints, below: Ints, lead: float = 0.0) -> Floats:
        """Return how much less sure these leads are as each pair may depart, pair by pair."""
        if self.departures is None:
            return np.zeros(len(above))
        apart, pairs = self.departures, (above, below)
        alone = ndtr((apart.mean[pairs] - lead) / np.sqrt(apart.variance[pairs]))
        # A departure that makes a lead larger would only make claims bolder.
        lost = np.maximum(self.superiority(above, below, lead) - alone, 0)
        doubts: Floats = apart.chance[pairs] * lost
        return doubts

    def weight_of_evidence(self, a: int, b: int, lead: float = 0.0) -> float:
        """Return log of how much likelier the results are if the leader of two leads than if not.

        That is against a gap of exactly `lead`, averaged over the gaps on the side of it that is
        likelier (a mixture likelihood ratio; Robbins 1970), by the densities at `lead` before and
        after the results (Dickey 1971). In planned order it is a martingale under a gap of `lead`,
        so it exceeds log(1 / error) with a probability of at most error, ever, however often
        somebody looks (Ville's inequality); a posterior exceeds 1 - error in the end with
        certainty. The belief is taken as normal.
        """
        pair = np.array([a]), np.array([b])
        spread = min(max(self.spread, LEAST_SPREAD), MOST_SPREAD)
        variance, before = float(self.variances(*pair)[0]), 2 * spread**2
        if self.leads is not None:
            # Of an agent and itself there are no results: what is thought of any pair before.
            before += float(self.leads.variance[a, a])
        gap = float(self.expected_leads(*pair)[0])
        z, z_before = (gap - lead) / sqrt(variance), -lead / sqrt(before)
        side = 1 if z >= 0 else -1
        densities = (z**2 - z_before**2 + min(0.0, log(variance / before))) / 2
        return float(log_ndtr(side * z) - log_ndtr(side * z_before) + densities)

    def restrict_to(self, agents: Ints) -> "Belief":
        """Return the same belief about these agents only, in this order."""
        joint = None if self.covariance is None else self.covariance[np.ix_(agents, agents)]
        return replace(
            self,
            mu=self.mu[agents],
            covariance=joint,
            sd=self.sd[agents],
            n_matches=self.n_matches[agents],
            leads=None if self.leads is None else self.leads.restrict_to(agents),
            departures=None if self.departures is None else self.departures.restrict_to(agents),
            other=None if self.other is None else self.other.restrict_to(agents),
        )

    @cached_property
    def top(self) -> Ints:
        """The agents that may be among the best: all, or the N_TOP with the highest mu + 3 sd.

        By whichever of what may be true has it higher.
        """
        if self.n_agents <= N_TOP:
            return np.arange(self.n_agents)
        reach = self.mu + 3 * self.sd
        if self.other is not None:
            reach = np.maximum(reach, self.other.belief.mu + 3 * self.other.belief.sd)
        return np.sort(np.argsort(-reach, kind="stable")[:N_TOP])

    @cached_property
    def samples(self) -> Floats:
        """Skills drawn from the belief: float64 [n_samples, n]. The same belief, the same draws."""
        normal = _normal_numbers(self.n_samples, self.n_agents)
        if self.covariance is None:
            return self.mu + normal * self.sd
        # By rounding, equal agents may make a matrix that Cholesky does not take.
        joint = self.covariance + _JITTER * np.eye(self.n_agents)
        drawn: Floats = self.mu + normal @ np.linalg.cholesky(joint).T
        return drawn

    def sample_leads(self, above: Ints, below: Ints, *, most: int = _MOST_NUMBERS) -> Floats:
        """Return leads drawn from the belief, pair by pair: float64 [s, m], s at most n_samples.

        most: numbers that are drawn, but for the fewest samples.
        """
        n_samples = min(self.n_samples, max(_FEWEST_SAMPLES, most // max(1, len(above))))
        skills = self.samples[:: self.n_samples // n_samples]
        gaps: Floats = skills[:, above] - skills[:, below]
        if self.leads is None:
            return gaps
        # Other numbers than those of the skills, however many pairs there are.
        noise = np.random.default_rng([len(above), 1]).standard_normal(gaps.shape)
        leads, pairs = self.leads, (above, below)
        drawn: Floats = leads.share[pairs] * gaps + leads.own[pairs]
        return drawn + np.sqrt(leads.variance[pairs]) * noise

    def chances_of_best(self) -> Floats:
        """Return P(this agent is better than all others) for each.

        They add up to 1, less the chance that nobody beats all others: where leads of pairs depart
        from the ratings, or somebody may have learnt to beat just the best.
        """
        return self.average(Belief._find_chances_of_best)

    def _find_chances_of_best(self) -> Floats:
        chances = np.zeros(self.n_agents)
        likely = self.restrict_to(self.top)
        if likely.leads is None:
            best = likely.samples.argmax(axis=1)
            chances[self.top] = np.bincount(best, minlength=likely.n_agents) / self.n_samples
        else:
            chances[self.top] = likely._chances_to_beat_all()
        if self.departures is not None:
            row, column = np.indices((self.n_agents, self.n_agents)).reshape(2, -1)
            doubts = self.doubt_upsets(row, column).reshape(self.n_agents, -1).sum(axis=1)
            chances *= np.maximum(1 - doubts, 0)
        return chances

    def _chances_to_beat_all(self) -> Floats:
        one, other = np.triu_indices(self.n_agents, 1)
        is_ahead = self.sample_leads(one, other, most=_MOST_SHOWN) > 0
        is_beaten = np.zeros((len(is_ahead), self.n_agents), bool)
        # A pair's columns may repeat an agent: each pair marks the loser of its samples.
        for pair in range(len(one)):
            is_beaten[:, other[pair]] |= is_ahead[:, pair]
            is_beaten[:, one[pair]] |= ~is_ahead[:, pair]
        share: Floats = 1 - is_beaten.mean(axis=0)
        return share


class OtherBelief(NamedTuple):
    """What else may be believed, and how likely that is; of that there is no other."""

    chance: float
    belief: Belief

    def restrict_to(self, agents: Ints) -> "OtherBelief":
        """Return the same about these agents only, in this order."""
        return OtherBelief(self.chance, self.belief.restrict_to(agents))


def form_belief(
    settled: SettledRatings,
    counts: PairCounts,
    *,
    n_opponents: int = 1,
    leads: PairLeads | None = None,
) -> Belief:
    """Return what the settled rating of these counts says.

    n_opponents: of each agent in a match, each of whom is one result of it. leads: of pairs.
    """
    n_matches = count_matches(counts, len(settled.mu)) // n_opponents
    mu, joint, sd = settled.mu, settled.covariance, settled.sd
    return Belief(mu, joint, sd, n_matches, spread=settled.spread, leads=leads)


def mix_beliefs(belief: Belief, other: Belief, chance: float) -> Belief:
    """Return the likelier of two beliefs, with the other one beside it.

    chance: of the other one. Neither may have another beside it already.
    """
    if chance > 1 - chance:
        belief, other, chance = other, belief, 1 - chance
    return replace(belief, other=OtherBelief(chance, other))


def count_matches(counts: PairCounts, n_agents: int) -> Ints:
    """Return how many results each agent has: int64 [n]."""
    times = counts.n_first_wins + counts.n_draws + counts.n_second_wins
    both = np.concatenate([counts.first, counts.second])
    return np.bincount(both, weights=np.tile(times, 2), minlength=n_agents).astype(np.int64)


# A campaign asks about the same few sizes of field again and again.
@lru_cache(maxsize=8)
def _normal_numbers(n_samples: int, n_agents: int) -> Floats:
    # Antithetic pairs: with each sample its mirror image, so that the mean is exact.
    half = np.random.default_rng(n_agents).standard_normal((n_samples // 2, n_agents))
    normal = np.concatenate([half, -half])
    normal.setflags(write=False)
    return normal
