"""Questions about an order: which agents are above which others."""

from collections.abc import Sequence
from dataclasses import dataclass
from sys import maxsize

from arena.parameters import Parameter
from arena.ratings.pair_variance import EXPECTED, expect_in_order
from arena.verdicts.base import StopReason, Terms, Verdict, VerdictError, check_field
from arena.verdicts.beliefs import Belief
from arena.verdicts.circles import rank_agents
from arena.verdicts.claims import (
    Claim,
    claim_probability,
    compare_neighbours,
    is_ready,
    is_sure,
)
from arena.verdicts.refusals import except_upsets, refuse_first
from arena.verdicts.words import list_places

_USUAL_ERROR = 0.05


@dataclass(frozen=True)
class OrderQuestion:
    """Ends once the order that the ratings suggest is sure enough, allowing for the margin.

    n_named: how many agents are named, those above the rest; the parameter k overrides it.
    is_ranking: whether the named ones are ranked among themselves. exact, near: what to say, with
    {named} for the names and {n} for their number, near if it may be wrong by the margin.
    most_agents: of a larger field it cannot be asked.
    """

    id: str
    title: str
    exact: str
    near: str
    n_named: int
    is_ranking: bool = False
    most_agents: int = maxsize
    parameters: Sequence[Parameter] = ()

    def expect_departures(self, n_agents: int, *, is_checked: bool) -> float:
        """Return how far pairs are thought to depart from the ratings before any shows it.

        As a part of their spread, the scale of what is thought. is_checked: whether pairs far apart
        are sent to meet, without which a ranking would wait for them for ever.
        """
        if not self.is_ranking:
            return EXPECTED
        return expect_in_order(n_agents) if is_checked else 0.0

    def check(self, terms: Terms, n_agents: int) -> None:
        """Raise VerdictError unless the terms fit a field of so many agents."""
        check_field(n_agents)
        if n_agents > self.most_agents:
            raise VerdictError(
                f"{self.id} can be asked of {self.most_agents} agents, got {n_agents}"
            )
        if self.parameters and not 0 < self._n_named(terms, n_agents) < n_agents:
            got = terms.parameters.get("k", self.n_named)
            raise VerdictError(f"k must be from 1 to below the {n_agents} agents, got {got}")

    def judge(self, belief: Belief, terms: Terms) -> Verdict | None:
        """Return the verdict if it is sure enough, exactly or up to the margin, else None."""
        # Of a large field only the top can change the answer, and samples of it are cheap.
        considered = belief.restrict_to(belief.top)
        near = self._make_claim(considered, terms, terms.margin)
        has_leads = not self.is_ranking and belief.leads is not None
        error = terms.safe_error(belief.n_agents, expects_departures=has_leads)
        left = error - self._doubt_upsets(considered, near, terms)
        named = near.order[: self._n_named(terms, considered.n_agents)]
        if not is_ready(considered, named):
            return None
        if not is_sure(considered, near, left):
            return self._refuse(considered, terms, error)
        # Second, as it is the stronger claim: what is not sure with the margin is not sure without.
        exact = self._make_claim(considered, terms, 0.0)
        left = error - self._doubt_upsets(considered, exact, terms)
        is_exact = is_sure(considered, exact, left)
        why, claim = (StopReason.DECIDED, exact) if is_exact else (StopReason.WITHIN_MARGIN, near)
        return self._make_verdict(belief, terms, self._rate(considered, claim, terms), why)

    def _rate(self, belief: Belief, claim: Claim, terms: Terms) -> float:
        """Return the probability of a claim."""
        doubt = self._doubt_upsets(belief, claim, terms)
        return max(0.0, claim_probability(belief, claim) - doubt)

    def _doubt_upsets(self, belief: Belief, claim: Claim, terms: Terms) -> float:
        """Return at most how probably somebody learnt to beat just one of those that are named."""
        doubts = belief.doubt_upsets(*claim.pairs, -claim.margin)
        return self._weigh_upsets(belief, terms) * float(doubts.sum())

    def _weigh_upsets(self, belief: Belief, terms: Terms) -> float:
        """Return what it counts that somebody may have learnt to beat just one other.

        Nothing in a ranking whose agents far apart were not sent to meet. Who allows less error
        than usual is thought to ask of fields where that is as much rarer: else no match could end
        it.
        """
        if self.is_ranking and not belief.is_checked:
            return 0.0
        return min(1.0, terms.error / _USUAL_ERROR)

    def _refuse(self, belief: Belief, terms: Terms, error: float) -> Verdict | None:
        """Return why there is no such order, and what is true instead, where that is sure."""
        if self.is_ranking:
            weight = self._weigh_upsets(belief, terms)
            return except_upsets(belief, terms.margin, error, weight)
        n_named = self._n_named(terms, belief.n_agents)
        return refuse_first(belief, n_named, terms.margin, error)

    def guess(self, belief: Belief, terms: Terms) -> Verdict:
        """Return the order that the ratings suggest, and the probability of exactly that."""
        considered = belief.restrict_to(belief.top)
        likely = self._rate(considered, self._make_claim(considered, terms, 0.0), terms)
        return self._make_verdict(belief, terms, likely, StopReason.OUT_OF_BUDGET)

    def _n_named(self, terms: Terms, n_agents: int) -> int:
        return min(int(terms.parameters.get("k", self.n_named)), n_agents)

    def _make_claim(self, belief: Belief, terms: Terms, margin: float) -> Claim:
        n = belief.n_agents
        n_named = self._n_named(terms, n)
        sizes = [1] * n if self.is_ranking else [n_named, n - n_named]
        return Claim(rank_agents(belief), sizes, margin)

    def _make_verdict(
        self, belief: Belief, terms: Terms, probability: float, why: StopReason
    ) -> Verdict:
        named = belief.top[rank_agents(belief.restrict_to(belief.top))].tolist()
        subjects = tuple(named[: self._n_named(terms, len(named))])
        sentence = self.near if why is StopReason.WITHIN_MARGIN else self.exact
        names = (
            " > ".join(["{}"] * len(subjects)) if self.is_ranking else list_places(len(subjects))
        )
        statement = sentence.format(named=names, n=len(subjects))
        steps = compare_neighbours(belief, subjects) if self.is_ranking else ()
        return Verdict(statement, subjects, probability, why, steps)
