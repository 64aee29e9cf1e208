"""Why a tournament stands where it stands."""

from datetime import datetime

from matches.ledger import pairing_warnings
from matches.ledger.code_versions import is_held
from matches.models import Agent, Campaign, Checkpoint, Order, Tournament
from matches.operations.explanations.busy_nodes import list_busy_nodes
from matches.operations.explanations.next_verdict import describe_next_verdict
from matches.operations.explanations.presence import (
    describe_check,
    list_held,
    read_presence,
)
from matches.store import selectors
from matches.store.clock import foresee_moment
from matches.store.explanation import Explanation, Finding
from matches.store.formats import age_s, format_ago, format_count, format_since
from matches.store.match_needs import list_pending_needs
from matches.store.plugin_files import list_files

MAX_NAMED = 3
"""Checkpoints that are named; the others are counted."""
ENDS = "it is done when every match has ended"


def of_tournament(tournament: Tournament, *, now: datetime) -> Explanation:
    """Return what a tournament waits for and what happens next."""
    finding = _explain_state(tournament, now)
    # Without the code of its agents nothing of it is planned or sent.
    is_stuck = tournament.state not in Tournament.OVER and is_held(tournament)
    code = [f"code that is not here ({tournament.problem})"] if is_stuck else []
    notes = _list_notes(tournament)
    # A campaign plans as it judges: its tournament waits for what the next verdict needs.
    campaign = Campaign.objects.filter(tournament=tournament, decided_at=None).first()
    if campaign is not None and tournament.state not in Tournament.OVER:
        campaign.tournament = tournament
        to_come = describe_next_verdict(campaign, now=now)
        finding.next, finding.next_at = to_come.next, to_come.next_at
        notes += to_come.notes
    if is_stuck:
        finding.next = "once its code is here, control plans and sends the rest"
    # How long somebody takes to bring the code, to resume it or to release an agent, nobody knows.
    if is_stuck or finding.is_stalled:
        finding.next_at = None
    return Explanation(
        subject="tournament",
        id=tournament.pk,
        name=tournament.name,
        state=tournament.state,
        since=finding.since,
        age_s=age_s(finding.since, now=now),
        summary=finding.summary,
        waits_for=(*code, *finding.waits_for),
        next=finding.next,
        next_at=finding.next_at,
        notes=tuple(notes),
    )


def _explain_state(tournament: Tournament, now: datetime) -> Finding:
    since = tournament.finished_at
    match tournament.state:
        case Tournament.State.SCHEDULED:
            return _explain_scheduled(tournament, now)
        case Tournament.State.PAUSED:
            return _explain_paused(tournament)
        case Tournament.State.DONE:
            ended = f"done{format_ago(since, now=now)}: {_format_share(tournament)}"
            return Finding(ended, since=since)
        case Tournament.State.CANCELLED:
            why = f": {tournament.problem}" if tournament.problem else ""
            return Finding(f"cancelled{format_ago(since, now=now)}{why}", since=since)
    finding = _explain_running(tournament, now)
    if tournament.state == Tournament.State.PLANNING:
        share = f"{tournament.n_planned:,} of {tournament.n_matches:,} matches are planned"
        finding.summary = f"{finding.summary}; {share}"
    return finding


def _explain_scheduled(tournament: Tournament, now: datetime) -> Finding:
    presence = read_presence(now=now)
    checking = Checkpoint.objects.filter(
        agents__tournaments=tournament, state=Checkpoint.State.CHECKING
    ).distinct()
    checks = [describe_check(c, presence) for c in checking.order_by("pk")[:MAX_NAMED]]
    n_more = checking.count() - len(checks) if len(checks) == MAX_NAMED else 0
    more = [f"the checks of {format_count(n_more, 'more checkpoint')}"] if n_more else []
    return Finding(
        since=tournament.created_at,
        summary=f"scheduled{format_since(tournament.created_at, now=now)}: no match is planned yet",
        waits_for=[*checks, *more] or presence.list_missing_control(),
        next="control plans its matches",
    )


def _explain_running(tournament: Tournament, now: datetime) -> Finding:
    presence = read_presence(now=now)
    n_in_flight = _count_in_flight(tournament)
    waiting, files = list_pending_needs(tournament.pk), list_files(tournament)
    game = tournament.leaderboard.game
    missing = dict.fromkeys(
        text for n in waiting for text in presence.list_missing(n, files, game=game)
    )
    # While it holds slots itself it goes on.
    busy = [] if n_in_flight else presence.list_busy_servers(waiting, game=game)
    held = list_held(Agent.objects.filter(tournaments=tournament))
    # A pace of before says nothing of the end where nothing is played.
    is_stalled = bool(held or (missing and not n_in_flight))
    end = None if is_stalled else _forecast_end(tournament, now)
    return Finding(
        since=tournament.started_at,
        summary=f"{tournament.shown_state}{format_since(tournament.started_at, now=now)}: "
        f"{_format_ended(tournament)}, {n_in_flight:,} {_is_or_are(n_in_flight)} with nodes",
        waits_for=[
            *presence.list_missing_control(),
            *held,
            *(missing or busy or list_busy_nodes(tournament, presence)),
        ],
        next=ENDS + ("" if end is None else " at its average pace since the start"),
        next_at=end,
        is_stalled=is_stalled,
    )


def _explain_paused(tournament: Tournament) -> Finding:
    n_in_flight = _count_in_flight(tournament)
    are, their = _is_or_are(n_in_flight), "its" if n_in_flight == 1 else "their"
    still = f"; {n_in_flight:,} {are} with nodes and {are} played to {their} end"
    return Finding(
        summary=f"paused: {_format_ended(tournament)}{still if n_in_flight else ''}",
        waits_for=["somebody to resume it"],
        next="once resumed, control plans and sends the rest",
        is_stalled=True,
    )


def _count_in_flight(tournament: Tournament) -> int:
    """Return about how many matches are with nodes: orders in play may have ended some."""
    # Chosen here: by tournament SQLite would read the closed ones, too. Open orders are few.
    open_orders = Order.objects.filter(Order.is_open()).values_list("tournament", "n_matches")
    n_sent = sum(n_matches for of, n_matches in open_orders if of == tournament.pk)
    return min(n_sent, tournament.n_planned - tournament.n_closed)


def _forecast_end(tournament: Tournament, now: datetime) -> datetime | None:
    elapsed_s = selectors.compute_elapsed_s(tournament, now=now)
    n_closed = tournament.n_closed
    if not n_closed or elapsed_s <= 0:
        return None
    return foresee_moment(now, elapsed_s / n_closed * (tournament.n_matches - n_closed))


def _format_share(tournament: Tournament) -> str:
    if tournament.shown_parts:
        return tournament.shown_parts
    return f"{tournament.n_closed:,} of {tournament.n_matches:,} matches"


def _format_ended(tournament: Tournament) -> str:
    have = "has" if tournament.n_closed == 1 else "have"
    return f"{_format_share(tournament)} {have} ended"


def _is_or_are(n: int) -> str:
    return "is" if n == 1 else "are"


def _list_notes(tournament: Tournament) -> list[str]:
    # Of one, and of several.
    counts = (
        (tournament.n_forfeits, "match ended by forfeit", "matches ended by forfeit"),
        (tournament.n_retried, "attempt was tried again", "attempts were tried again"),
        (tournament.n_void, "match is void", "matches are void"),
        (tournament.n_replaced, "void match is played again", "void matches are played again"),
        (
            tournament.n_refused,
            "report changed nothing: it came late (as after a cancel), doubled or without a token",
            "reports changed nothing: they came late (as after a cancel), doubled or without a "
            "token",
        ),
        (
            tournament.n_differing,
            "match came out otherwise than the same game before",
            "matches came out otherwise than the same games before",
        ),
    )
    budget = pairing_warnings.warn_of_budget(tournament)
    notes = [f"{n:,} {singular if n == 1 else plural}" for n, singular, plural in counts if n]
    return notes + ([budget] if budget else [])
