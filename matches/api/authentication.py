"""How a caller says who it is: a token, a session of the admin, or for a new token a password."""

import re
from typing import Any, Final

from axes.helpers import get_cool_off
from django.utils import timezone
from drf_spectacular.authentication import BasicScheme
from drf_spectacular.contrib.knox_auth_token import KnoxTokenScheme
from knox.auth import TokenAuthentication as KnoxTokenAuthentication
from knox.crypto import hash_token
from knox.models import AuthToken
from rest_framework.authentication import BasicAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from matches.api.throttling import count_refused

MAX_NAME = 150
"""As many as Django's User.username takes."""
_TOKEN: Final = re.compile(rb"[0-9a-f]{64}")


class TokenAuthentication(KnoxTokenAuthentication):  # type: ignore[misc]  # knox has no types
    """Tokens of knox, found by their digest; a request deletes none."""

    def authenticate(self, request: Request) -> tuple[Any, AuthToken] | None:
        """Return user and token, None without one. Raises AuthenticationFailed, Throttled."""
        try:
            login: tuple[Any, AuthToken] | None = super().authenticate(request)
        except AuthenticationFailed:
            count_refused(request)
            raise
        return login

    def authenticate_credentials(self, token: bytes) -> tuple[Any, AuthToken]:
        """Return user and token. Raises AuthenticationFailed."""
        # Of another form it is none of ours: the database need not be asked.
        login = self._find_token(token.decode()) if _TOKEN.fullmatch(token) else None
        if login is None or (login.expiry is not None and login.expiry < timezone.now()):
            raise AuthenticationFailed("the token is unknown, revoked or expired: get a new one")
        user, auth = self.validate_user(login)
        return user, auth

    def _find_token(self, token: str) -> AuthToken | None:
        # Only with its access: a token whose parent is gone has lost it.
        related = AuthToken.objects.select_related("user", "access")
        return related.filter(digest=hash_token(token), access__isnull=False).first()


class TokenScheme(KnoxTokenScheme):  # type: ignore[no-untyped-call]
    """Describes the tokens in the schema."""

    target_class = "matches.api.authentication.TokenAuthentication"
    name = "token"


class PasswordScheme(BasicScheme):  # type: ignore[no-untyped-call]
    """Describes name and password in the schema."""

    target_class = "matches.api.authentication.PasswordAuthentication"
    name = "password"


class PasswordAuthentication(BasicAuthentication):
    """A user's name and password; too many wrong ones lock them out as at the admin's login."""

    def authenticate_credentials(
        self, userid: str, password: str, request: Request | None = None
    ) -> tuple[Any, None]:
        """Return the user. Raises AuthenticationFailed."""
        # PostgreSQL takes no such text, and axes would write it down.
        if "\x00" in userid or len(userid) > MAX_NAME:
            raise AuthenticationFailed(f"a name has up to {MAX_NAME} characters and no NUL")
        django_request: Any = getattr(request, "_request", request)
        try:
            user, _ = super().authenticate_credentials(userid, password, django_request)
        except AuthenticationFailed:
            if getattr(django_request, "axes_locked_out", False):
                # Taken back: else the middleware of axes puts a page of its own over this answer.
                django_request.axes_locked_out = False
                raise Throttled(wait=get_cool_off().total_seconds()) from None
            raise
        return user, None
