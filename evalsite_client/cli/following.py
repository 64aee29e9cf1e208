"""Follow what is played: wait for nodes, show progress, wait for ratings."""

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TextIO

from evalsite_client.api.shared import Explanation
from evalsite_client.api.tournaments import Report, Tournament, TournamentDetail
from evalsite_client.api.workers import Worker
from evalsite_client.client import Client
from evalsite_client.errors import ClientError, InputError
from evalsite_client.progress import measure_width
from evalsite_client.retries import ask_again

POLL_S: Final = 0.25
NODE_WAIT_S: Final = 30.0
LINE_EVERY_S: Final = 5.0
"""A terminal sees each change; a file or pipe one line in so many seconds."""
STILL_S: Final = 3.0
"""A count that has not moved for so long is explained."""
RATING_WAIT_S: Final = 60.0
SERVICES: Final = frozenset(("gpu", "server"))
"""Capabilities of those that answer for networks or serve games; all others play."""


class NoNodeError(InputError):
    """Nobody is there who could play."""


def find_stream(options: Namespace) -> TextIO:
    """Return where progress goes: to stdout, unless that is to hold JSON and nothing else."""
    return sys.stderr if options.json is True else sys.stdout


def write_line(out: TextIO, line: str) -> None:
    """Write a line at once, also into a pipe."""
    out.write(f"{line}\n")
    out.flush()


def wait_for_cluster(client: Client, *, limit_s: float = NODE_WAIT_S) -> str:
    """Return a description of the play nodes, waiting a little for the first one to report.

    Raises NoNodeError when none is alive.
    """
    clock = client.clock
    until_s = clock.monotonic() + limit_s
    if not find_play_nodes(client):
        sys.stderr.write(f"waiting up to {limit_s:g} s for a play node to report\n")
    while not (nodes := find_play_nodes(client)):
        if clock.monotonic() >= until_s:
            why = "none is alive; where it runs, ./run stop and then ./run up --nodes 1 start one"
            raise NoNodeError("play node", why)
        clock.sleep(POLL_S)
    return _describe_cluster(nodes, client.base_url)


def find_play_nodes(client: Client) -> Sequence[Worker]:
    """Return the nodes that play, have reported lately and are not in quarantine."""
    return [
        worker
        for worker in client.workers.list()
        if worker.is_alive
        and worker.quarantined_at is None
        and SERVICES.isdisjoint(worker.capabilities)
    ]


def _describe_cluster(nodes: Sequence[Worker], address: str) -> str:
    """Return the cluster as lines: the server, then a line per node with slots and versions."""
    lines = [f"Connected to {address} with {len(nodes)} play node(s):"]
    for node in nodes:
        versions = ", ".join(f"{name} {text}" for name, text in sorted(node.versions.items()))
        lines.append(f"  {node.node}: {node.slots} slot(s) ({versions})")
    return "\n".join(lines)


def describe_progress(tournament: Tournament, elapsed_s: float) -> str:
    """Return how far a tournament is, in one line."""
    return (
        f"{tournament.n_done + tournament.n_void}/{tournament.n_matches} - "
        f"Pending: {tournament.n_matches - tournament.n_closed}, Error: {tournament.n_void}, "
        f"Completed: {tournament.n_done}, Elapsed time: {elapsed_s:.2f}"
    )


class Lines:
    """Shows a line that changes: in place on a terminal, elsewhere now and then."""

    def __init__(self, client: Client, out: TextIO) -> None:
        """Begin with nothing shown."""
        self._clock, self._out = client.clock, out
        self._shown_s = self._clock.monotonic()

    def show(self, line: str) -> None:
        """Show the line as it is now."""
        now_s = self._clock.monotonic()
        if self._out.isatty():
            # A line that wraps would stay, in part, when the next one is written.
            self._out.write(f"\r\033[K{line[: measure_width(self._out) - 1]}")
            self._out.flush()
        elif now_s - self._shown_s >= LINE_EVERY_S:
            self._shown_s = now_s
            write_line(self._out, line)

    def end(self, line: str) -> None:
        """Show the last one."""
        write_line(self._out, f"\r\033[K{line}" if self._out.isatty() else line)


class Standstill:
    """Says why nothing goes on, once that has lasted a while."""

    def __init__(self, client: Client, explain: Callable[[], Explanation]) -> None:
        """explain: asks the server what is waited for."""
        self._clock, self._explain = client.clock, explain
        self._count, self._looked_s, self._why = -1, 0.0, ""

    def describe(self, count: int) -> str:
        """Return how a line goes on: empty while the count moves, or where nothing is missing."""
        now_s = self._clock.monotonic()
        if count != self._count:
            self._count, self._looked_s, self._why = count, now_s, ""
        elif now_s - self._looked_s >= STILL_S:
            self._looked_s = now_s
            # A server that is away is the line's own matter.
            with suppress(ClientError):
                waits_for = self._explain().waits_for
                self._why = f", waits for {'; '.join(waits_for)}" if waits_for else ""
        return self._why


def follow_tournament(
    client: Client, tournament: int, out: TextIO, *, timeout_s: float | None, fraction: float
) -> TournamentDetail:
    """Show progress until enough is closed or time is up; return how far it is then."""
    lines = Lines(client, out)
    still = Standstill(client, lambda: client.tournaments.explain(tournament))
    # It explains by itself what stands still, and more seldom.
    looks = client.tournaments.watch(tournament, poll_s=POLL_S, is_explained=False)
    for look in looks:
        latest = look.tournament
        line = describe_progress(latest, look.elapsed_s)
        is_enough = latest.n_done + latest.n_void >= fraction * latest.n_matches
        is_late = timeout_s is not None and look.elapsed_s >= timeout_s
        # Without its code nothing of it can begin: the caller says why.
        is_held = bool(latest.problem) and not latest.n_planned
        if is_enough or is_late or is_held or latest.finished_at is not None:
            lines.end(line)
            break
        why = f", no answer: {look.trouble}" if look.trouble else still.describe(latest.n_closed)
        lines.show(f"{line}{why}")
    return latest


def wait_for_ratings(client: Client, tournament: int, *, limit_s: float) -> tuple[Report, str]:
    """Return the report once its ratings are of all that was played, and why they are not."""
    clock = client.clock
    until_s = clock.monotonic() + limit_s
    reports = ask_again(lambda: client.tournaments.report(tournament), clock, poll_s=POLL_S)
    for report, _ in reports:
        if report.is_rated:
            break
        if clock.monotonic() >= until_s:
            return report, "the ratings did not catch up: is control running? see ./run status"
    return report, ""
