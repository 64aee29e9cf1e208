"""How far a tournament is, and a line in the terminal that shows it."""

import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TextIO

from evalsite_client.api.shared import Explanation
from evalsite_client.api.tournaments import TournamentDetail

# The pace is measured over so long.
WINDOW_S: Final = 30.0
# Where lines cannot be overwritten one is written so often, and when the state changes.
LINE_EVERY_S: Final = 10.0
WIDTH: Final = 24
# Of a terminal that does not tell.
FEW_COLUMNS: Final = 80
MINUTE_S: Final = 60
HOUR_S: Final = 3_600
YEAR_S: Final = 365 * 24 * HOUR_S


@dataclass(frozen=True)
class Progress:
    """A tournament at a moment of being waited for.

    matches_per_s: over the last half minute; eta_s: seconds until its end at this pace; both None
    while unknown. trouble: why the server could not be asked; the rest is then as it was before.
    """

    tournament: TournamentDetail
    explanation: Explanation | None
    elapsed_s: float
    matches_per_s: float | None
    trouble: str = ""

    @property
    def eta_s(self) -> float | None:
        """Return the seconds until its end at this pace, None while that is unknown."""
        if self.tournament.is_over:
            return 0.0
        # At no pace there is no end in sight, and a paused one has none.
        if not self.matches_per_s or self.tournament.state == "paused":
            return None
        return (self.tournament.n_matches - self.tournament.n_closed) / self.matches_per_s

    @property
    def waits_for(self) -> tuple[str, ...]:
        """Return what is missing for it to go on."""
        return self.explanation.waits_for if self.explanation else ()

    def line(self, width: int = 0) -> str:
        """Return it in one line, of at most `width` characters unless that is 0."""
        whole = self._write_line(bar_width=WIDTH)
        if not width or len(whole) <= width:
            return whole
        short = self._write_line(bar_width=0)
        return short if len(short) <= width else f"{short[: width - 1]}…"

    def _write_line(self, *, bar_width: int) -> str:
        tournament = self.tournament
        share = tournament.n_closed / tournament.n_matches if tournament.n_matches else 1.0
        filled = "#" * int(share * bar_width)
        bar = f" [{filled:.<{bar_width}}]" if bar_width else ""
        counts = (
            (tournament.n_forfeits, "forfeits"),
            (tournament.n_void, "void"),
            (tournament.n_cancelled, "cancelled"),
            (tournament.n_retried, "tried again"),
        )
        parts = [
            f"{tournament.name} ({tournament.shown_state}){bar} {share:.0%}",
            f"{tournament.n_closed:,}/{tournament.n_matches:,}",
            *[f"{n:,} {word}" for n, word in counts if n],
        ]
        if not tournament.is_over and self.matches_per_s is not None:
            parts.append(f"{self.matches_per_s:.1f} matches/s")
        if not tournament.is_over and self.eta_s is not None:
            parts.append(f"{format_duration(self.eta_s)} left")
        if self.trouble:
            parts.append(f"no answer: {self.trouble}")
        elif self.waits_for:
            parts.append(f"waits for {'; '.join(self.waits_for)}")
        return ", ".join(parts)


@dataclass
class Pace:
    """Measures matches per second over the last while."""

    seen: deque[tuple[float, int]] = field(default_factory=deque)

    def measure_rate(self, now_s: float, n_closed: int) -> float | None:
        """Return the pace with this look at the count, None after the first."""
        self.seen.append((now_s, n_closed))
        # The last look before the window stays: the pace is measured from there.
        while now_s - self.seen[0][0] > WINDOW_S and now_s - self.seen[1][0] >= WINDOW_S:
            self.seen.popleft()
        begun_s, n_before = self.seen[0]
        return (n_closed - n_before) / (now_s - begun_s) if now_s > begun_s else None


def measure_width(terminal: TextIO) -> int:
    """Return the columns of the terminal that this stream is, FEW_COLUMNS where it does not tell.

    Of this one: shutil looks at stdout, which may be a file meanwhile.
    """
    try:
        return os.get_terminal_size(terminal.fileno()).columns or FEW_COLUMNS
    except OSError:
        return FEW_COLUMNS


class ProgressLine:
    """Writes progress: in place on a terminal, elsewhere a line now and then."""

    def __init__(self, stream: TextIO, *, width: Callable[[], int] = lambda: 0) -> None:
        """stream: usually stderr; width: columns of the terminal, 0 for one that is none."""
        self._stream = stream
        self._width = width if stream.isatty() else lambda: 0
        self._is_open = False
        self._written: tuple[str, float] | None = None

    def __call__(self, progress: Progress) -> None:
        """Show it."""
        width = self._width()
        if width:
            # One column is left free: a full line would wrap and stay.
            self._stream.write(f"\r\033[K{progress.line(width - 1)}")
            self._is_open = True
        elif self._is_due(progress):
            self._stream.write(f"{progress.line()}\n")
        self._stream.flush()

    def close(self) -> None:
        """End the line, so that what comes next begins on its own."""
        if self._is_open:
            self._stream.write("\n")
            self._stream.flush()
        self._is_open = False

    def _is_due(self, progress: Progress) -> bool:
        # The state, not the figures: those change at every look.
        key = f"{progress.tournament.shown_state} {progress.waits_for} {bool(progress.trouble)}"
        if self._written is not None:
            before, at_s = self._written
            if key == before and progress.elapsed_s - at_s < LINE_EVERY_S:
                return False
        self._written = key, progress.elapsed_s
        return True


def format_duration(seconds: float) -> str:
    """Return a duration as people write it."""
    whole = round(seconds)
    if whole < MINUTE_S:
        return f"{whole} s"
    if whole < HOUR_S:
        return f"{whole // MINUTE_S} min {whole % MINUTE_S:02} s"
    if whole < YEAR_S:
        return f"{whole // HOUR_S:,} h {whole % HOUR_S // MINUTE_S:02} min"
    return "over a year"
