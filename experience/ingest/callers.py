"""Who uploads: looked up in the database once in some seconds and not for every chunk."""

from collections.abc import Callable
from hashlib import sha256
from typing import Final

from channels.db import database_sync_to_async

KEPT_S: Final = 5.0
"""For so long a token that has been revoked, or has lost its scope, may still upload."""
MOST_KEPT: Final = 10_000

_users: dict[str, tuple[int, float]] = {}
"""By the digest of what was shown: the user's key, and until when that holds."""


async def find_user(
    credentials: str, check: Callable[[], int], *, clock: Callable[[], float]
) -> int:
    """Return the key of the user that shows this token.

    check: looks it up, and raises what is to be answered where it may not upload: that is not kept.
    """
    digest = sha256(credentials.encode()).hexdigest()
    cached_user, until_s = _users.get(digest, (0, -1.0))
    if clock() < until_s:
        return cached_user
    user: int = await database_sync_to_async(check)()
    if len(_users) >= MOST_KEPT:
        _users.clear()
    _users[digest] = (user, clock() + KEPT_S)
    return user
