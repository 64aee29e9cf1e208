"""Questions answered by scores on common seeds: `beats`, `best`, `top_k`, `rank_all`.

Every rule looks at pairs: a claim about the order is wrong only if a true leader is refuted, and
there are as many such pairs as pairs of different groups, so the error is shared among these
(Bonferroni). As the evidence of a pair holds at all seeds at once, it holds whichever agents are
chosen to play next, and whenever somebody looks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log
from typing import Protocol

import numpy as np

from arena.ratings.counts import Floats, Ints
from arena.verdicts.base import StopReason, Terms, Verdict, VerdictError, check_field
from arena.verdicts.claims import Claim
from arena.verdicts.score_evidence import score_width, weigh_differences

# Seeds that every agent plays first: before that, the order of the means is chance.
FIRST_SEEDS = 3
# Evidence that more does not change: that of a margin as wide as the scores is without end.
_SETTLED = 1e6
# Of differences of scores: 8 MB.
_MOST_AT_ONCE = 2**20
MOST_PAIRS = 1_000
"""That a claim may have: evidence is weighed seed by seed, for each pair."""


class Scores(Protocol):
    """What the rules need to know of the scores of n agents."""

    @property
    def means(self) -> Floats:
        """The mean score of each agent: float64 [n], NaN without any."""
        ...

    @property
    def n_seeds(self) -> Ints:
        """How many seeds each agent has played without a gap: int64 [n]."""
        ...

    def evidence(self, above: Ints, below: Ints, lead: float) -> Floats:
        """Return log capital against "above leads below by lead or less", pair by pair."""
        ...


@dataclass(frozen=True, eq=False)
class PlayedScores:
    """scores: float64 [n, seeds] by seed index, NaN where not played. score_range: of the game."""

    scores: Floats
    score_range: tuple[float, float]

    @cached_property
    def n_seeds(self) -> Ints:
        """How many seeds each agent has played before its first gap: int64 [n]."""
        is_counted = np.logical_and.accumulate(~np.isnan(self.scores), axis=1)
        return np.asarray(is_counted.sum(axis=1), np.int64)

    @cached_property
    def means(self) -> Floats:
        """The mean over these seeds: float64 [n], NaN without any."""
        is_counted = np.arange(self.scores.shape[1]) < self.n_seeds[:, None]
        totals = np.where(is_counted, self.scores, 0.0).sum(axis=1)
        return np.where(self.n_seeds > 0, totals / np.maximum(self.n_seeds, 1), np.nan)

    def evidence(self, above: Ints, below: Ints, lead: float) -> Floats:
        """Return log capital against "above leads below by lead or less", pair by pair."""
        width, n_at_once = (
            score_width(self.score_range),
            _MOST_AT_ONCE // (self.scores.shape[1] + 1) + 1,
        )
        weighed = [
            weigh_differences(self.scores[one] - self.scores[two], width, lead)
            for one, two in (
                (above[first : first + n_at_once], below[first : first + n_at_once])
                for first in range(0, len(above), n_at_once)
            )
        ]
        return np.concatenate(weighed) if weighed else np.empty(0)


def group_sizes(question: str, n_agents: int, k: int = 1) -> tuple[int, ...]:
    """Return how large the groups are that a question tells apart. Raises VerdictError."""
    check_field(n_agents)
    if question == "rank_all":
        return (1,) * n_agents
    n_named = {"best": 1, "top_k": k}.get(question)
    if n_named is None:
        raise VerdictError(f"no question of scores {question!r}: choose best, top_k or rank_all")
    if not 0 < n_named < n_agents:
        raise VerdictError(f"k must be in 1..{n_agents - 1}, got {n_named}")
    return n_named, n_agents - n_named


def check_pairs(sizes: Sequence[int]) -> None:
    """Raise VerdictError for a claim of too many pairs."""
    total = sum(sizes)
    n_pairs = (total**2 - sum(size**2 for size in sizes)) // 2
    if n_pairs > MOST_PAIRS:
        raise VerdictError(
            f"an answer about {total} agents compares {n_pairs:,} pairs by their scores, at most "
            f"{MOST_PAIRS:,} are possible: name fewer agents, or ask for the best"
        )


def order_agents(scores: Scores) -> Ints:
    """Return the agents by mean score, of equals the first one first; without a score last."""
    return np.argsort(-scores.means, kind="stable")


def judge_order(scores: Scores, sizes: Sequence[int], terms: Terms) -> Verdict | None:
    """Return that no agent is better than one of a better group by the margin; None to go on."""
    claim = Claim(order_agents(scores), sizes, terms.margin)
    for margin, why in ((0.0, StopReason.DECIDED), (terms.margin, StopReason.WITHIN_MARGIN)):
        evidence = scores.evidence(*claim.pairs, -margin)
        if evidence.min() >= log(len(evidence) / terms.error):
            return _name_groups(claim, float(evidence.min()), why)
    return None


def guess_order(scores: Scores, sizes: Sequence[int], terms: Terms) -> Verdict:
    """Return the likeliest order so far: OUT_OF_BUDGET."""
    claim = Claim(order_agents(scores), sizes, terms.margin)
    evidence = scores.evidence(*claim.pairs, -terms.margin)
    return _name_groups(claim, float(evidence.min()), StopReason.OUT_OF_BUDGET)


def _name_groups(claim: Claim, least: float, why: StopReason) -> Verdict:
    is_ranking = len(claim.sizes) == len(claim.order)
    n_named = len(claim.order) if is_ranking else claim.sizes[0]
    named = (" > " if is_ranking and n_named > 1 else ", ").join(["{}"] * n_named)
    statement = named if is_ranking else f"{named} " + _is_best(n_named)
    if why is StopReason.WITHIN_MARGIN:
        statement += ", up to the margin"
    # Wrong with at most this probability, however often somebody looked.
    doubt = min(1.0, len(claim.pairs[0]) * exp(-least))
    subjects = tuple(int(agent) for agent in claim.order[:n_named])
    return Verdict(statement, subjects, 1 - doubt, why)


def _is_best(n_named: int) -> str:
    return "is the best" if n_named == 1 else f"are the best {n_named}"


def judge_beats(scores: Scores, a: int, b: int, terms: Terms) -> Verdict | None:
    """Return whether a is better than b by more than the lead of the terms; None to go on.

    Each answer has the whole error: whatever the gap is, all wrong ones refute the same side.
    """
    first, second, needed = np.array([a]), np.array([b]), -log(terms.error)
    lead = float(terms.parameters.get("lead", 0.0))
    for pair, limit, words in (
        ((first, second), lead, "{{}} beats {{}} by more than {lead:g}"),
        ((second, first), -lead, "{{}} does not beat {{}} by more than {lead:g}"),
    ):
        evidence = float(scores.evidence(*pair, limit)[0])
        if evidence >= needed:
            words = words.format(lead=lead)
            return Verdict(words, (a, b), 1 - exp(-evidence), StopReason.DECIDED)
    inner = min(
        float(scores.evidence(first, second, lead - terms.margin)[0]),
        float(scores.evidence(second, first, -lead - terms.margin)[0]),
    )
    if inner < needed:
        return None
    words = f"{{}} beats {{}} by {lead:g}, give or take the margin"
    return Verdict(words, (a, b), 1 - exp(-inner), StopReason.WITHIN_MARGIN)


def guess_beats(scores: Scores, a: int, b: int, terms: Terms) -> Verdict:
    """Return what the means say of a and b so far: OUT_OF_BUDGET."""
    first, second = np.array([a]), np.array([b])
    lead = float(terms.parameters.get("lead", 0.0))
    if scores.means[a] - scores.means[b] > lead:
        words, evidence = "{{}} beats {{}} by more than {lead:g}", (first, second, lead)
    else:
        words, evidence = "{{}} does not beat {{}} by more than {lead:g}", (second, first, -lead)
    sure = max(0.0, 1 - exp(-float(scores.evidence(*evidence)[0])))
    return Verdict(words.format(lead=lead), (a, b), sure, StopReason.OUT_OF_BUDGET)


@dataclass(frozen=True, eq=False)
class PairEvidence:
    """How sure the order of pairs is, and after how many common seeds.

    above, below: int64 [m], the agents. evidence: float64 [m]. n_common: int64 [m].
    """

    above: Ints
    below: Ints
    evidence: Floats
    n_common: Ints

    def find_weakest(self, n_seeds: Ints) -> Ints:
        """Return the pair that is least settled after so many seeds: int64 [2], ascending.

        Evidence grows evenly with the seeds; where there is next to none yet, slowly.
        """
        common = np.minimum(n_seeds[self.above], n_seeds[self.below])
        growth = np.maximum(self.evidence, 1.0) / np.maximum(self.n_common, 1)
        weakest = int((self.evidence + growth * (common - self.n_common)).argmin())
        return np.sort([self.above[weakest], self.below[weakest]])


def weigh_pairs(scores: Scores, sizes: Sequence[int], terms: Terms) -> PairEvidence:
    """Return how sure the pairs of the likeliest claim are."""
    above, below = Claim(order_agents(scores), sizes, terms.margin).pairs
    evidence = np.minimum(scores.evidence(above, below, -terms.margin), _SETTLED)
    n_common = np.minimum(scores.n_seeds[above], scores.n_seeds[below])
    return PairEvidence(above, below, evidence, n_common)


def choose_agents(scores: Scores, sizes: Sequence[int], terms: Terms) -> Ints:
    """Return which agents play their next seed: int64, ascending, all of them at first.

    After that those of the least settled pair of the claim (as LUCB does; Kalyanakrishnan et al.
    2012), of the two only the one that is behind, as a seed counts when both have played it.
    """
    return _choose_next(weigh_pairs(scores, sizes, terms), scores.n_seeds)


def choose_ahead(pairs: PairEvidence, n_seeds: Ints, n_episodes: int) -> list[int]:
    """Return who plays each of the next episodes, of which none is over before the last is chosen.

    Each time the pair that will be least settled once all that is in flight is over: by what is
    known alone, all of them would be of one pair. n_seeds: int64 [n], those in flight included.
    """
    n_ahead, chosen = n_seeds.copy(), list[int]()
    while len(chosen) < n_episodes:
        behind = _choose_next(pairs, n_ahead)
        n_ahead[behind] += 1
        chosen += behind.tolist()
    return chosen[:n_episodes]


def _choose_next(pairs: PairEvidence, n_seeds: Ints) -> Ints:
    if n_seeds.min() < FIRST_SEEDS:
        return np.flatnonzero(n_seeds == n_seeds.min())
    pair = pairs.find_weakest(n_seeds)
    return np.asarray(pair[n_seeds[pair] == n_seeds[pair].min()], np.int64)
