"""Who sends a request: its address, one rule for throttling, lock-outs and metrics; may it read."""

from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest

UNKNOWN_ADDRESS: Final = "0.0.0.0"
"""Of a request over a Unix socket, or where a proxy wrote no address: all of them count as one."""
IPV6_PREFIX: Final = 64


def find_client_address(request: HttpRequest) -> str:
    """Return the address of the client as the outermost of our own proxies saw it.

    X-Forwarded-For grows at its right: only its last EVALSITE_PROXIES entries were written by
    proxies of ours, what stands left of them is whatever the client sent.
    """
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    n_proxies: int = settings.EVALSITE_PROXIES
    hop = hops[-min(n_proxies, len(hops))] if n_proxies else ""
    address = _parse_address(hop) or _parse_address(request.META.get("REMOTE_ADDR", ""))
    return UNKNOWN_ADDRESS if address is None else str(address)


def find_counted_address(request: HttpRequest) -> str:
    """Return what stands for a client where something is counted: of IPv6 its /64.

    A single IPv6 customer has 2**64 addresses: counted one by one, none would reach a limit.
    """
    address = ip_address(find_client_address(request))
    if isinstance(address, IPv4Address):
        return str(address)
    bits = 128 - IPV6_PREFIX
    return str(IPv6Address(int(address) >> bits << bits))


def _parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address; some proxies write it with a port, or in brackets."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    # ::ffff:1.2.3.4 and 1.2.3.4 are one client: counted apart, it would have two limits.
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def may_read(user: Any) -> bool:
    """Say whether a user (None: nobody is logged in) may see what is public on an open site."""
    return bool(settings.EVALSITE_PUBLIC_READ) or (user is not None and user.is_authenticated)
