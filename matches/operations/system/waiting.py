"""What each tournament under way waits for: a node that can play it, or those that are before it.

At most five queries however many tournaments there are: control looks every second.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from arena.needs import Needs
from arena.queues import play_queue
from matches.ledger.code_versions import is_held
from matches.ledger.recorder_marks import LatestMark
from matches.models import Agent, Checkpoint, Entrant, Order, Tournament, Worker
from matches.operations.explanations.presence import Presence, divide_workers
from matches.operations.system.sample import UnderWay
from matches.store.formats import format_count
from matches.store.game_servers import count_taken
from matches.store.match_needs import read_pending_needs
from matches.store.plugin_files import list_files

MAX_LISTED = 20
MAX_PAUSED = 5
MAX_NAMED = 3
MISSING = "waits for "
"""How a wait begins that ends only when somebody does something; the others end by themselves."""


class _InFlight(NamedTuple):
    """What open orders hold: queues by tournament, those it plays from, and its matches."""

    queues: Mapping[int, set[str]]
    playing: Mapping[int, set[str]]
    n_matches: Mapping[int, int]


def list_under_way(
    orders: Iterable[tuple[Any, ...]], workers: Sequence[Worker], *, now: datetime
) -> list[UnderWay]:
    """Return the newest tournaments under way.

    orders: (queue, state, n_matches, tournament, what it holds of game servers, ...).
    workers: those seen lately, also the lost ones.
    """
    active = Tournament.objects.filter(state__in=Tournament.ACTIVE).order_by("-pk")
    paused = Tournament.objects.filter(state=Tournament.State.PAUSED).order_by("-pk")
    # Two queries: many that are paused must not hide what is under way.
    active, paused = (queryset.select_related("leaderboard") for queryset in (active, paused))
    tournaments = [*active[:MAX_LISTED], *paused[:MAX_PAUSED]]
    # What control itself waits for is said of the whole system, not once per tournament.
    orders = list(orders)
    n_taken = count_taken(dealt for *_, dealt, _ in orders)
    presence = divide_workers(workers, LatestMark(0, now), now=now, n_taken=n_taken)
    in_flight = _read_in_flight(orders)
    checking = _list_checking(tournaments)
    pending = read_pending_needs([tournament.pk for tournament in tournaments])
    names = _read_names(tournaments, in_flight)
    return [
        UnderWay(
            pk=tournament.pk,
            name=names[tournament.pk],
            state=tournament.shown_state,
            n_closed=tournament.n_closed,
            n_matches=tournament.n_matches,
            n_sent=in_flight.n_matches.get(tournament.pk, 0),
            waits_for=_describe_wait(
                tournament, pending.get(tournament.pk, []), presence, in_flight, names, checking
            ),
        )
        for tournament in tournaments
    ]


def _read_in_flight(orders: Iterable[tuple[Any, ...]]) -> _InFlight:
    queues: defaultdict[int, set[str]] = defaultdict(set)
    playing: defaultdict[int, set[str]] = defaultdict(set)
    n_sent: defaultdict[int, int] = defaultdict(int)
    for queue, state, n_matches, tournament, *_ in orders:
        queues[tournament].add(queue)
        if state == Order.State.PLAYING.value:
            playing[tournament].add(queue)
        n_sent[tournament] += n_matches
    return _InFlight(queues, playing, n_sent)


def _list_checking(tournaments: Sequence[Tournament]) -> set[int]:
    """Return the tournaments that cannot be planned before a checkpoint is checked."""
    scheduled = [t.pk for t in tournaments if t.state == Tournament.State.SCHEDULED]
    if not scheduled:
        return set()
    agents = Agent.objects.filter(checkpoint__state=Checkpoint.State.CHECKING)
    entered = Entrant.objects.filter(tournament__in=scheduled, agent__in=agents)
    return set(entered.order_by().values_list("tournament", flat=True).distinct())


def _read_names(tournaments: Sequence[Tournament], in_flight: _InFlight) -> dict[int, str]:
    """Return the names of all that hold a queue, which may be older than those listed.

    Names that several have get their numbers: `evaluate` calls all of its tournaments alike.
    """
    names = {tournament.pk: tournament.name for tournament in tournaments}
    others = [pk for pk in in_flight.queues if pk not in names]
    if others:
        names |= dict(Tournament.objects.filter(pk__in=others).values_list("pk", "name"))
    n_called = Counter(names.values())
    return {pk: f"{name} ({pk})" if n_called[name] > 1 else name for pk, name in names.items()}


def _describe_wait(
    tournament: Tournament,
    pending: Sequence[Needs],
    presence: Presence,
    in_flight: _InFlight,
    names: Mapping[int, str],
    checking: Collection[int],
) -> str:
    if tournament.state == Tournament.State.PAUSED:
        return f"{MISSING}somebody to resume it"
    if is_held(tournament):
        return f"{MISSING}code that is not here ({tournament.problem})"
    if tournament.pk in checking:
        missing = "".join(f": {text}" for text in presence.list_missing_gpu())
        return f"{MISSING}the check of its checkpoints{missing}"
    files = list_files(tournament)
    game = tournament.leaderboard.game
    missing_by_needs = [presence.list_missing(needs, files, game=game) for needs in pending]
    # What can play some of its matches keeps it going.
    if pending and all(missing_by_needs):
        texts = dict.fromkeys(text for missing in missing_by_needs for text in missing)
        return f"{MISSING}{'; '.join(texts)}"
    if own := in_flight.queues.get(tournament.pk):
        # Sent, and not begun: what others play from the same queues is before it.
        waits = tournament.pk not in in_flight.playing
        return _describe_queue(own, presence, in_flight.playing, names) if waits else ""
    able = {worker for needs in pending for worker in presence.list_able(needs, files)}
    queues = {play_queue(worker.node) for worker in able}
    behind = _describe_queue(queues, presence, in_flight.queues, names) if pending else ""
    busy = presence.list_busy_servers(pending, game=game)
    return f"waits until there are {busy[0]}" if busy else behind


def _describe_queue(
    queues: Collection[str],
    presence: Presence,
    taken_by: Mapping[int, set[str]],
    names: Mapping[int, str],
) -> str:
    """Return who is before it, where others have taken every queue that it could be played from."""
    n_shared = {pk: len(taken & {*queues}) for pk, taken in taken_by.items()}
    n_shared_before = {pk: n for pk, n in n_shared.items() if n}
    if not set().union(*(taken_by[pk] for pk in n_shared_before)) >= {*queues}:
        return ""  # a node has nothing: the next order goes to it within a second
    widest = sorted(n_shared_before, key=lambda pk: (-n_shared_before[pk], pk))
    named_tournaments = [names.get(pk, f"tournament {pk}") for pk in widest[:MAX_NAMED]]
    if len(widest) > MAX_NAMED:
        named_tournaments.append(f"{len(widest) - MAX_NAMED:,} more")
    n_slots = sum(worker.slots for worker in presence.workers if play_queue(worker.node) in queues)
    return f"waits behind {', '.join(named_tournaments)} on {format_count(n_slots, 'slot')}"
