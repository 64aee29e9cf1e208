"""Keys that capability tokens are made with; they never leave control and recorder."""

import hmac

from django.conf import settings

from matches.models import Tournament


def secret(scope: str = "") -> bytes:
    """Return a key derived from the secret key for one scope."""
    return hmac.digest(settings.SECRET_KEY.encode(), f"evalsite:{scope}".encode(), "sha256")


def tournament_secret(tournament: Tournament) -> bytes:
    """Return the key of a tournament's tokens.

    Its random part keeps a message of an earlier database from fitting a match of this one.
    """
    return secret(tournament.key)


def is_same(wanted: str, given: str) -> bool:
    """Compare a token with one that came in, in constant time; it may be any text."""
    return hmac.compare_digest(wanted.encode(), given.encode(errors="replace"))
