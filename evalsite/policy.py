"""The content security policy: what a page of ours may load and run, and the exceptions from it.

Our own pages carry neither script nor style in their text: what was smuggled into a name or reason
runs nowhere. (django-csp takes exceptions view by view; the admin is a folder of addresses.)
"""

from collections.abc import Awaitable, Callable, Mapping
from inspect import iscoroutinefunction
from typing import Final, NamedTuple

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

Answer = Callable[[HttpRequest], HttpResponseBase]
AsyncAnswer = Callable[[HttpRequest], Awaitable[HttpResponseBase]]

HEADER: Final = "Content-Security-Policy"
OWN: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "font-src": "'self'",
    "connect-src": "'self'",  # of sockets, too
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}


class Exemption(NamedTuple):
    """What a folder of addresses may do besides, and why."""

    folder: str
    reason: str
    directives: Mapping[str, str]


EXEMPTIONS: Final = (
    Exemption(
        "/admin/",
        "The theme (unfold) is written with Alpine.js, which evaluates attributes as code, and its "
        "templates carry scripts and styles. Only staff come here; Django escapes what they see.",
        {
            "script-src": "'self' 'unsafe-inline' 'unsafe-eval'",
            "style-src": "'self' 'unsafe-inline'",
            "img-src": "'self' data:",
        },
    ),
    Exemption(
        "/api/docs/",
        "Swagger UI makes style elements while it draws, and its pictures are data: addresses. Its "
        "scripts are files.",
        {"style-src": "'self' 'unsafe-inline'", "img-src": "'self' data:"},
    ),
)


def build_policy(path: str) -> str:
    """Return the policy of an address."""
    directives = dict(OWN)
    for exemption in EXEMPTIONS:
        if path.startswith(exemption.folder):
            directives |= exemption.directives
    return "; ".join(f"{name} {sources}" for name, sources in directives.items())


@sync_and_async_middleware
def send_policy(get_response: Answer | AsyncAnswer) -> Answer | AsyncAnswer:
    """Return a middleware that sends the policy with every answer."""
    if iscoroutinefunction(get_response):

        async def async_middleware(request: HttpRequest) -> HttpResponseBase:
            response: HttpResponseBase = await get_response(request)
            response.headers[HEADER] = build_policy(request.path)
            return response

        return async_middleware

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        assert isinstance(response, HttpResponseBase)
        response.headers[HEADER] = build_policy(request.path)
        return response

    return middleware
