"""Schedule, pause, resume, extend and cancel tournaments."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Case, F, Q, QuerySet, Value, When
from msgspec.structs import asdict

from arena.errors import ArenaError, ParameterError
from arena.games import registry as games
from arena.pairing import registry as pairings
from arena.pairing.base import MIN_AGENTS, Field, PairingError
from matches import dispatch
from matches.errors import BadInputError, ConflictError
from matches.ledger.code_versions import (
    adopt_rules,
    describe_outdated_agent,
    describe_outdated_board,
)
from matches.models import (
    IMPORTED,
    Agent,
    BegunMatch,
    Campaign,
    Checkpoint,
    Entrant,
    ImportBatch,
    Leaderboard,
    Match,
    Order,
    Rating,
    Tournament,
)
from matches.models.tournament import MAX_MATCHES
from matches.models.validation import find_first_refusal
from matches.plans import TournamentPlan
from matches.store import selectors
from matches.store.bulk import among
from matches.store.catalog import game_problem, policy_problem
from matches.store.locks import lock_matches_in_flight, lock_orders

_STATES = Tournament.State
MOST_NAMED = 10


def open_leaderboard(
    name: str,
    *,
    game: str,
    game_parameters: Mapping[str, object] | None = None,
    title: str = "",
    opening_plies: int | None = None,
    is_rated: bool = True,
    is_listed: bool = True,
) -> Leaderboard:
    """Return a new leaderboard. Raises BadInputError naming the field that is refused."""
    board = Leaderboard(
        name=name,
        title=title,
        game=game,
        game_parameters=dict(game_parameters or {}),
        opening_plies=opening_plies,
        is_rated=is_rated,
        is_listed=is_listed,
    )
    _clean_row(board)
    try:
        with transaction.atomic():
            board.save()
    except IntegrityError as error:
        # Somebody else may have opened one of that name since it was looked for.
        if not Leaderboard.objects.filter(name=name).exists():
            raise
        problem = f"there is a leaderboard {name!r} already: choose another name"
        raise BadInputError("name", problem) from error
    return board


@transaction.atomic
def schedule_tournament(
    plan: TournamentPlan, *, leaderboard: Leaderboard, agents: Sequence[Agent]
) -> Tournament:
    """Return a new tournament that control will plan and play.

    Raises BadInputError: fewer than two agents, one twice, or one of another game. Unrated, one
    agent alone plays itself in every seat.
    """
    check_agents(leaderboard, agents, is_rated=plan.is_rated)
    check_field(plan, leaderboard, len(agents))
    adopt_rules(leaderboard)
    tournament = build_row(plan, leaderboard)
    _clean_row(tournament)
    tournament.save()
    # The position is the index that the pairing knows an agent by.
    Entrant.objects.bulk_create(
        Entrant(tournament=tournament, agent=agent, position=position)
        for position, agent in enumerate(agents)
    )
    if plan.is_rated:
        enter_agents(leaderboard, agents)
    transaction.on_commit(dispatch.wake_planner)
    return tournament


def check_plan(plan: TournamentPlan, *, leaderboard: Leaderboard) -> None:
    """Refuse a plan that cannot be one of this leaderboard. Raises BadInputError."""
    _clean_row(build_row(plan, leaderboard))


def build_row(plan: TournamentPlan, leaderboard: Leaderboard) -> Tournament:
    """Return the row of a plan, not stored."""
    columns = asdict(plan)
    state = _STATES.PAUSED if columns.pop("is_paused") else _STATES.SCHEDULED
    return Tournament(leaderboard=leaderboard, state=state, **columns)


def check_agents(
    leaderboard: Leaderboard, agents: Sequence[Agent], *, is_rated: bool = True
) -> None:
    """Refuse agents that cannot meet on this leaderboard. Raises BadInputError."""
    if problem := game_problem(leaderboard.game):
        raise BadInputError("leaderboard", f"{leaderboard.name!r} cannot be played: {problem}")
    if problem := describe_outdated_board(leaderboard, is_new=True):
        raise BadInputError("leaderboard", problem)
    n_needed = max(MIN_AGENTS, games.get(leaderboard.game).spec.n_seats)
    is_self_play = len(agents) == 1 and not is_rated
    if len(agents) < n_needed and not is_self_play:
        raise BadInputError(
            "agents",
            f"a tournament of {leaderboard.game} needs {n_needed} agents or more, "
            f"got {len(agents)}",
        )
    _refuse_misfits(leaderboard, agents)
    entered = Agent.objects.filter(pk__in=among([agent.pk for agent in agents]))
    refuse_unusable(entered)
    refuse_outdated(entered)


def _refuse_misfits(leaderboard: Leaderboard, agents: Sequence[Agent]) -> None:
    """Refuse agents of another game, those entered twice and those that may enter nowhere now."""
    # First: an agent of another game may have the name of one of these.
    for agent in agents:
        if agent.game != leaderboard.game:
            raise BadInputError(
                "agents",
                f"{agent.name!r} plays {agent.game}, the leaderboard is of {leaderboard.game}",
            )
    n_entered = Counter(agent.name for agent in agents)
    if twice := sorted(name for name, n in n_entered.items() if n > 1):
        names = f"{', '.join(twice[:MOST_NAMED])}{' and more' if twice[MOST_NAMED:] else ''}"
        raise BadInputError("agents", f"self-play is not rated: {names} entered twice")
    for agent in agents:
        if refusal := _describe_absence(agent):
            raise BadInputError("agents", f"{agent.name!r} {refusal}")


def _describe_absence(agent: Agent) -> str:
    """Return why an agent may enter no tournament now; empty when it may."""
    if agent.policy == IMPORTED:
        return f"cannot enter: {policy_problem(IMPORTED)}"
    if agent.is_retired:
        return "is retired"
    return "" if agent.quarantined_at is None else "is in quarantine: release it first"


def check_field(plan: TournamentPlan, leaderboard: Leaderboard, n_agents: int) -> None:
    """Refuse a pairing that cannot pair so many agents, or not to its end. Raises BadInputError."""
    if plan.pairing not in pairings.adaptive_names():
        return
    n_seats = games.get(leaderboard.game).spec.n_seats
    try:
        pairing = pairings.get_adaptive(plan.pairing).configured(plan.pairing_parameters)
        field = Field(n_agents=n_agents, n_seats=n_seats)
        refusal = pairing.refusal(field)
    except ParameterError as error:
        raise BadInputError("pairing_parameters", str(error)) from error
    except PairingError as error:
        raise BadInputError("agents", str(error)) from error
    if refusal is not None:
        raise BadInputError("pairing", f"{plan.pairing} cannot pair {leaderboard.game}: {refusal}")
    if plan.n_matches < (least := pairing.least_blocks(field) * n_seats):
        raise BadInputError(
            "n_matches",
            f"{pairing.title} of {n_agents:,} agents needs {least:,} matches at least to reach "
            f"{pairing.goal}, got {plan.n_matches:,}: plan more, or choose another pairing",
        )


def refuse_unusable(agents: QuerySet[Agent]) -> None:
    """Raise BadInputError when the checkpoint of one of the agents was refused."""
    refused = agents.filter(checkpoint__state=Checkpoint.State.REFUSED)
    for agent in refused.select_related("checkpoint")[:1]:
        reason = agent.checkpoint.reason if agent.checkpoint else ""
        raise BadInputError("agents", f"the checkpoint of {agent.name!r} was refused: {reason}")


def refuse_outdated(agents: QuerySet[Agent]) -> None:
    """Raise BadInputError when the code of one of the agents is not here, or not any more."""
    try:
        problem = describe_outdated_agent(agents, is_new=True)
    except ArenaError as error:
        raise BadInputError("agents", str(error)) from error
    if problem:
        raise BadInputError("agents", problem)


@transaction.atomic
def enter_agents(leaderboard: Leaderboard, agents: Sequence[Agent]) -> None:
    """Put the agents on the leaderboard with the prior as their rating."""
    # Locked until the commit: whoever strikes an import takes agents off that nobody entered.
    list(Leaderboard.objects.select_for_update().filter(pk=leaderboard.pk).values_list("pk"))
    # Two tournaments may enter the same agent at once: the row that is there stays.
    Rating.objects.bulk_create(
        (Rating(leaderboard=leaderboard, agent=agent) for agent in agents), ignore_conflicts=True
    )


@transaction.atomic
def cancel_tournament(tournament: Tournament, *, now: datetime) -> int:
    """Cancel every match that is still open; return how many. Later results are refused."""
    return _stop_tournament(tournament, _STATES.CANCELLED, now=now)


@transaction.atomic
def conclude_tournament(tournament: Tournament, *, now: datetime) -> int:
    """End a tournament that has answered its question; return how many matches it cancels."""
    n_cancelled = _stop_tournament(tournament, _STATES.DONE, now=now)
    Tournament.objects.filter(pk=tournament.pk).update(n_matches=F("n_planned"))
    return n_cancelled


def _stop_tournament(tournament: Tournament, state: Tournament.State, *, now: datetime) -> int:
    going_on = Tournament.objects.filter(pk=tournament.pk).exclude(state__in=Tournament.OVER)
    if not going_on.exists():
        return 0
    # In the order of matches.store.locks; what is planned meanwhile is found after the state.
    orders = lock_orders(selectors.list_open_orders(tournament.pk))
    lock_matches_in_flight([order.pk for order in orders])
    n_cancelled = _cancel_open_matches(tournament)
    if not going_on.update(state=state, finished_at=now):
        return 0
    n_cancelled += _cancel_open_matches(tournament)
    open_orders = Order.objects.filter(pk__in=among([order.pk for order in orders]))
    open_orders.update(state=Order.State.CLOSED, closed_at=now)
    Tournament.objects.filter(pk=tournament.pk).update(n_cancelled=F("n_cancelled") + n_cancelled)
    transaction.on_commit(dispatch.wake_rater)
    return n_cancelled


def _cancel_open_matches(tournament: Tournament) -> int:
    return Match.objects.filter(
        Match.is_open(),
        leaderboard=tournament.leaderboard_id,  # by which the index of open matches begins
        tournament=tournament,
        state__in=Match.sources(Match.State.CANCELLED),
    ).update(state=Match.State.CANCELLED, order=None)


@transaction.atomic
def pause_tournament(tournament: Tournament) -> None:
    """Send no more of its matches; those sent already are played to their end.

    Pausing a paused one changes nothing. Raises ConflictError for one that is over or imported.
    """
    refuse_imported([tournament.pk])
    _move_state(tournament, "paused", Value(_STATES.PAUSED.value), Tournament.UNDER_WAY)


@transaction.atomic
def resume_tournament(tournament: Tournament, *, now: datetime) -> None:
    """Go on with a paused tournament, or start one that was scheduled so.

    Resuming one that is under way changes nothing. Raises ConflictError for one that is over.
    """
    next_state = Case(
        When(~Q(state=_STATES.PAUSED), then=F("state")),
        When(n_planned=0, then=Value(_STATES.SCHEDULED.value)),
        When(n_planned__lt=F("n_matches"), then=Value(_STATES.PLANNING.value)),
        default=Value(_STATES.RUNNING.value),
    )
    _move_state(tournament, "resumed", next_state, Tournament.UNDER_WAY)
    finish_if_closed([tournament.pk], now=now)
    transaction.on_commit(dispatch.wake_planner)
    transaction.on_commit(dispatch.wake_relay)


@transaction.atomic
def extend_tournament(tournament: Tournament, n_matches: int) -> None:
    """Let a tournament have so many matches in all; one that was done goes on.

    As many as it has changes nothing. Raises BadInputError for fewer or too many, ConflictError
    when it is cancelled or was imported.
    """
    if n_matches > MAX_MATCHES:
        raise BadInputError("n_matches", f"at most {MAX_MATCHES} can be played, got {n_matches}")
    refuse_imported([tournament.pk])
    going_on = Case(
        When(state__in=(_STATES.RUNNING, _STATES.DONE), then=Value(_STATES.PLANNING.value)),
        default=F("state"),
    )
    campaigns = Campaign.objects.filter(tournament=tournament)
    if campaigns.filter(decided_at__isnull=False).exists():
        # A verdict stays as it is.
        advice = "start a new one, which begins from all that is known"
        raise ConflictError(f"the campaign of tournament {tournament.pk} has ended: {advice}")
    campaigns.filter(max_matches__lt=n_matches).update(max_matches=n_matches)
    shorter = Tournament.objects.filter(pk=tournament.pk, n_matches__lt=n_matches)
    shorter = shorter.exclude(state=_STATES.CANCELLED)
    if not shorter.update(n_matches=n_matches, state=going_on, finished_at=None):
        tournament.refresh_from_db()
        if tournament.state == _STATES.CANCELLED:
            raise ConflictError(f"tournament {tournament.pk} is cancelled: schedule a new one")
        if n_matches < tournament.n_matches:
            advice = f"it has {tournament.n_matches} matches: say how many it shall have in all"
            raise BadInputError("n_matches", f"{advice}, got {n_matches}")
    transaction.on_commit(dispatch.wake_planner)


def refuse_imported(tournaments: Collection[int]) -> None:
    """Raise ConflictError where the matches of one of these tournaments were played elsewhere."""
    batch = ImportBatch.objects.filter(tournament__in=tournaments).first()
    if batch is not None:
        raise ConflictError(f"{batch}: its matches were played elsewhere, and are played by nobody")


def _move_state(
    tournament: Tournament,
    verb: str,
    state: Case | Value,
    states: Sequence[Tournament.State],
) -> None:
    """Give a tournament that is in one of the states its next one. Raises ConflictError."""
    if not Tournament.objects.filter(pk=tournament.pk, state__in=states).update(state=state):
        tournament.refresh_from_db()
        raise ConflictError(
            f"tournament {tournament.pk} is {tournament.state}: it cannot be {verb} any more"
        )


def finish_if_closed(tournament_ids: Sequence[int], *, now: datetime) -> None:
    """Mark tournaments as done whose matches are all planned and closed."""
    n_finished = Tournament.objects.filter(
        pk__in=tournament_ids,
        state__in=(_STATES.RUNNING, _STATES.PAUSED),
        n_planned=F("n_done") + F("n_void") + F("n_cancelled"),
        # Between two slices of planning the counters agree, too: only the last one is the end.
        n_matches=F("n_planned"),
    ).update(state=_STATES.DONE, finished_at=now)
    if n_finished:
        # Of matches that were given up or cancelled meanwhile.
        begun = BegunMatch.objects.filter(match__tournament__in=tournament_ids)
        begun.filter(match__tournament__state=_STATES.DONE).delete()


def _clean_row(row: Leaderboard | Tournament) -> None:
    try:
        row.full_clean()
    except ValidationError as error:
        raise BadInputError(*find_first_refusal(error)) from error
