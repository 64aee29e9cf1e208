"""The form of an explanation, the same for every subject."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

RELEASE = "somebody to release it"


@dataclass(frozen=True)
class Explanation:
    """Why something stands where it stands, in fields that stay and words for people.

    summary is one line with the most important; waits_for is empty while nothing is missing.
    """

    subject: str
    """match, tournament, campaign, agent, worker or schedule."""
    id: int
    name: str
    state: str
    since: datetime | None
    """When it came into the state; None where nobody wrote it down."""
    age_s: float | None
    summary: str
    waits_for: tuple[str, ...]
    """What must happen or be there before it goes on."""
    next: str
    """What happens then, or what to do; empty when nothing will happen any more."""
    next_at: datetime | None
    """When, or until when at the latest; None where it cannot be said."""
    notes: tuple[str, ...]
    """What went before: attempts that failed, what was measured."""

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; times stay datetimes, tuples become lists."""
        fields = asdict(self)
        return {**fields, "waits_for": list(self.waits_for), "notes": list(self.notes)}


@dataclass
class Finding:
    """What the reader of one state found."""

    summary: str
    next: str = ""
    since: datetime | None = None
    waits_for: Sequence[str] = field(default_factory=list)
    next_at: datetime | None = None


def format_percent(probability: float, *, is_column: bool = False) -> str:
    """Return a probability as people read it, never rounded to 0 or 100 %.

    is_column: always with one decimal, so that numbers stand one below the other; there nothing is
    certain, as what is shown was computed by integration.
    """
    least = 0.001 if is_column else 0.0005  # in text half of the last place
    space = " " if is_column else "\N{NO-BREAK SPACE}"
    if is_column or probability not in (0, 1):
        if probability < least:
            return f"<0.1{space}%"
        if probability > 1 - least:
            return f">99.9{space}%"
    number = f"{100 * probability:.1f}" if is_column else f"{round(100 * probability, 1):g}"
    return f"{number}{space}%"


def format_count(n: int, what: str) -> str:
    """Return a count with its noun: 1 order, 2 orders."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def age_s(since: datetime | None, *, now: datetime) -> float | None:
    """Return how long ago that was, in seconds; None when nobody knows."""
    return None if since is None else max(0.0, (now - since).total_seconds())


def format_span(seconds: float) -> str:
    """Return a length of time in words: 40 s, 12 min, 3.5 h, 2 d."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"


def format_ago(since: datetime | None, *, now: datetime) -> str:
    """Return ` 40 s ago`, or nothing when nobody knows when."""
    age = age_s(since, now=now)
    return "" if age is None else f" {format_span(age)} ago"


def format_since(since: datetime | None, *, now: datetime) -> str:
    """Return ` for 40 s`, or nothing when nobody knows since when."""
    age = age_s(since, now=now)
    return "" if age is None else f" for {format_span(age)}"
