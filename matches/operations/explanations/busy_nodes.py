"""Other tournaments whose matches keep every node busy."""

from collections import defaultdict

from arena.queues import play_queue
from matches.models import Order, Tournament
from matches.operations.explanations.presence import Presence
from matches.store.formats import format_count, format_span
from matches.store.match_needs import list_pending_needs
from matches.store.plugin_files import list_files

MAX_NAMED = 3
"""Tournaments that are named; of more it is said that there are more."""


def list_busy_nodes(tournament: Tournament, presence: Presence) -> list[str]:
    """Return what keeps its pending matches waiting while no node has room and none plays it."""
    pending, files = list_pending_needs(tournament.pk), list_files(tournament)
    able = [worker for needs in pending for worker in presence.list_able(needs, files)]
    queues = {play_queue(worker.node) for worker in able}
    playing: defaultdict[int, set[str]] = defaultdict(set)
    # By queue and not by node: an order that no node has taken yet fills its queue, too.
    for queue, pk in Order.objects.filter(Order.is_open()).values_list("queue", "tournament"):
        if queue in queues:
            playing[pk].add(queue)
    is_busy = queues and set().union(*playing.values()) == queues
    if not is_busy or tournament.pk in playing:
        return []
    widest = sorted(playing, key=lambda pk: (-len(playing[pk]), pk))
    others = Tournament.objects.filter(pk__in=widest[:MAX_NAMED])
    described = [_describe_tournament(other) for other in others]
    if len(widest) > MAX_NAMED:
        described.append(f"and {format_count(len(widest) - MAX_NAMED, 'more')}")
    return [f"room on {format_count(len(queues), 'node')}: busy with {', '.join(described)}"]


def _describe_tournament(tournament: Tournament) -> str:
    mean_s = tournament.mean_match_s
    if mean_s is None:
        length = "of unknown length"
    else:
        length = f"of about {format_span(mean_s)}" if mean_s >= 1 else "of less than a second"
    return f"tournament {tournament.pk} ({tournament.name}, matches {length})"
