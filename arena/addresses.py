"""Which addresses of game servers may be connected to: pure, neither a socket nor a look-up here.

An address that somebody enters or discovery finds is read once (`read_address`), its host is looked
up once by the caller, and `admit` says which of the IP addresses may be connected to, or refuses.
The caller connects to that IP address and hands it on, never the name, so that a name that points
elsewhere the next moment leads nowhere; it follows no redirect and goes through no proxy.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from arena.errors import ArenaError
from arena.parameters import parse_number

IP = IPv4Address | IPv6Address
Networks = tuple[IPv4Network | IPv6Network, ...]

VARIABLE: Final = "EVALSITE_SERVER_NETWORKS"
LOOPBACK: Final = "127.0.0.0/8,::1"
"""What is allowed where the variable is not set and the web server serves this machine only."""
HIGHEST_PORT: Final = 65_535
MAX_ADDRESS: Final = 300

# Never of a server, whoever lists them: no host, everybody, and what forwards to another address.
_NEVER: Final = tuple(
    map(
        ip_network,
        (
            *("0.0.0.0/8", "224.0.0.0/4", "255.255.255.255/32", "::/128", "ff00::/8"),
            # IPv4 within IPv6 (compatible, translated, 6to4, Teredo): a way round a list of IPv4.
            *("::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"),
        ),
    )
)
# Allowed by a network that lies within them only: 0.0.0.0/0 lists no private network, and
# 169.254.0.0/16 not the address from which a cloud tells its machines their secrets. Narrow first.
_SPECIAL: Final = tuple(
    map(
        ip_network,
        (
            *("169.254.169.254/32", "169.254.170.2/32", "100.100.100.200/32", "168.63.129.16/32"),
            *("192.0.0.192/32", "fd00:ec2::254/128", "fd20:ce::254/128"),
            *("127.0.0.0/8", "::1/128", "169.254.0.0/16", "fe80::/10"),
            *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"),
            *("192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
            *("240.0.0.0/4", "fec0::/10", "2001:db8::/32"),
        ),
    )
)
_LABEL: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_PATH: Final = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")
_SCHEMES: Final = {"": False, "ws": False, "http": False, "wss": True, "https": True}
_RULE: Final = "host:port, [IPv6]:port, ws://host:port or wss://host:port"


_LOGIN: Final = re.compile(r".*@", re.DOTALL)


class AddressError(ArenaError):
    """An address or a network that may not be used; the message names it and what to do."""


@dataclass(frozen=True)
class Address:
    """Where a game server listens, as it was written."""

    host: str
    port: int
    is_tls: bool = False
    path: str = "/"

    def __str__(self) -> str:
        """Return host:port, an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def ip(self) -> IP | None:
        """The host where it is an IP address, None where it is a name."""
        return _read_ip(self.host)

    def url(self, ip: IP | None = None) -> str:
        """Return the WebSocket address, of an IP address instead of the host where one is given."""
        address = Address(str(ip), self.port) if ip else self
        return f"{'wss' if self.is_tls else 'ws'}://{address}{self.path}"


def read_networks(text: str) -> Networks:
    """Return the networks of a list such as 10.1.0.0/16,fd00::/8. Raises AddressError."""
    networks = []
    for part in filter(None, map(str.strip, text.split(","))):
        try:
            networks.append(ip_network(part))
        except ValueError as error:
            rule = "networks such as 10.1.0.0/16,fd00::/8, with no bit set behind the prefix"
            raise AddressError(f"{VARIABLE}: {part!r:.100} is no network: list {rule}") from error
    return tuple(networks)


def networks_of(environ: Mapping[str, str]) -> Networks:
    """Return the networks in which game servers may be. Raises AddressError.

    Where they are not named: loopback when the web server serves this machine only, else none.
    """
    if (text := environ.get(VARIABLE)) is not None:
        return read_networks(text)
    serves = _read_ip(environ.get("EVALSITE_HOST") or "127.0.0.1")
    return read_networks(LOOPBACK) if serves is not None and serves.is_loopback else ()


def read_address(text: str) -> Address:
    """Return a server's address. Raises AddressError for what is none, or could be read two ways.

    Takes host:port, [IPv6]:port, and either behind ws://, wss://, http:// or https://, with a path.
    """
    if len(text) > MAX_ADDRESS or not (text.isascii() and text.isprintable()):
        raise AddressError(f"{hide_login(text)!r:.100} is no address of a server: write {_RULE}")
    scheme, mark, tail = text.rpartition("://")
    place, slash, path = tail.partition("/")
    host, colon, digits = place.rpartition(":")
    if not colon and mark:
        host, digits = place, "443" if _SCHEMES.get(scheme.lower()) else "80"
    port = parse_number(digits, lowest=1, highest=HIGHEST_PORT)
    is_known = bool(scheme) == bool(mark) and scheme.lower() in _SCHEMES
    if not is_known or port is None or not _PATH.fullmatch(slash + path):
        raise AddressError(f"{hide_login(text)!r:.100} is no address of a server: write {_RULE}")
    return Address(_read_host(host, text), port, _SCHEMES[scheme.lower()], slash + path or "/")


def hide_login(text: str) -> str:
    """Return what was written for an address without the user's name and password in it."""
    return _LOGIN.sub("***@", text, count=1)


def _read_host(host: str, text: str) -> str:
    is_bracketed = host.startswith("[") and host.endswith("]")
    bare = host[1:-1] if is_bracketed else host
    ip = _read_ip(bare)
    if ip is not None and is_bracketed == (ip.version == 6):  # noqa: PLR2004
        return str(ip)
    labels = bare.removesuffix(".").split(".")
    # What ends in a number is an IP address to every resolver, in octal, hexadecimal or as one
    # number: 0177.1, 0x7f000001, 2130706433. It is written in one way or refused.
    if is_bracketed or re.fullmatch(r"[0-9]+|0[xX][0-9A-Fa-f]*", labels[-1]):
        rule = "four decimal numbers, an IPv6 address in brackets"
        raise AddressError(
            f"{hide_login(text)!r:.100}: write the IP address of a server in full: {rule}"
        )
    if not all(map(_LABEL.fullmatch, labels)):
        raise AddressError(f"{hide_login(text)!r:.100} names no host: write {_RULE}")
    return bare.lower()


def _read_ip(text: str) -> IP | None:
    try:
        ip = ip_address(text)
    except ValueError:
        return None
    # A zone names a card of one machine, and is handed on to others here.
    return None if getattr(ip, "scope_id", None) else ip


def refuse_ip(ip: IP, networks: Networks) -> str:
    """Return why a server of this IP address is not connected to; empty where it may be.

    networks: those that are allowed. Link-local addresses, those of a cloud's metadata, private
    ones and loopback are allowed only by a network that holds no others.
    """
    ip = unmap(ip)
    if any(ip in network for network in _NEVER) and not ip.is_loopback:
        return f"{ip} is no address of one host"
    listed = [network for network in networks if ip in network]
    if special := next((network for network in _SPECIAL if ip in network), None):
        listed = [network for network in listed if _lies_within(network, special)]
    if listed:
        return ""
    if special is not None:
        advice = f"a network within {special} there allows it"
    else:
        advice = "add its network there where it is yours"
    return f"{ip} is outside {VARIABLE} ({', '.join(map(str, networks)) or 'none'}): {advice}"


def unmap(ip: IP) -> IP:
    """Return the IPv4 address that an IPv6 address such as ::ffff:127.0.0.1 stands for, or it."""
    return getattr(ip, "ipv4_mapped", None) or ip


def _lies_within(network: IPv4Network | IPv6Network, other: IPv4Network | IPv6Network) -> bool:
    # Both hold one address, so they are of one version; the names of their ends are the same.
    return network.prefixlen >= other.prefixlen and network.network_address in other


def admit(address: Address, found_ips: Sequence[str], networks: Networks) -> tuple[IP, ...]:
    """Return the IP addresses of a server that may be connected to. Raises AddressError.

    found_ips: what one look-up of its host gave; not used where the host is an IP address. One
    refused among them refuses all: a name half of which leads inside is no slip.
    """
    own = address.ip
    ips = [own] if own is not None else [ip for text in found_ips if (ip := _read_ip(text))]
    if not ips:
        raise AddressError(f"{address}: the name {address.host} has no IP address")
    for ip in ips:
        if refusal := refuse_ip(ip, networks):
            raise AddressError(f"{address}: {refusal}")
    return tuple(dict.fromkeys(map(unmap, ips)))
