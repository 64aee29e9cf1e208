"""What a verdict takes: before a campaign starts, while it runs, and what it would have taken."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from arena.games import registry as games
from arena.verdicts import registry as questions
from arena.verdicts.base import Question, Terms
from arena.verdicts.beliefs import Belief
from arena.verdicts.forecast import forecast_change, forecast_matches, round_robin_matches
from arena.verdicts.sprt import SequentialTest
from matches.campaigns import paired_blocks, sprt_forecasts
from matches.campaigns.belief import belief_of
from matches.campaigns.inputs import margin_of
from matches.campaigns.starting import IS_SPRT, checked, test_of
from matches.ledger import costs, pairing_warnings
from matches.ledger.costs import Cost
from matches.models import Agent, Campaign, Leaderboard
from matches.plans import CampaignPlan
from matches.ratings.closed_prefix import late_results
from matches.ratings.evidence import boards_of, evidence, known

LIMIT = 1_000_000
"""Matches: what takes longer counts as so many."""
N_MORE = 100


@dataclass(frozen=True)
class Asked:
    """What is to be found out, and how."""

    question: Question
    terms: Terms
    seed: int
    worth: float
    """Results of two that a match is worth: half of its sides."""

    @classmethod
    def by(cls, campaign: Campaign) -> "Asked":
        """Return what a campaign asks."""
        terms = Terms(campaign.error, campaign.margin, campaign.parameters)
        seed, worth = campaign.tournament.seed, _worth(campaign.tournament.leaderboard)
        return cls(questions.get(campaign.question), terms, seed, worth)


@dataclass(frozen=True)
class Ahead:
    """What a campaign would start from and take."""

    n_known: int
    forecast: dict[str, Any]
    n_known_elsewhere: int = 0
    """Of those known: on other leaderboards of the game."""
    warning: str | None = None
    """What is said of a pairing that suits the field badly."""
    margin: float = 0.0
    """In rating."""


def before(
    plan: CampaignPlan, *, leaderboard: Leaderboard, agents: Sequence[Agent], now: datetime
) -> Ahead:
    """Return what a campaign would take from what is known now. Raises BadInputError."""
    parameters = checked(plan, leaderboard=leaderboard, agents=agents)
    margin = margin_of(plan, leaderboard)
    entered = [agent.pk for agent in agents]
    boards = boards_of(leaderboard, entered)
    late = late_results(boards, entered)
    n_known, n_elsewhere = known(leaderboard, entered, boards=boards, late=late.tallies)
    cost = costs.estimate_match_cost(leaderboard, entered, now=now)
    if plan.question == IS_SPRT:
        counts = paired_blocks.between(leaderboard, *entered).counts
        seed, test = plan.seed or 0, test_of(parameters)
        found = _of_test(test, leaderboard, entered, counts, cost, seed)
    else:
        terms = Terms(plan.error, margin, parameters)
        question = questions.get(plan.question)
        asked = Asked(question, terms, plan.seed or 0, _worth(leaderboard))
        results = evidence(leaderboard, entered, boards=boards, late=late.tallies)
        belief = belief_of(leaderboard, entered, results, late=late)
        found = _foreseen(asked, belief, cost)
    suited = plan.pairing, plan.pairing_parameters
    warning = pairing_warnings.warn_before_start(*suited, leaderboard=leaderboard, agents=entered)
    return Ahead(n_known, found, n_elsewhere, warning, margin)


def foresee(campaign: Campaign, belief: Belief, *, now: datetime) -> dict[str, Any]:
    """Return the matches to the verdict with what they cost, and what 100 more would change."""
    return _foreseen(
        Asked.by(campaign), belief, costs.measure_match_cost(campaign.tournament, now=now)
    )


def foresee_test(
    campaign: Campaign, pair: Sequence[int], counts: Sequence[int], *, now: datetime
) -> dict[str, Any]:
    """Return the same of a sequential test that goes on: counts of its blocks by points."""
    tournament, test = campaign.tournament, test_of(campaign.parameters)
    cost = costs.measure_match_cost(tournament, now=now)
    return _of_test(test, tournament.leaderboard, pair, counts, cost, tournament.seed)


def round_robin(campaign: Campaign, belief: Belief) -> float:
    """Return how many matches a round robin would have needed from nothing, by what is believed."""
    asked = Asked.by(campaign)
    found = round_robin_matches(belief, asked.question, asked.terms, limit=LIMIT, seed=asked.seed)
    return found / asked.worth


def _worth(leaderboard: Leaderboard) -> float:
    """Return the results of two that a match is worth: k seats have k(k-1)/2, each 1/(k-1)."""
    return games.get(leaderboard.game).spec.n_sides / 2


def _of_test(
    test: SequentialTest,
    leaderboard: Leaderboard,
    pair: Sequence[int],
    counts: Sequence[int],
    cost: Cost,
    seed: int,
) -> dict[str, Any]:
    gap = sprt_forecasts.gap_between(leaderboard, pair)
    return sprt_forecasts.ahead(test, counts, gap, cost, limit=LIMIT, n_more=N_MORE, seed=seed)


def _foreseen(asked: Asked, belief: Belief, cost: Cost) -> dict[str, Any]:
    question, terms, seed, worth = asked.question, asked.terms, asked.seed, asked.worth
    is_over = question.judge(belief, terms) is not None
    ahead = None if is_over else forecast_matches(belief, question, terms, limit=LIMIT, seed=seed)
    more = forecast_change(belief, question, terms, seed=seed, n_matches=round(N_MORE * worth))
    matches = ahead.matches / worth if ahead else 0.0
    return {
        "matches": matches,
        "low": ahead.low / worth if ahead else 0.0,
        "high": ahead.high / worth if ahead else 0.0,
        "decided": ahead.decided if ahead else 1.0,
        "round_robin": ahead.round_robin / worth if ahead else 0.0,
        "cost": cost.of(matches),
        "more": {"n_matches": N_MORE, "now": more.now, "then": more.then, "verdict": more.verdict},
    }
