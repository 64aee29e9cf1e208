"""Why a worker stands where it stands."""

from datetime import datetime

from arena.needs import Needs, plays_matches
from arena.queues import play_queue
from matches.models import Order, Tournament, Worker
from matches.nodes.play_nodes import ORDERS_PER_NODE
from matches.nodes.report_keys import list_warnings
from matches.operations.explanations import game_server
from matches.operations.explanations.presence import Presence, read_presence
from matches.store import game_servers
from matches.store.explanation import RELEASE, Explanation
from matches.store.formats import age_s, format_ago, format_count
from matches.store.match_needs import read_pending_needs
from matches.store.plugin_files import Files, list_files, list_lacking, list_other_files

MAX_TOURNAMENTS = 20
"""Tournaments whose pending matches are looked for."""


def of_worker(worker: Worker, *, now: datetime) -> Explanation:
    """Return what a worker waits for and what happens next.

    Its state is lost, quarantined, playing, idle or, for gpu workers and game servers, serving.
    """
    # Sorted here: to have them in order SQLite would read through the closed ones.
    in_hand = Order.objects.filter(Order.is_open(), node=worker.node)
    orders = sorted(in_hand, key=lambda order: order.pk)
    state = _judge_state(worker, orders, now=now)
    since = worker.quarantined_at if state == "quarantined" else worker.last_seen_at
    if state == "playing":
        since = orders[0].started_at
    summary, next_step = _describe_state(worker, state, orders, now=now)
    return Explanation(
        subject="worker",
        id=worker.pk,
        name=worker.node,
        state=state,
        since=since,
        age_s=age_s(since, now=now),
        summary=summary,
        waits_for=tuple(_list_waits(worker, state, now=now)),
        next=next_step,
        next_at=max((order.deadline_at for order in orders), default=None)
        if state == "lost"
        else None,
        notes=(
            *list_warnings(worker, now=now),
            *list_other_files(worker),
            *(game_server.list_notes(worker) if worker.is_server else ()),
            f"{worker.slots} slots, {', '.join(worker.capabilities)}",
        ),
    )


def _judge_state(worker: Worker, orders: list[Order], *, now: datetime) -> str:
    if not game_servers.is_alive(worker, now=now):
        return "lost"
    if worker.quarantined_at is not None:
        return "quarantined"
    if not plays_matches(worker.capabilities):
        return "serving"
    return "playing" if orders else "idle"


def _describe_state(
    worker: Worker, state: str, orders: list[Order], *, now: datetime
) -> tuple[str, str]:
    """Return what is and what happens next."""
    last_seen = f"last seen{format_ago(worker.last_seen_at, now=now)}"
    numbers = ", ".join(str(order.pk) for order in orders)
    n_matches = sum(order.n_matches for order in orders)
    given_back = "its orders are given up and sent again" if orders else ""
    every, serving = "10 s", "it answers for networks and plays nothing"
    if worker.is_server:
        every, serving = "2 s", game_server.describe_serving(worker)
    return {
        "lost": (f"lost: {last_seen}, and it reports every {every}", given_back),
        "quarantined": (
            f"in quarantine, {last_seen}: {worker.quarantine_reason}",
            "it is sent nothing, what it had is played elsewhere and what it reports is refused",
        ),
        "serving": (f"alive, {last_seen}: {serving}", ""),
        "playing": (
            f"plays order {numbers} of {format_count(n_matches, 'match', 'matches')}, {last_seen}",
            "it reports outcomes about every second and takes the next order",
        ),
        "idle": (f"alive and idle, {last_seen}", "it takes the next order of its queue"),
    }[state]


def _list_waits(worker: Worker, state: str, *, now: datetime) -> list[str]:
    if state == "lost":
        return ["its next sign of life: look whether the machine and its process run"]
    if state == "quarantined":
        return [RELEASE]
    if worker.is_server:
        return game_server.list_waits(worker, now=now)
    if state != "idle":
        return []
    presence = read_presence(now=now)
    return presence.list_missing_control() or [_describe_missing_work(worker, presence)]


def _describe_lack(worker: Worker, needs: Needs, files: Files) -> str:
    if needs.are_met_by(worker.capabilities):
        lacking = " and ".join(file for file, _ in list_lacking(worker.plugins, files))
        return f"{lacking} as here"
    return " and ".join(sorted(needs.capabilities))


def _describe_missing_work(worker: Worker, presence: Presence) -> str:
    """Return why no order comes: nothing pending that it could play, or something is missing."""
    playing = Tournament.objects.filter(state__in=Tournament.PLAYING).select_related("leaderboard")
    asking = {tournament.pk: tournament for tournament in playing.order_by("pk")[:MAX_TOURNAMENTS]}
    waiting = sorted(
        {
            (needs, list_files(asking[pk]), asking[pk].leaderboard.game)
            for pk, kinds in read_pending_needs(asking).items()
            for needs in kinds
        }
    )
    able = [work for work in waiting if worker in presence.list_able(*work[:2])]
    if not waiting:
        return "matches: none is pending in a tournament that runs"
    if not able:
        needed = {_describe_lack(worker, needs, files) for needs, files, _ in waiting}
        return f"matches that it can play: those pending need {', '.join(sorted(needed))}"
    missing = [presence.list_missing(needs, files, game=game) for needs, files, game in able]
    if all(missing):
        return ", ".join(dict.fromkeys(text for texts in missing for text in texts))
    return f"the next order on {play_queue(worker.node)}: at most {ORDERS_PER_NODE} at a time"
