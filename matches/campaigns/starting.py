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
from arena.verdicts.base import check_field as check_n_agents
from arena.verdicts.sprt import EloModel
from matches.artifacts.agents import to_bad_input
from matches.campaigns.inputs import convert_margin, make_title
from matches.campaigns.score_campaigns import check_scores
from matches.campaigns.sprt import read_test
from matches.errors import BadInputError
from matches.ledger.tournaments import check_field, schedule_tournament
from matches.models import Agent, Campaign, Leaderboard, Tournament
from matches.models.choices import SPRT
from matches.models.tournament import MAX_MATCHES
from matches.plans import CampaignPlan, TournamentPlan, columns_of
from matches.ratings.evidence import KnownCounts, gather_evidence

IS_SPRT = SPRT[0]
SPRT_DEFAULTS: Mapping[str, Value] = {
    **{"elo0": 0.0, "elo1": 20.0, "alpha": 0.05, "beta": 0.05},
    "model": EloModel.LOGISTIC.value,
}
# Parameters of a question that name agents; stored as positions.
NAMED = ("a", "b")


@transaction.atomic
def start_campaign(
    plan: CampaignPlan, *, leaderboard: Leaderboard, agents: Sequence[Agent]
) -> Campaign:
    """Return a new campaign, which starts from all that is known of the agents in this game.

    That is what comparable leaderboards know, this one included; see matches.ratings.evidence.

    Raises BadInputError naming the field that is refused.
    """
    parameters = check_plan(plan, leaderboard=leaderboard, agents=agents)
    # Locked: of two of a game that start at the same time, each has a seed of its own.
    first = Leaderboard.objects.filter(game=leaderboard.game).order_by("pk")
    first.select_for_update().values_list("pk").first()
    tournament_plan = _plan_tournament(plan, parameters, leaderboard, len(agents))
    tournament = schedule_tournament(tournament_plan, leaderboard=leaderboard, agents=agents)
    at_start = count_known(leaderboard, agents)
    columns = {name: getattr(plan, name) for name in columns_of(CampaignPlan, Campaign)}
    columns |= {"margin": convert_margin(plan, leaderboard), "parameters": parameters}
    if plan.margin_score is not None:
        # It goes by its own episodes only.
        columns["is_by_scores"], at_start = True, KnownCounts(0, 0)
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


def check_plan(
    plan: CampaignPlan, *, leaderboard: Leaderboard, agents: Sequence[Agent]
) -> dict[str, Value]:
    """Return the parameters of the question with their defaults. Raises BadInputError."""
    margin = _check_terms(plan, leaderboard)
    if plan.question == IS_SPRT:
        return _check_test(plan, leaderboard, agents)
    try:
        check_n_agents(len(agents))
    except ArenaError as error:
        raise BadInputError("agents", str(error)) from error
    question = questions.get(plan.question)
    replaced = _replace_names(plan.parameters, agents)
    try:
        parameters = read_parameters(plan.question, question.parameters, replaced)
        _refuse_one_alone(plan.parameters)
        _refuse_same_agent(parameters, agents)
        question.check(Terms(plan.error, margin, parameters), len(agents))
    except ArenaError as error:
        raise BadInputError("parameters", str(error)) from error
    if plan.margin_score is not None:
        check_scores(plan, parameters, leaderboard, len(agents))
    _check_budget(plan, parameters, leaderboard, len(agents))
    return dict(parameters)


def _check_terms(plan: CampaignPlan, leaderboard: Leaderboard) -> float:
    """Return the margin; refuse an unknown question first, then limits out of range.

    Raises BadInputError.
    """
    choices = (*questions.names(), IS_SPRT)
    if plan.question not in choices:
        problem = f"unknown question {plan.question!r}: choose one of {', '.join(choices)}"
        raise BadInputError("question", problem)
    margin = convert_margin(plan, leaderboard)
    if not 1 <= plan.max_matches <= MAX_MATCHES:
        raise BadInputError("max_matches", f"must be 1..{MAX_MATCHES}, got {plan.max_matches}")
    # One at a time, so that the field that is refused is named.
    terms: dict[str, Any] = {"error": plan.error, "margin": margin}
    for name, value in terms.items():
        try:
            Terms(**{name: value})
        except ArenaError as error:
            raise BadInputError(name, str(error)) from error
    return margin


def _check_budget(
    plan: CampaignPlan, parameters: Mapping[str, Value], leaderboard: Leaderboard, n_agents: int
) -> None:
    """Refuse a pairing that cannot come to its end. Raises BadInputError naming our fields."""
    tournament_plan = _plan_tournament(plan, parameters, leaderboard, n_agents)
    try:
        check_field(tournament_plan, leaderboard, n_agents)
    except BadInputError as error:
        if error.field != "n_matches":
            raise
        raise BadInputError("max_matches", error.reason) from error


def count_known(leaderboard: Leaderboard, agents: Sequence[Agent]) -> KnownCounts:
    """Return how many matches of these agents among each other a campaign would start from.

    Of each tournament those up to its first open match: see closed_prefix.
    """
    entered = [agent.pk for agent in agents]
    return gather_evidence(leaderboard, entered).known


def choose_seed(leaderboard: Leaderboard) -> int:
    """Return a seed that no tournament of the leaderboard's game has, on whatever leaderboard."""
    # A seed decides the games of a block: one in use would give games that are known already.
    planned = Tournament.objects.filter(leaderboard__game=leaderboard.game)
    highest = planned.aggregate(highest=Max("seed"))["highest"]
    return 0 if highest is None else int(highest) + 1


def choose_pairing_of(
    plan: CampaignPlan, parameters: Mapping[str, Value], leaderboard: Leaderboard, n_agents: int
) -> tuple[str, Mapping[str, Value]]:
    """Return the pairing of a plan with its parameters, or the default of its question."""
    if plan.pairing:
        return plan.pairing, plan.pairing_parameters
    n_seats = games.get(leaderboard.game).spec.n_seats
    pairing, its_own = choose_pairing(plan.question, parameters, n_agents=n_agents, n_seats=n_seats)
    return pairing, {**its_own, **plan.pairing_parameters}


def _plan_tournament(
    plan: CampaignPlan, parameters: Mapping[str, Value], leaderboard: Leaderboard, n_agents: int
) -> TournamentPlan:
    pairing, pairing_parameters = choose_pairing_of(plan, parameters, leaderboard, n_agents)
    return TournamentPlan(
        name=plan.name or make_title(plan.question, leaderboard, n_agents),
        n_matches=plan.max_matches,
        pairing=pairing,
        pairing_parameters=dict(pairing_parameters),
        seed=choose_seed(leaderboard) if plan.seed is None else plan.seed,
        move_s=plan.move_s,
        match_s=plan.match_s,
        weight=plan.weight,
        is_paused=plan.is_paused,
    )


def _check_test(
    plan: CampaignPlan, leaderboard: Leaderboard, agents: Sequence[Agent]
) -> dict[str, Value]:
    if plan.margin_score is not None:
        raise BadInputError("margin_score", f"{plan.question} compares ratings: give none")
    n_seats = games.get(leaderboard.game).spec.n_seats
    if len(agents) != COUPLE or n_seats != COUPLE:
        rule = f"{plan.question} compares two agents in a game of two seats"
        raise BadInputError("agents", f"{rule}, got {len(agents)} agents and {n_seats} seats")
    unknown = sorted(set(plan.parameters) - set(SPRT_DEFAULTS))
    if unknown:
        names = ", ".join(SPRT_DEFAULTS)
        raise BadInputError("parameters", f"{unknown[0]!r} is none of {names}")
    try:
        test = read_test({**SPRT_DEFAULTS, **plan.parameters})
    except (ArenaError, ValueError, TypeError) as error:
        raise BadInputError("parameters", str(error)) from error
    floats = {name: float(getattr(test, name)) for name in ("elo0", "elo1", "alpha", "beta")}
    return {**floats, "model": test.model.value}


def _refuse_one_alone(given: Mapping[str, object]) -> None:
    """Raise BadInputError where one agent is named: whom it is compared with would be by chance."""
    named = [name for name in NAMED if name in given]
    if len(named) == 1:
        problem = f"{named[0]} is there alone: give both {' and '.join(NAMED)}"
        raise BadInputError("parameters", problem)


def _refuse_same_agent(parameters: Mapping[str, Value], agents: Sequence[Agent]) -> None:
    """Raise BadInputError naming the agent that is to be compared with itself."""
    first, second = (parameters.get(name) for name in NAMED)
    if isinstance(first, int) and first == second and 0 <= first < len(agents):
        name = f"got {agents[first].name!r} as both"
        raise BadInputError("parameters", f"{' and '.join(NAMED)} must be two agents, {name}")


def _replace_names(
    parameters: Mapping[str, object], agents: Sequence[Agent]
) -> Mapping[str, object]:
    """Return the parameters with the names of agents as their positions. Raises BadInputError."""
    positions = {agent.name: position for position, agent in enumerate(agents)}
    replaced = dict(parameters)
    for name in NAMED:
        value = replaced.get(name)
        # A position may be given as it is, also as the text of a number.
        if isinstance(value, str) and not value.isdecimal():
            if value not in positions:
                raise BadInputError("parameters", f"{name}: {value!r} is none of the entrants")
            replaced[name] = positions[value]
    return replaced
