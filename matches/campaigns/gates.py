"""The gate of a CI: one sequential test for a pair of agents, however often it is asked."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from arena.errors import ArenaError
from arena.games import registry as games
from arena.verdicts.sprt import Decision, EloModel, SprtState
from matches.campaigns import forecasting, judging
from matches.campaigns.inputs import open_board
from matches.campaigns.sprt import read_test
from matches.campaigns.starting import IS_SPRT, SPRT_DEFAULTS, start_campaign
from matches.errors import BadInputError
from matches.ledger.naming import describe_no_board, describe_unknown, find_agent
from matches.models import Agent, Campaign, Leaderboard
from matches.models.validation import replace_unprintable
from matches.plans import CampaignPlan
from matches.ratings.entrants import entrants_of
from matches.ratings.evidence import gather_all_evidence
from matches.store.locks import take_turn_of_runs


@dataclass(frozen=True)
class Bounds:
    """What is tested: worse than elo0, or better by elo1; see arena.verdicts.sprt."""

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: str = EloModel.LOGISTIC.value

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters of the question."""
        return {name: getattr(self, name) for name in SPRT_DEFAULTS}


@dataclass(frozen=True)
class GateStanding:
    """Where the test of a gate stands, and on what."""

    campaign: Campaign
    state: SprtState
    # Blocks in which the candidate got 0, 1/2, 1, 3/2 and 2 points.
    counts: list[int]
    # Matches that were known before this call.
    n_reused: int
    # The forecast when the call began; None for a test that was decided before.
    before: dict[str, Any] | None = None
    # The forecast of what is left; None once it is decided.
    left: dict[str, Any] | None = None

    @property
    def decision(self) -> Decision:
        """Accept: pass; reject: fail; continue: undecided."""
        return self.state.decision


def find_pair(game: str, candidate: str, baseline: str) -> tuple[Agent, Agent]:
    """Return two agents by name, of this game or the only one. Raises BadInputError."""
    first, second = (
        _resolve_agent("candidate", candidate, game),
        _resolve_agent("baseline", baseline, game),
    )
    if first.game != second.game:
        played = f"{candidate!r} plays {first.game}, {baseline!r} plays {second.game}"
        raise BadInputError("baseline", f"{played}: name two agents of one game, or give --game")
    if first == second:
        raise BadInputError("baseline", f"{baseline!r} is the candidate itself")
    return first, second


@transaction.atomic
def enter_named_test(
    candidate: str,
    baseline: str,
    bounds: Bounds,
    *,
    game: str,
    leaderboard: str,
    max_matches: int,
) -> Campaign:
    """Return the test of two agents by name, as `find_pair` and `enter_test` do.

    Of two calls at once the second finds what the first has added: agents, leaderboard, test.
    """
    take_turn_of_runs()
    pair = find_pair(game, candidate, baseline)
    return enter_test(*pair, bounds, leaderboard=leaderboard, max_matches=max_matches)


@transaction.atomic
def enter_test(
    candidate: Agent, baseline: Agent, bounds: Bounds, *, leaderboard: str, max_matches: int
) -> Campaign:
    """Return the test of this pair: decided before, under way, or with a new budget.

    Its evidence are all blocks of the two on the leaderboard, so a new budget is no second chance.
    """
    if leaderboard and not Leaderboard.objects.filter(name=leaderboard).exists():
        raise BadInputError("leaderboard", describe_no_board(leaderboard))
    game = candidate.game
    own_name, title = f"gate-{game.replace('_', '-')}", f"Gate: {games.get(game).spec.title}"
    board = open_board(leaderboard or own_name, game=game, title=title)
    plan = CampaignPlan(
        name=replace_unprintable(f"{candidate.name} against {baseline.name}"[:120]),
        question=IS_SPRT,
        max_matches=max_matches,
        parameters=bounds.parameters,
    )
    earlier = _find_test(board, (candidate, baseline), bounds)
    return earlier or start_campaign(plan, leaderboard=board, agents=[candidate, baseline])


def read_standing(campaign: Campaign, *, n_reused: int) -> GateStanding:
    """Return where a test stands now."""
    counts = judging.count_test_blocks(campaign, entrants_of(campaign.tournament))
    return GateStanding(campaign, read_test(campaign.parameters).state(counts), counts, n_reused)


def forecast_left(campaign: Campaign, *, now: datetime) -> dict[str, Any] | None:
    """Return what a test will still take; None once it is decided."""
    now_known = read_standing(campaign, n_reused=0)
    if now_known.decision is not Decision.CONTINUE:
        return None
    board, pair = campaign.tournament.leaderboard, entrants_of(campaign.tournament)
    evidence = gather_all_evidence(board, pair)
    return forecasting.forecast_test(campaign, evidence, now_known.counts, now=now)


def _find_test(board: Leaderboard, pair: tuple[Agent, Agent], bounds: Bounds) -> Campaign | None:
    """Return the test of this pair that is decided or under way."""
    tests = Campaign.objects.filter(question=IS_SPRT, tournament__leaderboard=board)
    # Two filters, two joins: one filter would look for a row that is both agents.
    of_both = tests.filter(tournament__agents=pair[0]).filter(tournament__agents=pair[1])
    for campaign in of_both.select_related("tournament__leaderboard").order_by("pk"):
        is_same = Bounds(**campaign.parameters) == bounds
        order = entrants_of(campaign.tournament)
        is_live = campaign.decided_at is None or campaign.why == "decided"
        if is_same and is_live and order == [agent.pk for agent in pair]:
            return campaign
    return None


def _resolve_agent(field: str, name: str, game: str) -> Agent:
    namesakes = Agent.objects.filter(name=name)
    # Two are enough to see that the name alone does not say which.
    agents = list((namesakes.filter(game=game) if game else namesakes).order_by("pk")[:2])
    if len(agents) > 1:
        played = " and ".join(agent.game for agent in agents)
        raise BadInputError(field, f"{name!r} plays {played}: choose one with --game")
    if agents:
        return agents[0]
    if not game:
        raise BadInputError(field, describe_unknown(name))
    try:
        # Spelled, which registers it, or named by a hash.
        return find_agent(name, game=game)
    except (ArenaError, BadInputError) as error:
        reason = error.args[0].removeprefix("agents: ")
        raise BadInputError(field, reason) from error
