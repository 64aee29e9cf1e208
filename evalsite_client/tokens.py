"""Tokens of the API: one's own, an administrator's of all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Required, TypedDict, Unpack

from evalsite_client.decoding import decode
from evalsite_client.names import Noun
from evalsite_client.pages import rows

Scope = Literal["read", "submit", "operate", "worker"]


@dataclass(frozen=True)
class Token:
    """A token without its secret."""

    id: int
    user: str
    name: str
    scopes: tuple[Scope, ...]
    begins_with: str
    created_at: datetime
    expires_at: datetime | None
    made_with: int | None


@dataclass(frozen=True)
class IssuedToken(Token):
    """A new token; None where the call was answered before: the secret is shown once."""

    token: str | None


class NewToken(TypedDict, total=False):
    """A token to make; days: None never ends."""

    name: Required[str]
    scopes: Sequence[Scope]
    days: int | None


class Tokens(Noun):
    """Tokens: list, make, revoke."""

    path = "tokens"

    def list(self, *, page_size: int | None = None) -> Iterator[Token]:
        """Yield tokens, the newest first."""
        return rows(self._transport, self.path, Token, {"page_size": page_size})

    def create(self, *, key: str | None = None, **wanted: Unpack[NewToken]) -> IssuedToken:
        """Make a token for oneself; one made with a token outranks and outlives it in nothing."""
        return decode(IssuedToken, self._transport.post(self.path, wanted, key=key))

    def revoke(self, token: int) -> None:
        """End a token and all that were made with it."""
        self._transport.delete(f"{self.path}/{token}")
