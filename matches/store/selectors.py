"""Reads: what pages, API and commands show."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery, Sum

from arena.needs import GPU, SERVER, SERVICES, Needs, plays_matches
from matches.models import (
    Agent,
    Checkpoint,
    ImportBatch,
    Leaderboard,
    Match,
    Order,
    Rating,
    Seat,
    Tournament,
    Worker,
)
from matches.store import disk, game_servers
from matches.store.clock import ALIVE_WITHIN
from matches.store.game_servers import list_servers
from matches.store.match_needs import list_pending_needs
from matches.store.order_versions import describe_old_nodes
from matches.store.plugin_files import describe_missing_files, has_files, list_files

SHORTEST_HASH = 6
"""A hash may be given by its beginning, of so many digits at least."""


@dataclass(frozen=True)
class Progress:
    """How far a tournament is; `completed` includes forfeits, `error` is VOID."""

    n_matches: int
    completed: int
    forfeits: int
    error: int
    cancelled: int
    retried: int

    @property
    def pending(self) -> int:
        """Matches that have not ended."""
        return self.n_matches - self.completed - self.error - self.cancelled

    def line(self, elapsed_s: float) -> str:
        """Return the progress as one line."""
        closed = self.completed + self.error
        return (
            f"{closed}/{self.n_matches} - Pending: {self.pending}, Error: {self.error}, "
            f"Completed: {self.completed}, Elapsed time: {elapsed_s:.2f}"
        )


def read_progress(tournament: Tournament) -> Progress:
    """Return how far a tournament is, by the counters of its row."""
    return Progress(
        n_matches=tournament.n_matches,
        completed=tournament.n_done,
        forfeits=tournament.n_forfeits,
        error=tournament.n_void,
        cancelled=tournament.n_cancelled,
        retried=tournament.n_retried,
    )


def count_void_reasons(tournament: Tournament) -> dict[str, int]:
    """Return how many matches are VOID, by reason; those that are played again are not."""
    # By the index of closed matches, which has them by state.
    void = Match.objects.filter(
        Match.is_closed(),
        tournament=tournament,
        state=Match.State.VOID,
        replacement__isnull=True,
    )
    return dict(void.values_list("void_reason").annotate(n=Count("pk")).order_by("void_reason"))


def list_watched_tournaments(*, now: datetime) -> Sequence[Tournament]:
    """Return the tournaments under way and those that ended within the last minute."""
    active = Q(state__in=Tournament.ACTIVE)
    ended = Q(finished_at__gte=now - timedelta(minutes=1))
    return list(Tournament.objects.filter(active | ended).order_by("pk"))


def compute_elapsed_s(tournament: Tournament, *, now: datetime) -> float:
    """Return how long a tournament has been or was under way, in seconds."""
    if tournament.started_at is None:
        return 0.0
    return ((tournament.finished_at or now) - tournament.started_at).total_seconds()


def list_quarantined_agents() -> list[int]:
    """Return the agents of which no match is sent."""
    return list(Agent.objects.filter(quarantined_at__isnull=False).values_list("pk", flat=True))


def filter_matches_to_send(
    tournament_id: int, *, held_agents: Sequence[int] = ()
) -> QuerySet[Match]:
    """Return the pending matches of a tournament in which none of the held agents plays."""
    pending = Match.objects.filter(tournament=tournament_id, state=Match.State.PENDING)
    # Without anybody held, which is nearly always, no subquery per match.
    if not held_agents:
        return pending
    return pending.exclude(Exists(Seat.objects.filter(match=OuterRef("pk"), agent__in=held_agents)))


def list_alive_workers(*, now: datetime) -> Sequence[Worker]:
    """Return the play nodes that reported lately and are not in quarantine."""
    return [node for node in _list_recent(now=now) if plays_matches(node.capabilities)]


def list_alive_gpu_workers(*, now: datetime) -> Sequence[Worker]:
    """Return the gpu workers that reported lately."""
    return [worker for worker in _list_recent(now=now) if GPU in worker.capabilities]


def list_services(*, now: datetime) -> frozenset[str]:
    """Return the services that answer now; game servers, whatever they play."""
    capabilities = {str(name) for worker in _list_recent(now=now) for name in worker.capabilities}
    return frozenset(SERVICES) & capabilities


def _list_recent(*, now: datetime) -> Iterable[Worker]:
    # Chosen by their capabilities here: SQLite cannot look into a JSON list with an index.
    return Worker.objects.filter(last_seen_at__gte=now - ALIVE_WITHIN, quarantined_at=None)


def find_checkpoint(text: str, *, game: str = "") -> Checkpoint | None:
    """Return the checkpoint of an agent of the game, else that of a hash or its beginning."""
    of_agent = Checkpoint.objects.filter(agents__name=text, agents__game=game).first()
    if of_agent is not None or len(text) < SHORTEST_HASH:
        return of_agent
    checkpoints = Checkpoint.objects.filter(sha256__startswith=text.lower())[:2]
    return checkpoints[0] if len(checkpoints) == 1 else None


def describe_missing(tournament: Tournament, *, now: datetime) -> str:
    """Return what a tournament waits for; empty when nothing is missing."""
    unchecked = Checkpoint.objects.filter(
        agents__tournaments=tournament, state=Checkpoint.State.CHECKING
    )
    if tournament.state == Tournament.State.SCHEDULED and (n := unchecked.count()):
        return (
            f"the check of {n} checkpoint(s): {describe_missing_for_check(now=now) or 'under way'}"
        )
    waiting = list_pending_needs(tournament.pk)
    missing = [_describe_missing_node(needs, tournament, now=now) for needs in waiting]
    if any(SERVER in n.services for n in waiting):
        game, servers = tournament.leaderboard.game, list_servers(now=now)
        missing.append(game_servers.describe_missing(game, servers, now=now))
    if any(GPU in n.services for n in waiting):
        missing += filter(None, [describe_missing_for_check(now=now)])
    if waiting and (shortage := disk.describe_shortage()):
        missing.append(f"room: {shortage}")
    return ", ".join(dict.fromkeys(filter(None, missing)))


def _describe_missing_node(needs: Needs, tournament: Tournament, *, now: datetime) -> str:
    """Return what node must be there to play these; empty where one is."""
    files = list_files(tournament)
    capable = [n for n in list_alive_workers(now=now) if needs.are_met_by(n.capabilities)]
    if old := describe_old_nodes(capable, needs):
        return old
    if any(has_files(node.plugins, files) for node in capable):
        return ""
    return describe_missing_files(capable, files) if capable else needs.node


def describe_missing_for_check(*, now: datetime) -> str:
    """Return what the check of a checkpoint waits for; empty when nothing is missing."""
    return "" if list_alive_gpu_workers(now=now) else "a gpu worker: none is alive"


def list_ratings_of_entrants(tournament: Tournament) -> QuerySet[Rating]:
    """Return the ratings of those who take part in a tournament, the best first."""
    entered = tournament.entrant_set.values("agent")
    ratings = Rating.objects.filter(leaderboard=tournament.leaderboard_id, agent__in=entered)
    return ratings.order_by("-mu", "agent_id")


def list_matches(tournament: Tournament, *, after: int, limit: int) -> Sequence[Match]:
    """Return matches of a tournament with their seats and outcomes, in planned order by key."""
    planned = Match.objects.filter(tournament=tournament, sequence__gt=after)
    whole = planned.select_related("outcome").prefetch_related("seat_rows__agent")
    return list(whole.order_by("sequence")[:limit])


def filter_matches(tournament: int, *, state: str = "") -> QuerySet[Match]:
    """Return the matches of a tournament, those in a state by an index that holds no others."""
    matches = Match.objects.filter(tournament=tournament)
    if not state:
        return matches
    if state in Match.CLOSED:
        return matches.filter(Match.is_closed(), state=state)
    if state in Match.IN_FLIGHT:
        # By their orders alone, which are few: with the tournament named, its index would be read.
        ids = list_open_orders(tournament)
        return Match.objects.filter(Match.is_in_flight(), order__in=ids, state=state)
    # Pending ones by their leaderboard, among the open ones in planned order.
    board = Tournament.objects.filter(pk=tournament).values("leaderboard")
    return matches.filter(Match.is_open(), leaderboard=Subquery(board), state=state)


def count_imported(board: Leaderboard) -> int:
    """Return how many results of the present season of a leaderboard were played elsewhere."""
    matches = Match.objects.filter(tournament=OuterRef("tournament")).order_by("sequence")
    batches = ImportBatch.objects.filter(leaderboard=board, struck_at=None)
    of_season = batches.alias(first=Subquery(matches.values("sequence")[:1])).filter(
        first__gte=board.season_first_sequence
    )
    return int(of_season.aggregate(n=Sum("tournament__n_done"))["n"] or 0)


def list_open_orders(tournament: int) -> list[int]:
    """Return the open orders of a tournament."""
    # Chosen here: by tournament SQLite would read the closed ones, too. Open orders are few.
    orders = Order.objects.filter(Order.is_open()).values_list("pk", "tournament_id")
    return [pk for pk, owner in orders if owner == tournament]


def filter_matches_of_agent(agent: int, *, tournament: int | None = None) -> QuerySet[Seat, Any]:
    """Return the ids of the matches of an agent, each once, also those of one tournament only."""
    seats = Seat.objects.filter(agent=agent)
    if tournament is not None:
        ids = Match.objects.filter(tournament=tournament).values("pk")
        first, last = ids.order_by("sequence")[:1], ids.order_by("-sequence")[:1]
        # The matches of a tournament lie close together: few others have ids in between.
        seats = seats.filter(
            match_id__gte=Subquery(first),
            match_id__lte=Subquery(last),
            match__tournament=tournament,
        )
    return seats.values("match_id").distinct()
