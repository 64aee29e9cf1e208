"""What a verdict takes: before a campaign starts, while it runs, and what it would have taken."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from arena.games import registry as games
from arena.pairing.registry import is_about_two, is_checking
from arena.verdicts import registry as questions
from arena.verdicts.base import Question, Terms, find_expected_departures
from arena.verdicts.beliefs import Belief
from arena.verdicts.forecast import forecast_change, forecast_matches, round_robin_matches
from arena.verdicts.sprt import SequentialTest
from arena.verdicts.sprt_forecast import forecast_test as forecast_sprt
from matches.campaigns.belief import infer_belief
from matches.campaigns.inputs import convert_margin
from matches.campaigns.paired_blocks import load_blocks
from matches.campaigns.sprt import estimate_gap, read_test
from matches.campaigns.starting import IS_SPRT, check_plan, choose_pairing_of
from matches.errors import BadInputError
from matches.ledger import costs, pairing_warnings
from matches.ledger.costs import Cost
from matches.models import Agent, Campaign, Leaderboard
from matches.plans import CampaignPlan
from matches.ratings.evidence import Evidence, gather_evidence

# Matches: what takes longer counts as so many.
LIMIT = 1_000_000
N_MORE = 100
NO_FORECAST = (
    "there is no forecast of a question by scores: start it, its budget is the most it takes"
)


@dataclass(frozen=True)
class Asked:
    """What is to be found out, and how."""

    question: Question
    terms: Terms
    seed: int
    # Results of two that a match is worth: half of its sides.
    worth: float
    # Whether its matches tell about the two only that it asks about: those of a watch do not.
    is_about_two: bool

    @classmethod
    def by(cls, campaign: Campaign, n_agents: int) -> "Asked":
        """Return what a campaign of so many agents asks."""
        tournament = campaign.tournament
        return cls(
            questions.get(campaign.question),
            Terms(campaign.error, campaign.margin, campaign.parameters),
            tournament.seed,
            _results_of_match(tournament.leaderboard),
            is_about_two(tournament.pairing, tournament.pairing_parameters, n_agents),
        )


@dataclass(frozen=True)
class Ahead:
    """What a campaign would start from and take."""

    n_known: int
    forecast: dict[str, Any]
    # Of those known: on other leaderboards of the game.
    n_known_elsewhere: int = 0
    # What is said of a pairing that suits the field badly.
    warning: str | None = None
    # In rating.
    margin: float = 0.0


def forecast_start(
    plan: CampaignPlan, *, leaderboard: Leaderboard, agents: Sequence[Agent], now: datetime
) -> Ahead:
    """Return what a campaign would take from what is known now. Raises BadInputError."""
    parameters = check_plan(plan, leaderboard=leaderboard, agents=agents)
    if plan.margin_score is not None:
        raise BadInputError("margin_score", NO_FORECAST)
    margin = convert_margin(plan, leaderboard)
    entered = [agent.pk for agent in agents]
    evidence = gather_evidence(leaderboard, entered)
    # A fixed seed: the same plan is told the same forecast.
    cost, seed = costs.estimate_match_cost(leaderboard, entered, now=now), plan.seed or 0
    if plan.question == IS_SPRT:
        counts = load_blocks(leaderboard, *entered, boards=evidence.boards).counts
        rest = _forecast_bounds(read_test(parameters), evidence, counts, cost, seed)
    else:
        terms = Terms(plan.error, margin, parameters)
        question = questions.get(plan.question)
        pairing = choose_pairing_of(plan, parameters, leaderboard, len(agents))
        is_checked = is_checking(*pairing, len(agents))
        of_two = is_about_two(*pairing, len(agents))
        asked = Asked(question, terms, seed, _results_of_match(leaderboard), of_two)
        expected = find_expected_departures(question, len(agents), is_checked=is_checked)
        belief = infer_belief(evidence, expected_departures=expected)
        rest = _forecast_answer(asked, belief, cost)
    warning = pairing_warnings.warn_before_start(
        plan.pairing, plan.pairing_parameters, leaderboard=leaderboard, agents=entered
    )
    return Ahead(evidence.known.n_matches, rest, evidence.known.n_elsewhere, warning, margin)


def forecast_rest(campaign: Campaign, belief: Belief, *, now: datetime) -> dict[str, Any]:
    """Return the matches to the verdict with what they cost, and what 100 more would change."""
    cost = costs.measure_match_cost(campaign.tournament, now=now)
    return _forecast_answer(Asked.by(campaign, belief.n_agents), belief, cost)


def forecast_test(
    campaign: Campaign, evidence: Evidence, counts: Sequence[int], *, now: datetime
) -> dict[str, Any]:
    """Return the same of a sequential test that goes on: counts of its blocks by points."""
    test, cost = (
        read_test(campaign.parameters),
        costs.measure_match_cost(campaign.tournament, now=now),
    )
    return _forecast_bounds(test, evidence, counts, cost, campaign.tournament.seed)


def count_round_robin(campaign: Campaign, belief: Belief) -> float:
    """Return how many matches a round robin would have needed from nothing, by what is believed."""
    ahead = Asked.by(campaign, belief.n_agents)
    n_results = round_robin_matches(
        belief, ahead.question, ahead.terms, limit=round(LIMIT * ahead.worth), seed=ahead.seed
    )
    return n_results / ahead.worth


def _results_of_match(leaderboard: Leaderboard) -> float:
    """Return the results of two that a match is worth, k / 2 of k sides.

    That lies between 2 (k - 1) / k where one winner is told, and 3 k (k - 1) / (2 (k + 1)) where
    the whole order is: see arena.ratings.rankings.
    """
    return games.get(leaderboard.game).spec.n_sides / 2


def _forecast_bounds(
    test: SequentialTest, evidence: Evidence, counts: Sequence[int], cost: Cost, seed: int
) -> dict[str, Any]:
    """Return when a sequential test leaves its bounds."""
    rest, more = forecast_sprt(
        test, counts, estimate_gap(evidence), limit=LIMIT, seed=seed, n_more=N_MORE
    )
    return {
        "matches": rest.matches,
        "low": rest.low,
        "high": rest.high,
        "decided": rest.decided,
        "accepted": rest.accepted,
        "round_robin": None,
        "cost": cost.of(rest.matches),
        "more": {
            "n_matches": N_MORE,
            "now": None,
            "then": None,
            "verdict": more.verdict,
            "llr_now": more.now,
            "llr_then": more.then,
        },
    }


def _forecast_answer(asked: Asked, belief: Belief, cost: Cost) -> dict[str, Any]:
    """Return when a question of ratings has its answer."""
    question, terms, worth = asked.question, asked.terms, asked.worth
    rest = None
    if question.judge(belief, terms) is None:
        rest = forecast_matches(
            belief,
            question,
            terms,
            limit=round(LIMIT * worth),
            seed=asked.seed,
            is_about_two=asked.is_about_two,
        )
    more = forecast_change(
        belief,
        question,
        terms,
        seed=asked.seed,
        n_matches=round(N_MORE * worth),
        is_about_two=asked.is_about_two,
    )
    matches = rest.matches / worth if rest else 0.0
    return {
        "matches": matches,
        "low": rest.low / worth if rest else 0.0,
        "high": rest.high / worth if rest else 0.0,
        "decided": rest.decided if rest else 1.0,
        "round_robin": rest.round_robin / worth if rest else 0.0,
        "cost": cost.of(matches),
        "more": {"n_matches": N_MORE, "now": more.now, "then": more.then, "verdict": more.verdict},
    }
