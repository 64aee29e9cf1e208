"""Start a campaign: check the question against the field, schedule its tournament."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max

from arena.errors import ArenaError
from arena.games import registry as games
from arena.pairing.base import COUPLE
from arena.pairing.registry import choose_pairing
from arena.parameters import Value, read_parameters
from arena.verdicts import registry as questions
from arena.verdicts.base import Terms
from arena.verdicts.sprt import EloModel
from matches.artifacts.agents import to_bad_input
from matches.campaigns.inputs import margin_of, title
from matches.campaigns.sprt import read_test
from matches.errors import BadInputError
from matches.ledger.tournaments import schedule_tournament
from matches.models import Agent, Campaign, Leaderboard, Tournament
from matches.models.choices import SPRT
from matches.models.tournament import MAX_MATCHES
from matches.plans import CampaignPlan, TournamentPlan, columns_of
from matches.ratings.evidence import Known, gather_evidence

IS_SPRT = SPRT[0]
SPRT_DEFAULTS: Mapping[str, Value] = {
    **{"elo0": 0.0, "elo1": 20.0, "alpha": 0.05, "beta": 0.05},
    "model": EloModel.LOGISTIC.value,
}
# Parameters of a question that name agents; stored as positions.
NAMED = ("a", "b")


@transaction.atomic
def start(plan: CampaignPlan, *, leaderboard: Leaderboard, agents: Sequence[Agent]) -> Campaign:
    """Return a new campaign, which starts from all that is known of the agents in this game.

    That is what comparable leaderboards know, this one included; see matches.ratings.evidence.

    Raises BadInputError naming the field that is refused.
    """
    parameters = checked(plan, leaderboard=leaderboard, agents=agents)
    # Locked: of two of a game that start at the same time, each has a seed of its own.
    first = Leaderboard.objects.filter(game=leaderboard.game).order_by("pk")
    first.select_for_update().values_list("pk").first()
    wanted = _tournament(plan, parameters, leaderboard, len(agents))
    tournament = schedule_tournament(wanted, leaderboard=leaderboard, agents=agents)
    at_start = known_of(leaderboard, agents)
    columns = {name: getattr(plan, name) for name in columns_of(CampaignPlan, Campaign)}
    columns |= {"margin": margin_of(plan, leaderboard), "parameters": parameters}
    campaign = Campaign(
        tournament=tournament,
        **columns,
        n_known=at_start.n_matches,
        n_known_elsewhere=at_start.n_elsewhere,
    )
    try:
        campaign.full_clean(exclude=("tournament",))
    except ValidationError as error:
        raise to_bad_input(error) from error
    campaign.save()
    return campaign


def checked(
    plan: CampaignPlan, *, leaderboard: Leaderboard, agents: Sequence[Agent]
) -> dict[str, Value]:
    """Return the parameters of the question with their defaults. Raises BadInputError."""
    known = (*questions.names(), IS_SPRT)
    if plan.question not in known:
        wanted = f"unknown question {plan.question!r}: choose one of {', '.join(known)}"
        raise BadInputError("question", wanted)
    margin = margin_of(plan, leaderboard)
    _check_terms(plan, margin)
    if plan.question == IS_SPRT:
        return _checked_test(plan, leaderboard, agents)
    question = questions.get(plan.question)
    given = _by_position(plan.parameters, agents)
    try:
        read = read_parameters(plan.question, question.parameters, given)
        question.check(Terms(plan.error, margin, read), len(agents))
    except ArenaError as error:
        raise BadInputError("parameters", str(error)) from error
    return dict(read)


def _check_terms(plan: CampaignPlan, margin: float) -> None:
    """Refuse a budget, error or margin that no campaign can keep to. Raises BadInputError."""
    if not 1 <= plan.max_matches <= MAX_MATCHES:
        raise BadInputError("max_matches", f"must be 1..{MAX_MATCHES}, got {plan.max_matches}")
    tried: dict[str, Any] = {"error": plan.error, "margin": margin}
    for name, value in tried.items():
        try:
            Terms(**{name: value})
        except ArenaError as error:
            raise BadInputError(name, str(error)) from error


def known_of(leaderboard: Leaderboard, agents: Sequence[Agent]) -> Known:
    """Return how many matches of these agents among each other a campaign would start from.

    Of each tournament those up to its first open match: see closed_prefix.
    """
    entered = [agent.pk for agent in agents]
    return gather_evidence(leaderboard, entered).known


def fresh_seed(leaderboard: Leaderboard) -> int:
    """Return a seed that no tournament of the leaderboard's game has, on whatever leaderboard."""
    planned = Tournament.objects.filter(leaderboard__game=leaderboard.game)
    highest = planned.aggregate(highest=Max("seed"))["highest"]
    return 0 if highest is None else int(highest) + 1


def _tournament(
    plan: CampaignPlan, asked: Mapping[str, Value], leaderboard: Leaderboard, n_agents: int
) -> TournamentPlan:
    pairing, parameters = plan.pairing, plan.pairing_parameters
    if not pairing:
        pairing, its_own = choose_pairing(plan.question, asked)
        parameters = {**its_own, **parameters}
    return TournamentPlan(
        name=plan.name or title(plan.question, leaderboard, n_agents),
        n_matches=plan.max_matches,
        pairing=pairing,
        pairing_parameters=dict(parameters),
        seed=fresh_seed(leaderboard) if plan.seed is None else plan.seed,
        move_s=plan.move_s,
        match_s=plan.match_s,
        weight=plan.weight,
        is_paused=plan.is_paused,
    )


def _checked_test(
    plan: CampaignPlan, leaderboard: Leaderboard, agents: Sequence[Agent]
) -> dict[str, Value]:
    n_seats = games.get(leaderboard.game).spec.n_seats
    if len(agents) != COUPLE or n_seats != COUPLE:
        wanted = f"{plan.question} compares two agents in a game of two seats"
        raise BadInputError("agents", f"{wanted}, got {len(agents)} agents and {n_seats} seats")
    unknown = sorted(set(plan.parameters) - set(SPRT_DEFAULTS))
    if unknown:
        known = ", ".join(SPRT_DEFAULTS)
        raise BadInputError("parameters", f"{unknown[0]!r} is none of {known}")
    wanted_parameters = {**SPRT_DEFAULTS, **plan.parameters}
    try:
        test = read_test(wanted_parameters)
    except (ArenaError, ValueError, TypeError) as error:
        raise BadInputError("parameters", str(error)) from error
    floats = {name: float(getattr(test, name)) for name in ("elo0", "elo1", "alpha", "beta")}
    return {**floats, "model": test.model.value}


def _by_position(parameters: Mapping[str, object], agents: Sequence[Agent]) -> Mapping[str, object]:
    """Return the parameters with the names of agents as their positions. Raises BadInputError."""
    positions = {agent.name: position for position, agent in enumerate(agents)}
    found = dict(parameters)
    for name in NAMED:
        given = found.get(name)
        if isinstance(given, str) and not given.isdecimal():
            if given not in positions:
                raise BadInputError("parameters", f"{name}: {given!r} is none of the entrants")
            found[name] = positions[given]
    return found
