"""Who may act through the head: the holder of a pass, or somebody on this machine.

What only reads is open. A request is of this machine if it comes over loopback to a loopback name
with nothing in between, and not from a page of somebody else: a browser sends what any page bids.
Behind a proxy that says nothing of its callers all of them look so: then everybody shows a pass.
"""

from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from starlette.requests import HTTPConnection

from arena.passes import PassError, check_pass
from gameservers.errors import GameServerError

_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
BEARER = "Bearer "


class AccessError(GameServerError):
    """A caller may not do this; the message says what it needs."""


def find_pass(connection: HTTPConnection) -> str:
    """Return the pass that a caller shows: `Authorization: Bearer ...`, or `?token=...`."""
    header = connection.headers.get("authorization", "")
    if header.startswith(BEARER):
        return header.removeprefix(BEARER).strip()
    return connection.query_params.get("token", "")


@dataclass(frozen=True)
class Door:
    """Whom the head lets in; key: checks passes; is_behind_proxy: all come over loopback then."""

    key: str = field(default="", repr=False)
    is_behind_proxy: bool = False

    def require_pass(
        self, connection: HTTPConnection, token: str, *subjects: str, now: float
    ) -> None:
        """Raise AccessError unless the pass is for one of the subjects, or none is needed here."""
        if not token and not self.is_behind_proxy and is_local(connection):
            return
        if not token:
            purpose = subjects[0].removesuffix(":")
            whom = "behind a proxy (EVALSITE_PROXIES)" if self.is_behind_proxy else ""
            raise AccessError(
                f"a pass for {purpose} is needed {whom or 'from other machines'}: the web server "
                "makes it (POST /api/v1/passes/), it is shown as `Authorization: Bearer <pass>`"
            )
        if not self.key:
            raise AccessError("this head checks no passes: start it with EVALSITE_PASS_KEY")
        refusal: PassError | None = None
        for subject in subjects:
            try:
                check_pass(self.key, token, subject, now=now)
            except PassError as error:
                refusal = refusal or error
            else:
                return
        raise AccessError(str(refusal))


def is_local(connection: HTTPConnection) -> bool:
    """Return True for a request of this machine, and of no foreign page in its browser."""
    host = connection.headers.get("host", "")
    if connection.client is None or any(name in connection.headers for name in _FORWARDED):
        return False
    return (
        _is_loopback(connection.client.host)
        and _is_loopback(_split_address(f"//{host}").hostname or "")
        and is_same_origin(connection)
    )


def is_same_origin(connection: HTTPConnection) -> bool:
    """Return True unless a page of another address sent this."""
    origin = connection.headers.get("origin")
    return origin is None or _split_address(origin).netloc == connection.headers.get("host")


def _split_address(address: str) -> SplitResult:
    """Return the parts of an address; empty parts where it cannot be read."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
