"""Waiting for a tournament to end, and showing how far it is meanwhile."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from evalsite_client.api import tournaments
from evalsite_client.api.tournaments import TournamentDetail
from evalsite_client.errors import ProblemError, UnreachableError, WaitTimeoutError
from evalsite_client.progress import Pace, Progress, ProgressLine

AWAY_S: Final = 120.0
"""A server that is restarted meanwhile is waited for so long."""
Show = Callable[[Progress], None]


def _columns() -> int:
    return shutil.get_terminal_size().columns


def progress_line() -> ProgressLine:
    """Return what shows progress on stderr."""
    return ProgressLine(sys.stderr, width=_columns)


class Tournaments(tournaments.Tournaments):
    """Tournaments with their calls, and the wait for one."""

    def wait(
        self,
        tournament: int,
        *,
        progress: Show | None = None,
        is_shown: bool = True,
        timeout_s: float | None = None,
        poll_s: float = 1.0,
    ) -> TournamentDetail:
        """Return the tournament once it is done or cancelled.

        progress: told how far it is at every look; without it that is shown on stderr, unless
        is_shown is false. Raises WaitTimeoutError after timeout_s; Ctrl-C ends the line and raises
        KeyboardInterrupt. The tournament goes on in both cases. A server that does not answer for
        two minutes is no longer waited for.
        """
        with closing(progress_line()) as line:
            show = progress or (line if is_shown else _ignore)
            for seen in self.watch(tournament, poll_s=poll_s):
                show(seen)
                if seen.tournament.is_over:
                    break
                if timeout_s is not None and seen.elapsed_s >= timeout_s:
                    raise WaitTimeoutError(f"not over after {timeout_s:g} s: {seen.line()}")
        return seen.tournament

    def watch(self, tournament: int, *, poll_s: float = 1.0) -> Iterator[Progress]:
        """Yield how far a tournament is, the last time when it is over."""
        clock = self._transport.clock
        pace, begun_s = Pace(), clock.monotonic()
        seen = self._look(tournament, pace, begun_s, before=None)
        answered_s = clock.monotonic()
        yield seen
        while not seen.tournament.is_over:
            clock.sleep(poll_s)
            try:
                seen = self._look(tournament, pace, begun_s, before=seen)
                answered_s = clock.monotonic()
            except (UnreachableError, ProblemError) as error:
                now_s = clock.monotonic()
                if not _may_come_back(error) or now_s - answered_s > AWAY_S:
                    raise
                seen = replace(seen, elapsed_s=now_s - begun_s, trouble=str(error))
            yield seen

    def _look(
        self, tournament: int, pace: Pace, begun_s: float, *, before: Progress | None
    ) -> Progress:
        found = self.get(tournament)
        now_s = self._transport.clock.monotonic()
        # What moves needs no explanation; that saves the server every second question.
        moves = before is not None and found.n_closed > before.tournament.n_closed
        is_plain = found.is_over or (moves and found.state == "running")
        return Progress(
            tournament=found,
            explanation=None if is_plain else self.explain(tournament),
            elapsed_s=now_s - begun_s,
            matches_per_s=pace.per_s(now_s, found.n_closed),
        )


def _ignore(_: Progress) -> None:
    pass


def _may_come_back(error: Exception) -> bool:
    if not isinstance(error, ProblemError):
        return True
    is_ours = error.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return is_ours or error.status == HTTPStatus.TOO_MANY_REQUESTS
