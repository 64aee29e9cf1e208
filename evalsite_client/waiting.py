"""Waiting for a tournament to end, showing how far it is meanwhile, and what it leaves."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from evalsite_client.api import tournaments
from evalsite_client.api.tournaments import TournamentDetail
from evalsite_client.downloads import download_stream
from evalsite_client.errors import WaitTimeoutError
from evalsite_client.progress import Pace, Progress, ProgressLine, measure_width
from evalsite_client.retries import ask_again


@dataclass(frozen=True)
class Shard:
    """A whole file; `matches` counts those with an outcome, also without any row."""

    file: str
    sha256: str
    matches: int
    rows: int
    first_episode: int
    last_episode: int


class Tournaments(tournaments.Tournaments):
    """Tournaments: their calls, and the wait for one."""

    def wait(
        self,
        tournament: int,
        *,
        progress: Callable[[Progress], None] | None = None,
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
        with closing(make_progress_line()) as line:
            show = progress or (line if is_shown else None)
            for look in self.watch(tournament, poll_s=poll_s):
                if show is not None:
                    show(look)
                if look.tournament.is_over:
                    break
                # After the look: whoever waits learns how far it was when time was up.
                if timeout_s is not None and look.elapsed_s >= timeout_s:
                    raise WaitTimeoutError(f"not over after {timeout_s:g} s: {look.line()}")
        return look.tournament

    def watch(
        self, tournament: int, *, poll_s: float = 1.0, is_explained: bool = True
    ) -> Iterator[Progress]:
        """Yield how far a tournament is, the last time when it is over.

        is_explained: the server is asked what it waits for where it does not move.
        """
        clock = self._transport.clock
        pace, begun_s = Pace(), clock.monotonic()
        look: Progress | None = None

        def look_once() -> Progress:
            now = self._look_once(tournament, pace, begun_s)
            # What moves needs no explanation; that saves the server every second question.
            moves = look is not None and now.tournament.n_closed > look.tournament.n_closed
            is_plain = now.tournament.is_over or (moves and now.tournament.state == "running")
            if is_plain or not is_explained:
                return now
            return replace(now, explanation=self.explain(tournament))

        for answer, trouble in ask_again(look_once, clock, poll_s=poll_s):
            elapsed_s = clock.monotonic() - begun_s if trouble else answer.elapsed_s
            look = replace(answer, elapsed_s=elapsed_s, trouble=trouble)
            yield look
            if look.tournament.is_over:
                break

    def download_shard(
        self, tournament: int, number: int, path: Path | str, *, matches_per_shard: int
    ) -> Shard:
        """Fetch the matches at the places from number x matches_per_shard on, as Parquet.

        Raises ConflictError while one of them is open, ChecksumError, UnreachableError.
        """
        headers = download_stream(
            self._transport,
            lambda: self._transport.open_file(
                f"tournaments/{tournament}/shards/{number}",
                {"matches_per_shard": matches_per_shard},
            ),
            Path(path),
        )
        counts = ("Matches", "Rows", "First-Episode", "Last-Episode")
        return Shard(
            Path(path).name,
            headers["ETag"].removeprefix("W/").strip('"'),
            *(int(headers[f"Evalsite-{name}"]) for name in counts),
        )

    def _look_once(self, tournament: int, pace: Pace, begun_s: float) -> Progress:
        tournament_now = self.get(tournament)
        now_s = self._transport.clock.monotonic()
        return Progress(
            tournament=tournament_now,
            explanation=None,
            elapsed_s=now_s - begun_s,
            matches_per_s=pace.measure_rate(now_s, tournament_now.n_closed),
        )


def make_progress_line() -> ProgressLine:
    """Return what shows progress on stderr."""
    return ProgressLine(sys.stderr, width=lambda: measure_width(sys.stderr))
