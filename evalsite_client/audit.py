"""The audit: who did what to which, and why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, Unpack

from evalsite_client.names import Noun
from evalsite_client.pages import rows


@dataclass(frozen=True)
class Audit:
    """One act on one thing; actor: the user by the name it had."""

    id: int
    at: datetime
    actor: str
    action: str
    target_kind: str
    target_id: int | None
    target_label: str
    reason: str
    touched: Mapping[str, Any]


class AuditFilter(TypedDict, total=False):
    """Which acts to list."""

    action: str
    target_kind: str
    target_id: int


class Audits(Noun):
    """The audit: list."""

    path = "audit"

    def list(
        self, *, page_size: int | None = None, **wanted: Unpack[AuditFilter]
    ) -> Iterator[Audit]:
        """Yield what was done, the newest first."""
        return rows(self._transport, self.path, Audit, {**wanted, "page_size": page_size})
