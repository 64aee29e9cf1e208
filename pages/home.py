"""The home page: what this is for, what runs now, who leads, and whether the cluster is well."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import F, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from matches.board import progress
from matches.models import Leaderboard, Tournament
from matches.operations.system import pushing
from matches.operations.system.display import format_state
from matches.operations.system.pushing import HISTORY
from matches.operations.system.sample import Point, SystemState
from matches.store.clock import db_now
from matches.store.formats import format_span
from matches.store.start_hints import PLAY_HINT
from pages import board_list, campaignpages
from pages.mending import list_acts
from pages.tournament_ends import SHOWN, read_endings

log = logging.getLogger(__name__)

N_BOARDS = 12
N_CAMPAIGNS = 4
N_TOURNAMENTS = 6
N_PAUSED = 3
N_ENDED = 4
MINUTE = timedelta(minutes=1)
# Fewer matches say nothing of how long the others take.
N_FORETELLING = 10


class Cluster(NamedTuple):
    """The cluster in a line, as words; trouble: what is wrong with it, empty while nothing is."""

    nodes: str
    slots: str
    pace: str
    waiting: str
    remaining: str
    trouble: str
    is_idle: bool


@require_safe
def show_home(request: HttpRequest) -> HttpResponse:
    """Show what can be done here, what runs, the first boards and the state of the cluster."""
    now = db_now()
    boards = board_list.describe_boards(board_list.list_first(N_BOARDS), now=now)
    # A campaign is shown by its own row, which says more.
    plain = Tournament.objects.filter(campaign=None).select_related(*SHOWN).order_by("-pk")
    running = plain.filter(state__in=Tournament.ACTIVE)[:N_TOURNAMENTS]
    paused = plain.filter(state=Tournament.State.PAUSED)[:N_PAUSED]
    ended = plain.filter(state__in=Tournament.OVER)[:N_ENDED]
    campaigns = campaignpages.list_newest()
    cluster = describe_cluster(now=now)
    context = {
        "boards": boards,
        "example": boards[0].board.name if boards else "",
        "has_unlisted": Leaderboard.objects.filter(is_listed=False, is_rated=True).exists(),
        "campaigns": [campaign for campaign in campaigns if campaign.is_open][:N_CAMPAIGNS],
        "answered": [campaign for campaign in campaigns if not campaign.is_open][:N_CAMPAIGNS],
        "running": [
            _describe_tournament(tournament, now=now) for tournament in (*running, *paused)
        ],
        "ended": _describe_ended(list(ended), now=now),
        "cluster": cluster,
        "acts": list_acts(request, now=now) if cluster.trouble else [],
        "alarms": campaignpages.list_open_alarms(),
    }
    return render(request, "pages/home.html", context)


def describe_cluster(*, now: datetime) -> Cluster:
    """Return the cluster in a line: what control looked at last, once a second for everybody."""
    state = _read_state(now=now)
    sample = state.sample
    unplayed = F("n_matches") - F("n_done") - F("n_void") - F("n_cancelled")
    active = Tournament.objects.filter(state__in=Tournament.ACTIVE)
    n_waiting = active.aggregate(n=Sum(unplayed))["n"] or 0
    pace = sample.point.matches_per_s
    trouble = format_state(state)["trouble"]
    if not trouble and n_waiting:
        no_node = f"no play node is alive, so nothing can play: {PLAY_HINT}"
        trouble = sample.standstill or ("" if sample.counts.n_slots else no_node)
    return Cluster(
        nodes=f"{sample.counts.n_play:,}",
        slots=f"{sample.counts.n_slots:,}",
        pace=f"{pace:,.1f}",
        waiting=f"{n_waiting:,}",
        remaining=forecast_end(state.history, n_waiting) if n_waiting else "",
        trouble=trouble,
        is_idle=not (n_waiting or pace),
    )


def forecast_end(history: Sequence[Point], n_waiting: int) -> str:
    """Return how long these matches take, by those of the last minute; of more where they are few.

    Not by the pace shown, which is that of seconds: between two tournaments it is near 0.
    """
    counts = [(point.at, point.n_recorded) for point in history if point.n_recorded is not None]
    for window in (MINUTE, HISTORY) if counts else ():
        newest_at, n_newest = counts[-1]
        oldest_at, n_oldest = next((at, n) for at, n in counts if newest_at - at <= window)
        n_recorded = n_newest - n_oldest
        if n_recorded >= N_FORETELLING:
            span_s = (newest_at - oldest_at).total_seconds()
            return f"about {format_span(n_waiting * span_s / n_recorded)}"
    return "not known yet"


def _read_state(*, now: datetime) -> SystemState:
    try:
        return pushing.read_newest(now=now)
    except RedisError as error:
        log.warning("the home page is made from the database alone: %s", error)
        return pushing.look_alone(now=now)


def _describe_ended(ended: Sequence[Tournament], *, now: datetime) -> list[dict[str, Any]]:
    """Return tournaments that are over, with who won each."""
    endings = read_endings(ended)
    return [
        {**_describe_tournament(tournament, now=now), "ending": endings.get(tournament.pk)}
        for tournament in ended
    ]


def _describe_tournament(tournament: Tournament, *, now: datetime) -> dict[str, Any]:
    return {
        "board": tournament.leaderboard,
        "shown": progress.describe_tournament(tournament, now=now),
    }
