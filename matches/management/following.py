"""Follow what is played from the command line: wait for nodes, show progress, wait for ratings."""

import time
from collections.abc import Sequence
from typing import Protocol

from matches import dispatch
from matches.errors import NoNodeError
from matches.ledger import code_versions
from matches.management import asked
from matches.models import Campaign, Leaderboard, Tournament, Worker
from matches.store import selectors
from matches.store.clock import db_now

POLL_S = 0.1
NODE_WAIT_S = 30.0
# A terminal sees each change; a file or pipe one line in so many seconds.
LINE_EVERY_S = 5.0
RATING_WAIT_S = 60.0


class Stream(Protocol):
    """Where progress goes."""

    def write(self, msg: str = "", *, ending: str = "\n") -> object:
        """Write one message."""
        ...

    def isatty(self) -> bool:
        """Say whether a person watches."""
        ...


def wait_for_cluster() -> str:
    """Return a description of the play nodes, waiting a little for the first one to report.

    Raises BrokerError, or NoNodeError when none is alive.
    """
    version = dispatch.ping_broker()
    deadline = time.monotonic() + NODE_WAIT_S
    while not (nodes := selectors.list_alive_workers(now=db_now())):
        if time.monotonic() > deadline:
            raise NoNodeError("no play node is alive: start the system with ./run or ./run up")
        time.sleep(POLL_S)
    return described(nodes, version)


def described(nodes: Sequence[Worker], broker_version: str) -> str:
    """Return the cluster as lines: broker, then a line per node with slots and versions."""
    lines = [f"Connected to broker {broker_version} with {len(nodes)} play node(s):"]
    for node in nodes:
        versions = ", ".join(f"{name} {text}" for name, text in sorted(node.versions.items()))
        lines.append(f"  {node.node}: {node.slots} slot(s) ({versions})")
    return "\n".join(lines)


def follow(
    tournament: Tournament, out: Stream, *, timeout_s: float | None, fraction: float
) -> float:
    """Show progress until enough is closed or time is up; return the seconds it took."""
    began = shown = time.monotonic()
    while True:
        tournament.refresh_from_db()
        elapsed_s = time.monotonic() - began
        seen = selectors.read_progress(tournament)
        is_enough = seen.completed + seen.error >= fraction * seen.n_matches
        is_late = timeout_s is not None and elapsed_s >= timeout_s
        # Without its code nothing of it can begin: the caller says why.
        is_held = code_versions.is_held(tournament) and not tournament.n_planned
        if is_enough or is_late or is_held or tournament.finished_at is not None:
            out.write(("\r" if out.isatty() else "") + seen.line(elapsed_s))
            return elapsed_s
        if out.isatty():
            out.write("\r" + seen.line(elapsed_s), ending="")
        elif time.monotonic() - shown >= LINE_EVERY_S:
            shown = time.monotonic()
            out.write(seen.line(elapsed_s))
        time.sleep(POLL_S)


def follow_campaign(campaign: Campaign, out: Stream) -> None:
    """Show how far it is until it has its verdict: in place on a terminal, else in lines."""
    shown = time.monotonic()
    while campaign.decided_at is None:
        time.sleep(POLL_S)
        campaign.refresh_from_db()
        campaign.tournament.refresh_from_db()
        if out.isatty():
            out.write(f"\r\033[K{asked.line(campaign)}", ending="")
        elif time.monotonic() - shown >= LINE_EVERY_S:
            shown = time.monotonic()
            out.write(asked.line(campaign))
    campaign.tournament.refresh_from_db()
    out.write(("\r\033[K" if out.isatty() else "") + asked.line(campaign))


def wait_for_ratings(tournament: Tournament, *, limit_s: float = RATING_WAIT_S) -> float:
    """Wait until every outcome of the board is in its ratings; return the seconds it took.

    Raises NoNodeError after limit_s.
    """
    began = time.monotonic()
    while time.monotonic() - began < limit_s:
        tournament.refresh_from_db()
        board = Leaderboard.objects.get(pk=tournament.leaderboard_id)
        if board.n_settled >= tournament.n_done:
            return time.monotonic() - began
        dispatch.wake_rater()
        time.sleep(POLL_S / 2)
    raise NoNodeError("the ratings did not catch up: is control running? see ./run status")
