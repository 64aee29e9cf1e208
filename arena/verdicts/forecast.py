"""How many matches a verdict will take, and what some more would change: played forward in thought.

Truths are drawn from the belief: skills, how far pairs depart from them, what the lead of each has
of its own, and which depart altogether. For each, matches are spent as the pairing would spend
them, their results are normal and say as much of who is better as matches do, and the belief moves
as normal beliefs do, all truths at once. The rule that stops is the question's own. Strength is
taken to stay as it is.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from arena.pairing.registry import find_edge, find_two
from arena.ratings.base import MU, SIGMA
from arena.ratings.counts import Floats, Ints
from arena.ratings.departures import expect_departures
from arena.ratings.pair_leads import PairLeads
from arena.verdicts.allocations import choose_allocation, weigh_evenly
from arena.verdicts.base import Question, Terms, VerdictError
from arena.verdicts.beliefs import Belief
from arena.verdicts.futures import (
    Allocation,
    Futures,
    Inform,
    deciding_information,
    inform_of_lead,
)

# Of a larger field so many are looked at.
MAX_AGENTS = 60
# What is played between two looks, next to all that is known then: at first, and from so many
# matches on. And next to what was played in thought.
_GROWTH, _LATE_GROWTH, _LATE = 0.25, 0.5, 1_000
_GROWTH_OF_PLAYED = 0.5
# The share of the cases that has to end to know their median.
_MOST_CASES = 0.6
_LOW, _HIGH = 0.1, 0.9


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
    belief: Belief,
    question: Question,
    terms: Terms,
    *,
    limit: int,
    seed: int,
    is_about_two: bool = True,
) -> Forecast:
    """Return the matches to the verdict, at most `limit`. Raises VerdictError.

    is_about_two: see arena.verdicts.allocations.
    """
    if limit < 1:
        raise VerdictError(f"limit must be 1 or more, got {limit}")
    looked_at, terms = _look_at(belief, question, terms)
    adaptive = choose_allocation(looked_at, question, terms, is_about_two=is_about_two)
    inform = _choose_inform(question, terms)
    futures = Futures(looked_at, seed, inform)
    matches = _play_until(futures, question, terms, adaptive, limit)
    futures = Futures(looked_at, seed, inform)
    even = _play_until(futures, question, terms, weigh_evenly, limit, _MOST_CASES)
    low, high = np.quantile(matches, [_LOW, _HIGH])
    return Forecast(
        float(np.median(matches)),
        float(low),
        float(high),
        float(np.mean(matches < limit)),
        float(np.median(even)),
    )


def forecast_change(
    belief: Belief,
    question: Question,
    terms: Terms,
    *,
    seed: int,
    n_matches: int = 100,
    is_about_two: bool = True,
) -> Outlook:
    """Return what n_matches more would change. Raises VerdictError.

    is_about_two: see arena.verdicts.allocations.
    """
    if n_matches < 1:
        raise VerdictError(f"n_matches must be 1 or more, got {n_matches}")
    now = question.guess(belief, terms).probability
    looked_at, terms = _look_at(belief, question, terms)
    futures = Futures(looked_at, seed, _choose_inform(question, terms))
    adaptive = choose_allocation(looked_at, question, terms, is_about_two=is_about_two)
    # In four parts: the pairing looks at the ratings again between them.
    for _ in range(4):
        futures.play_matches(n_matches / 4, adaptive)
    # What is not foretold, as whether strength walks, stays as much in doubt as it is.
    doubt = question.guess(looked_at, terms).probability - now
    beliefs = futures.list_beliefs()
    then = float(np.mean([question.guess(one, terms).probability for one in beliefs])) - doubt
    verdicts = [question.judge(one, terms) is not None for one in beliefs]
    return Outlook(now, min(max(then, 0.0), 1.0), float(np.mean(verdicts)))


def round_robin_matches(
    belief: Belief, question: Question, terms: Terms, *, limit: int, seed: int
) -> float:
    """Return how many matches a round robin would have needed to a verdict, from nothing.

    The median over truths drawn from the belief. Raises VerdictError.
    """
    if limit < 1:
        raise VerdictError(f"limit must be 1 or more, got {limit}")
    looked_at, terms = _look_at(belief, question, terms)
    inform, first_belief = _choose_inform(question, terms), _believe_nothing(looked_at)
    futures = Futures(looked_at, seed, inform, first_belief=first_belief)
    return float(np.median(_play_until(futures, question, terms, weigh_evenly, limit, _MOST_CASES)))


def _choose_inform(question: Question, terms: Terms) -> Inform:
    """Return what says how much a match tells: of who is better, or of the lead that is asked."""
    two = find_two(question.id, terms.parameters)
    asked = float(terms.parameters.get("lead", 0.0))
    if two and asked:
        return partial(inform_of_lead, a=two["a"], b=two["b"], asked=asked)
    return deciding_information


def _play_until(
    futures: Futures,
    question: Question,
    terms: Terms,
    allocation: Allocation,
    limit: int,
    share: float = 1.0,
) -> Floats:
    """Return the matches to the verdict in each: float64 [t], at most the limit.

    share: of the cases that have to end; the others count as the limit then.
    """
    ended, waiting = np.full(futures.n_cases, float(limit)), np.arange(futures.n_cases)
    n_played, n_left_over = 0.0, (1 - share) * futures.n_cases
    while n_played < limit and len(waiting) > n_left_over:
        n_more = min(_count_to_look(futures, n_played), limit - n_played)
        futures.play_matches(n_more, allocation)
        n_played += n_more
        is_over = np.array([question.judge(b, terms) is not None for b in futures.list_beliefs()])
        ended[waiting[is_over]] = n_played - n_more / 2  # somewhere since the last look
        waiting = waiting[~is_over]
        futures.keep(~is_over)
    return ended


def _count_to_look(futures: Futures, n_played: float) -> float:
    """Return how many matches are played to the next look: the more, the rarer looks are.

    Where much is known, the first are closer: a quarter of that may be all that is missing.
    """
    growth = _GROWTH if n_played < _LATE else _LATE_GROWTH
    n_more = min((futures.n_known + n_played) * growth, n_played * _GROWTH_OF_PLAYED)
    return max(futures.n_agents / 2, n_more)


def _look_at(belief: Belief, question: Question, terms: Terms) -> tuple[Belief, Terms]:
    """Return the belief about those who are looked at, if strength stays, and what is asked then.

    Of a large field those are who may cross the edge that the question turns on, or the top; and
    always the two that it asks about.
    """
    steady = replace(belief, other=None)
    if belief.n_agents <= MAX_AGENTS:
        return steady, terms
    if edge := find_edge(question.id, terms.parameters):
        agents, k = _look_around(belief, edge)
        parameters = {**terms.parameters, "k": k}
    else:
        reach = belief.mu + 3 * belief.sd
        two = find_two(question.id, terms.parameters)
        reach[list(two.values())] = np.inf
        agents = np.sort(np.argsort(-reach, kind="stable")[:MAX_AGENTS])
        places = {name: int(np.searchsorted(agents, agent)) for name, agent in two.items()}
        parameters = {**terms.parameters, **places}
    return steady.restrict_to(agents), replace(terms, parameters=parameters)


def _look_around(belief: Belief, edge: int) -> tuple[Ints, int]:
    """Return who may cross the edge of a large field, and how many of them are before it."""
    first, rest = belief.order[:edge], belief.order[edge:]
    n_first = max(min(edge, MAX_AGENTS // 2), MAX_AGENTS - len(rest))
    between = belief.mu[belief.order[edge - 1 : edge + 1]].mean()
    # Not who is next to it: one that is far away may be little known.
    distance = np.abs(belief.mu - between) / belief.sd
    first, rest = (part[np.argsort(distance[part], kind="stable")] for part in (first, rest))
    return np.sort(np.concatenate([first[:n_first], rest[: MAX_AGENTS - n_first]])), n_first


def _believe_nothing(belief: Belief) -> Belief:
    """Return what was believed of a field before its first result."""
    n, leads = belief.n_agents, belief.leads
    variances = belief.pair_variances and belief.pair_variances.forget()
    if leads is not None:
        # Of an agent and itself there are no results: what is thought of any pair before.
        before = variances.mean if variances else leads.variance[0, 0]
        leads = PairLeads(np.ones((n, n)), np.zeros((n, n)), np.full((n, n), before))
    return replace(
        prior_belief(n),
        leads=leads,
        pair_variances=variances,
        departures=belief.departures and expect_departures(n),
        is_checked=belief.is_checked,
    )
