"""Tokens of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from evalsite_client.calls import Calls
from evalsite_client.records import Rows

Scopes = Literal["read", "submit", "operate", "worker"]


@dataclass(frozen=True)
class Token:
    """A token without its secret.

    name: What it is for, such as a machine.
    begins_with: To tell them apart.
    made_with: The token that it was made with: it ends with that one at the latest.
    """

    id: int
    user: str
    name: str
    scopes: tuple[Scopes, ...]
    begins_with: str
    created_at: datetime
    expires_at: datetime | None
    made_with: int | None


@dataclass(frozen=True)
class IssuedToken(Token):
    """A new token; its secret is shown this once.

    token: Empty when the call is repeated under its idempotency key.
    """

    token: str | None


class Tokens(Calls):
    """One's own tokens, the newest first; an administrator sees all."""

    def list(self, *, page_size: int | None = None) -> Rows[Token]:
        """Yield tokens, fetched page by page as they are asked for."""
        return self._rows(Token, "tokens", {"page_size": page_size})

    def create(
        self,
        *,
        name: str,
        scopes: Sequence[Scopes] | None = None,
        days: int | None = 90,
        key: str | None = None,
    ) -> IssuedToken:
        """Make a token for oneself; one made with a token outranks and outlives it in nothing.

        days: Empty: it never ends. One made with a token ends with that one at the latest.
        """
        return self._post(
            IssuedToken,
            "tokens",
            {"name": name, "scopes": scopes, "days": days},
            key=key,
            nullable=("days",),
        )

    def revoke(self, token: int) -> None:
        """End a token and all that were made with it."""
        self._transport.delete(f"tokens/{token}")
