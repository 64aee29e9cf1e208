"""The gate of a closed site: with EVALSITE_PUBLIC_READ=0 an address is open only if it stands here.

So a page that somebody adds is closed until it is listed. Sockets have the same rule in
`live/routing.py`.
"""

from typing import Any, Final

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin

from matches.access.visitors import may_read
from matches.api.permissions import MayRead

# By the name of the address, each with its reason.
OPEN: Final = {
    "login": "how to get in",
    "logout": "how to leave",
    "admin-login": "how to get in",
    "favicon": "a picture, as all of static/",
    "healthz": "for machines: this process answers, nothing else is said",
    "readyz": "for machines: tells a stranger yes or no, not why",
    "metrics": "has a token of its own; without one it is closed by the same rule",
    "checkpoint-file": "nodes show a signed link that ends",
    "trajectory-piece": "nodes show a signed link that ends",
    "no-such-address": "says that there is nothing",
}


class Gate(MiddlewareMixin):
    """Sends who may not read to the login."""

    def __init__(self, get_response: Any) -> None:
        """Stand aside on an open site: each request would pay for a change of thread."""
        if may_read(None):
            raise MiddlewareNotUsed
        super().__init__(get_response)

    def process_view(
        self, request: HttpRequest, view: Any, _args: object, _kwargs: object
    ) -> HttpResponse | None:
        """Return the way to the login, or None to go on."""
        place = request.resolver_match
        assert place is not None
        # DRF decides by the same rule later: it reads tokens, which no middleware knows.
        permissions = getattr(getattr(view, "cls", None), "permission_classes", ())
        if any(issubclass(permission, MayRead) for permission in permissions):
            return None
        if place.view_name in OPEN or may_read(request.user):
            return None
        login = "admin:login" if place.app_names == ["admin"] else "login"
        return redirect_to_login(request.get_full_path(), reverse(login))
