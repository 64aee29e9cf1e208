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
    is_stalled: bool = False
    """Whether it cannot end before somebody has done what it waits for, whenever that is."""
