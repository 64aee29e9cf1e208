"""Questions about an order: which agents are above which others."""

from collections.abc import Sequence
from dataclasses import dataclass
from sys import maxsize

import numpy as np

from arena.parameters import Parameter
from arena.ratings.counts import Ints
from arena.ratings.pair_variance import EXPECTED, expect_in_order
from arena.verdicts.base import StopReason, Terms, Verdict, VerdictError, check_field
from arena.verdicts.beliefs import N_TOP, Belief
from arena.verdicts.circles import (
    MOST_AGENTS,
    doubt_beaten,
    doubt_circle,
    doubt_some_circle,
    find_blocking,
    group_by_circles,
    rank_agents,
)
from arena.verdicts.claims import Claim, claim_probability, doubt_leads, is_ready, is_sure

_NO_ORDER = StopReason.NO_ORDER
_USUAL_ERROR = 0.05
# Of pairs that go the other way round, in a sentence.
_MOST_NAMED = 12


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

        As a part of their spread. is_checked: whether pairs far apart are sent to meet, without
        which a ranking would wait for them for ever.
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
            return self._refuse(belief, considered, terms, error)
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
        """Return at most how probably somebody learnt to beat just one of those that are named.

        None of a ranking whose agents far apart were not sent to meet. Who allows less error than
        usual is thought to ask of fields where that is as much rarer: else no match could end it.
        """
        if self.is_ranking and not belief.is_checked:
            return 0.0
        rarer = min(1.0, terms.error / _USUAL_ERROR)
        return rarer * float(belief.doubt_upsets(*claim.pairs, -claim.margin).sum())

    def _refuse(
        self, belief: Belief, considered: Belief, terms: Terms, error: float
    ) -> Verdict | None:
        """Return why there is no such order, and what is true instead, where that is sure."""
        if considered.leads is None or considered.n_agents > MOST_AGENTS:
            return None
        groups = group_by_circles(considered)
        if self.is_ranking:
            return self._except_upsets(considered, np.concatenate(groups), terms, error)
        n_named = self._n_named(terms, considered.n_agents)
        circle = find_blocking(groups, n_named)
        if circle is None or not is_ready(considered, circle):
            return None
        doubts = doubt_beaten if n_named == 1 else doubt_circle
        doubt = doubts(considered, circle, terms.margin)
        claim = _claim_groups(groups, circle, terms.margin)
        if doubt > error or (doubt := doubt + 1 - claim_probability(considered, claim)) > error:
            return None
        places, subjects = list_places(len(circle)), tuple(belief.top[circle].tolist())
        said = f"there is no such order: {places} beat each other in a circle"
        return Verdict(said, subjects, 1 - doubt, _NO_ORDER)

    def _except_upsets(
        self, belief: Belief, order: Ints, terms: Terms, error: float
    ) -> Verdict | None:
        """Return the likeliest order with the pairs that go the other way round, if all are sure.

        And if so is a circle: else there may be another order, of which none does.
        """
        ranked = Claim(order, [1] * len(order), terms.margin)
        above, below = ranked.pairs
        is_upset = belief.expected_leads(above, below) < 0
        if not is_upset.any() or not is_ready(belief, order):
            return None
        winners, losers = np.where(is_upset, (below, above), (above, below))
        doubt = doubt_some_circle(belief, terms.margin)
        least = np.full(len(winners), -terms.margin)
        doubt += (
            float(belief.doubt_upsets(winners, losers, -terms.margin).sum()) * belief.is_checked
        )
        if doubt > error or (doubt := doubt + doubt_leads(belief, winners, losers, least)) > error:
            return None
        upsets = tuple(zip(winners[is_upset].tolist(), losers[is_upset].tolist(), strict=True))
        subjects = tuple(order.tolist())
        said = name_upsets(subjects, upsets) + (", up to the margin" if terms.margin else "")
        return Verdict(said, subjects, 1 - doubt, _NO_ORDER, upsets=upsets)

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


def _claim_groups(groups: Sequence[Ints], circle: Ints, margin: float) -> Claim:
    """Return that all down to the circle, the circle, and all behind it follow each other."""
    sizes = [len(group) for group in groups]
    place = next(n for n, group in enumerate(groups) if group is circle)
    parts = (sum(sizes[:place]), sizes[place], sum(sizes[place + 1 :]))
    return Claim(np.concatenate(groups), [size for size in parts if size], margin)


def name_upsets(order: Sequence[int], upsets: Sequence[tuple[int, int]]) -> str:
    """Return a statement of the agents of an order: who beats somebody who stands before it."""
    place = {agent: n for n, agent in enumerate(order)}
    ranked = " > ".join(f"{{{n}}}" for n in range(len(order)))
    named = [f"{{{place[one]}}} beats {{{place[other]}}}" for one, other in upsets[:_MOST_NAMED]]
    if len(upsets) > _MOST_NAMED:
        named.append(f"{len(upsets) - _MOST_NAMED} more go the other way round")
    return f"there is no order of all: {ranked}, but {', '.join(named)}"


def compare_neighbours(belief: Belief, ranked: Sequence[int]) -> tuple[float, ...]:
    """Return P(an agent is better than the one ranked next) for the first N_TOP ranks."""
    order = np.array(ranked[:N_TOP], dtype=np.int64)
    return tuple(belief.superiority(order[:-1], order[1:]).tolist())


def list_places(n: int) -> str:
    """Return places for n names: "{}, {} and {}"."""
    places = ["{}"] * n
    return " and ".join([", ".join(places[:-1]), places[-1]] if n > 1 else places)
