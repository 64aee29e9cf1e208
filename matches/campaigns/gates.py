"""The gate of a CI: one sequential test for a pair of agents, however often it is asked."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from arena.errors import ArenaError
from arena.games import registry as games
from arena.verdicts.sprt import Decision, EloModel, SprtState
from matches.campaigns import forecasting, judging
from matches.campaigns.sprt import read_test
from matches.campaigns.starting import IS_SPRT, SPRT_DEFAULTS, start
from matches.errors import BadInputError
from matches.ledger.naming import describe_unknown, find_agent
from matches.ledger.tournaments import open_leaderboard
from matches.models import Agent, Campaign, Leaderboard
from matches.plans import CampaignPlan
from matches.ratings.entrants import entrants_of
from matches.ratings.evidence import gather_all_evidence


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
class Standing:
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


def pair_of(game: str, candidate: str, baseline: str) -> tuple[Agent, Agent]:
    """Return two agents by name, of this game or the only one. Raises BadInputError."""
    first, second = _agent("candidate", candidate, game), _agent("baseline", baseline, game)
    if first.game != second.game:
        played = f"{candidate!r} plays {first.game}, {baseline!r} plays {second.game}"
        raise BadInputError("baseline", f"{played}: name two agents of one game, or give --game")
    if first == second:
        raise BadInputError("baseline", f"{baseline!r} is the candidate itself")
    return first, second


@transaction.atomic
def enter(
    candidate: Agent, baseline: Agent, bounds: Bounds, *, leaderboard: str, max_matches: int
) -> Campaign:
    """Return the test of this pair: decided before, under way, or with a new budget.

    Its evidence are all blocks of the two on the leaderboard, so a new budget is no second chance.
    """
    board = _board(candidate.game, leaderboard)
    plan = CampaignPlan(
        name=f"{candidate.name} against {baseline.name}"[:120],
        question=IS_SPRT,
        max_matches=max_matches,
        parameters=bounds.parameters,
    )
    found = _before(board, (candidate, baseline), bounds)
    return found or start(plan, leaderboard=board, agents=[candidate, baseline])


def standing(campaign: Campaign, *, n_reused: int) -> Standing:
    """Return where a test stands now."""
    counts = judging.count_test_blocks(campaign, entrants_of(campaign.tournament))
    return Standing(campaign, read_test(campaign.parameters).state(counts), counts, n_reused)


def left(campaign: Campaign, *, now: datetime) -> dict[str, Any] | None:
    """Return what a test will still take; None once it is decided."""
    found = standing(campaign, n_reused=0)
    if found.decision is not Decision.CONTINUE:
        return None
    board, pair = campaign.tournament.leaderboard, entrants_of(campaign.tournament)
    evidence = gather_all_evidence(board, pair)
    return forecasting.forecast_test(campaign, evidence, found.counts, now=now)


def _before(board: Leaderboard, pair: tuple[Agent, Agent], bounds: Bounds) -> Campaign | None:
    """Return the test of this pair that is decided or under way."""
    asked = Campaign.objects.filter(question=IS_SPRT, tournament__leaderboard=board)
    ours = asked.filter(tournament__agents=pair[0]).filter(tournament__agents=pair[1])
    for campaign in ours.select_related("tournament__leaderboard").order_by("pk"):
        is_same = Bounds(**campaign.parameters) == bounds
        order = entrants_of(campaign.tournament)
        is_live = campaign.decided_at is None or campaign.why == "decided"
        if is_same and is_live and order == [agent.pk for agent in pair]:
            return campaign
    return None


def _board(game: str, name: str) -> Leaderboard:
    wanted = name or f"gate-{game.replace('_', '-')}"
    found = Leaderboard.objects.filter(name=wanted).first()
    if found is None:
        if name:
            raise BadInputError("leaderboard", f"there is none named {name!r}")
        found = open_leaderboard(wanted, game=game, title=f"Gate: {games.get(game).spec.title}")
    if found.game != game:
        raise BadInputError("leaderboard", f"{wanted!r} is of {found.game}, not of {game}")
    return found


def _agent(field: str, name: str, game: str) -> Agent:
    named = Agent.objects.filter(name=name)
    found = list((named.filter(game=game) if game else named).order_by("pk")[:2])
    if not found:
        return _spelled(field, name, game)
    if len(found) > 1:
        played = " and ".join(agent.game for agent in found)
        raise BadInputError(field, f"{name!r} plays {played}: choose one with --game")
    return found[0]


def _spelled(field: str, name: str, game: str) -> Agent:
    """Return the agent that is spelled or named by a hash; one that is spelled is registered."""
    if not game:
        raise BadInputError(field, describe_unknown(name))
    try:
        return find_agent(name, game=game)
    except (ArenaError, BadInputError) as error:
        reason = error.args[0].removeprefix("agents: ")
        raise BadInputError(field, reason) from error
