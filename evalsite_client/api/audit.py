"""Audit of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evalsite_client.calls import Calls
from evalsite_client.records import Rows


@dataclass(frozen=True)
class Audit:
    """One act on one thing.

    actor: Who did it, as it was called then.
    token: Name of the API token that it was done with; empty: without one.
    action: Such as agent.quarantine.
    target_kind: Such as agent.
    target_id: Empty: all of them.
    target_label: Its name then.
    """

    id: int
    at: datetime
    actor: str
    token: str
    action: str
    target_kind: str
    target_id: int | None
    target_label: str
    reason: str
    touched: Mapping[str, Any]


class Audits(Calls):
    """What was done, the newest first."""

    def list(
        self,
        *,
        action: str | None = None,
        target_id: int | None = None,
        target_kind: str | None = None,
        page_size: int | None = None,
    ) -> Rows[Audit]:
        """Yield what was done, the newest first."""
        return self._rows(
            Audit,
            "audit",
            {
                "action": action,
                "target_id": target_id,
                "target_kind": target_kind,
                "page_size": page_size,
            },
        )
