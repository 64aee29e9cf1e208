"""Other tournaments whose matches keep every node busy."""

from collections import defaultdict

from arena.messages import play_queue
from matches.models import Match, Order, Tournament, Worker
from matches.operations.explanations.presence import Presence
from matches.store import selectors
from matches.store.explanation import format_count, format_span

MAX_NAMED = 3
"""Tournaments that are named; of more it is said that there are more."""


def busy_with_others(tournament: Tournament, there: Presence) -> list[str]:
    """Return what keeps its pending matches waiting while no node has room and none plays it."""
    needs = selectors.list_pending_needs(tournament.pk)
    queues = {play_queue(worker.node) for worker in _able(needs, there)}
    playing: defaultdict[int, set[str]] = defaultdict(set)
    for queue, pk in Order.objects.filter(Order.is_open()).values_list("queue", "tournament"):
        if queue in queues:
            playing[pk].add(queue)
    is_busy = queues and set().union(*playing.values()) == queues
    if not is_busy or tournament.pk in playing:
        return []
    longest = sorted(playing, key=lambda pk: (-len(playing[pk]), pk))
    more = (
        [f"and {format_count(len(longest) - MAX_NAMED, 'more')}"]
        if len(longest) > MAX_NAMED
        else []
    )
    named = [
        _describe_tournament(other)
        for other in Tournament.objects.filter(pk__in=longest[:MAX_NAMED])
    ]
    return [f"room on {format_count(len(queues), 'node')}: busy with {', '.join(named + more)}"]


def _able(needs: list[Match.Needs], there: Presence) -> list[Worker]:
    names = {need.capability for need in needs}
    return [worker for name in names for worker in there.able(name)]


def _describe_tournament(tournament: Tournament) -> str:
    mean_s = tournament.mean_match_s
    if mean_s is None:
        length = "of unknown length"
    else:
        length = f"of about {format_span(mean_s)}" if mean_s >= 1 else "of less than a second"
    return f"tournament {tournament.pk} ({tournament.name}, matches {length})"
