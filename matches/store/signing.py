"""Keys derived from the secret key, which never leave the server, and links signed with one.

A signed link is an address under /files/ that its holder may use for a while without a login: a
path with `until` (Unix seconds) and `signature`, an HMAC over method, path and `until`.
"""

import hmac
from collections.abc import Mapping
from datetime import datetime

from django.conf import settings

from arena.credentials import pass_key
from arena.passes import make_pass
from matches.models import Tournament

LIFETIME_S = 86_400
# Links made within an hour are equal, so that orders repeat them and caches know them.
ROUNDED_S = 3_600

_MAX_DIGITS = 12


def derive_key(scope: str = "") -> bytes:
    """Return a key derived from the secret key for one scope."""
    return hmac.digest(settings.SECRET_KEY.encode(), f"evalsite:{scope}".encode(), "sha256")


def derive_tournament_key(tournament: Tournament) -> bytes:
    """Return the key of a tournament's tokens."""
    # Random: a message of an earlier database must not fit a match of this one.
    return derive_key(tournament.key)


def is_same_token(expected: str, received: str) -> bool:
    """Compare a token with one that came in, in constant time; it may be any text."""
    return hmac.compare_digest(expected.encode(), received.encode(errors="replace"))


def checkpoint_path(sha256: str) -> str:
    """Return the address of the file of a checkpoint."""
    return f"/files/checkpoints/{sha256}"


def trajectories_path(order: str) -> str:
    """Return the address under which an order (32 hex digits) puts pieces, each by its hash."""
    return f"/files/trajectories/{order}"


def piece_path(order: str, sha256: str) -> str:
    """Return the address of one piece of an order (32 hex digits)."""
    return f"{trajectories_path(order)}/{sha256}"


# Not django.core.signing: its TimestampSigner puts the time of signing beside the text, so that two
# links made in one hour would differ. With Signer, method, path and rounded end would have to be
# packed into one text and read back, which is as long as this.
def sign_link(method: str, path: str, *, now: datetime) -> str:
    """Return the path with its signature: good for this method, for a day to the full hour."""
    until = find_end(now)
    return f"{path}?until={until}&signature={_compute_signature(method, path, until)}"


def sign_pass(subject: str, *, now: datetime) -> str:
    """Return a pass (arena.passes) for a game server or an agent, as long good as a link."""
    return make_pass(pass_key(settings.SECRET_KEY), subject, until=find_end(now))


def find_end(now: datetime) -> int:
    """Return the second since 1970 at which what is signed now ends."""
    return (int(now.timestamp()) + LIFETIME_S) // ROUNDED_S * ROUNDED_S + ROUNDED_S


def find_link_problem(
    method: str, path: str, query: Mapping[str, str], *, now: datetime
) -> str | None:
    """Return why the link may not be used, or None when it may."""
    until, signature = query.get("until", ""), query.get("signature", "")
    if not (until.isascii() and until.isdecimal() and len(until) <= _MAX_DIGITS and signature):
        return "this address needs a signed link: until=<Unix seconds>&signature=<hex>"
    if not is_same_token(_compute_signature(method, path, int(until)), signature):
        return f"the signature does not fit {method} {path}: use the link as it was given"
    if now.timestamp() > int(until):
        return f"the link was good until {until} (Unix seconds): ask for a new one"
    return None


def _compute_signature(method: str, path: str, until: int) -> str:
    text = f"{method}\n{path}\n{until}"
    return hmac.digest(derive_key("link"), text.encode(), "sha256").hex()
