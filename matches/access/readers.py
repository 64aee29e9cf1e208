"""Who may look: everybody, or with EVALSITE_PUBLIC_READ=0 only who has logged in. One rule."""

from typing import Any

from django.conf import settings


def may_read(user: Any) -> bool:
    """Say whether a user (None: nobody is logged in) may see what is public on an open site."""
    return bool(settings.EVALSITE_PUBLIC_READ) or (user is not None and user.is_authenticated)
