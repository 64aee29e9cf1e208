"""Ports and addresses that the processes of the stack share."""

import errno
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, fields
from ipaddress import ip_address
from os.path import normpath
from random import SystemRandom
from urllib.parse import unquote, urlsplit

import psutil

from arena.acl import SERVERS
from arena.parameters import parse_number
from launcher.errors import SetupError

WEB_PORT = 8000
BROKER_PORT = 7379
FAST_PORT = 7380
STREAM_PORT = 7381
HEAD_PORT = 8080
HIGHEST_PORT = 65535
REDIS_PORT = 6379
"""Of an address that names none."""
IPV4 = 4
# Below those that Linux and macOS give to outgoing connections, above the well-known ones.
SERVED_PORTS = (10_000, 32_000)
LOOPBACK = "127.0.0.1"
IN_A_PASSWORD = "in a password write / # ? @ as %2F %23 %3F %40"
# What others may reach: it listens where EVALSITE_HOST says.
SHOWN = ("web", "head")


def redis_url(port: int, host: str = LOOPBACK) -> str:
    """Return the address of a Valkey server on this machine."""
    return f"redis://{f'[{host}]' if ':' in host else host}:{port}/0"


def check_bound(host: str) -> str:
    """Return an address at which other machines find this one. Raises SetupError for another."""
    try:
        address = ip_address(host)
    except ValueError:
        address = None
    if address is None or address.is_unspecified or address.is_multicast:
        raise SetupError(
            f"--bind {host!r:.60}: must be one IP address of this machine, the one by which the "
            "others find it"
        )
    try:
        with socket.socket(socket.AF_INET if address.version == IPV4 else socket.AF_INET6) as probe:
            probe.bind((str(address), 0))
    except OSError as error:
        raise SetupError(f"--bind {host}: no address of this machine: {error}") from error
    return str(address)


def describe_bound(environment: Mapping[str, str], host: str, ports: "Ports") -> dict[str, str]:
    """Return what the web server must know that is reached at this address."""
    site = site_address(host, ports.web)
    names = ",".join((LOOPBACK, "localhost", "[::1]", urlsplit(site).netloc.rpartition(":")[0]))
    variables = {"EVALSITE_ALLOWED_HOSTS": names, "EVALSITE_SITE_URL": site}
    return {name: environment.get(name) or value for name, value in variables.items()}


def site_address(host: str, port: int) -> str:
    """Return where a browser on this machine finds the web server."""
    shown_host = LOOPBACK if host in {"0.0.0.0", "::"} else host
    return f"http://[{shown_host}]:{port}" if ":" in shown_host else f"http://{shown_host}:{port}"


def without_password(url: str) -> str:
    """Return the address fit for a terminal or a log."""
    parts = urlsplit(url)
    if not parts.password:
        return url
    return url.replace(f":{parts.password}@", ":***@")


def check_server_address(name: str, url: str) -> None:
    """Raise SetupError for an address that programs read differently or not; it shows no login."""
    try:
        parts = urlsplit(url)
        is_redis = parts.scheme.startswith("redis")
        tail = f"{parts.path}{parts.query}{parts.fragment}"
        has_login_left = (parts.port and "@" in tail) or (is_redis and "@" in parts.path)
    except ValueError:
        raise SetupError(f"{name} cannot be read; {IN_A_PASSWORD}") from None
    if name == "REDIS_URL" and parts.scheme == "unix":
        reason = "the queues take a server by host and port, such as redis://127.0.0.1:6379/0"
        raise SetupError(f"{name} is a socket; {reason}")
    if has_login_left:
        raise SetupError(f"{name} has an @ behind its host; {IN_A_PASSWORD}")
    if is_redis and not re.fullmatch(r"/{0,2}[0-9]*", parts.path):
        raise SetupError(f"{name} ends with {parts.path!r}; the number of a database, such as /0")


def find_place(url: str) -> str:
    """Return host and port of a Redis server, or its socket, alike however that is written."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return f"unix:{normpath(unquote(parts.path))}"
    host = LOOPBACK if parts.hostname in {None, "localhost"} else parts.hostname
    return f"{f'[{host}]' if ':' in host else host}:{parts.port or REDIS_PORT}"


@dataclass(frozen=True)
class Ports:
    """Where the processes listen; each can be changed by the variable of the same name."""

    web: int = WEB_PORT
    flower: int = 5555
    broker: int = BROKER_PORT
    fast: int = FAST_PORT
    head: int = HEAD_PORT
    stream: int = STREAM_PORT

    @staticmethod
    def variable(name: str) -> str:
        """Return the environment variable that sets this port."""
        return "EVALSITE_PORT" if name == "web" else f"EVALSITE_{name.upper()}_PORT"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Ports":
        """Return the ports of the environment, the defaults for those it does not set."""
        set_ports = {
            field.name: _read_port(variable, environment[variable])
            for field in fields(cls)
            if (variable := cls.variable(field.name)) in environment
        }
        return cls(**set_ports)

    @classmethod
    def free(cls) -> "Ports":
        """Return ports that are free now, and that no outgoing connection takes meanwhile."""
        ports: set[int] = set()
        # Drawn, not counted up: stacks that start at the same time shall not meet at one port.
        while len(ports) < len(fields(cls)):
            port = SystemRandom().randrange(*SERVED_PORTS)
            if not why_unusable(LOOPBACK, port):
                ports.add(port)
        return cls(*ports)

    def environment(self) -> dict[str, str]:
        """Return the variables that set these ports."""
        return {self.variable(field.name): str(getattr(self, field.name)) for field in fields(self)}

    def require_free(self, names: list[str], *, host: str, bind: str = LOOPBACK) -> None:
        """Raise SetupError that names every port that cannot be used, why, and what to change.

        host: where web server and head listen; bind: where the other servers do, besides loopback.
        """
        problems = []
        for name in names:
            port, hosts = getattr(self, name), {host} if name in SHOWN else {LOOPBACK}
            hosts |= {bind} if name in SERVERS else set()
            reasons = (why_unusable(host, port) for host in sorted(hosts))
            if reason := next(filter(None, reasons), ""):
                problems.append(f"port {port} {reason}: end it, or set {self.variable(name)}")
        if problems:
            raise SetupError("\n".join(problems))


def _read_port(variable: str, text: str) -> int:
    if (port := parse_number(text, lowest=1, highest=HIGHEST_PORT)) is None:
        raise SetupError(f"{variable} is {text!r}; a port from 1 to {HIGHEST_PORT} is needed")
    return port


def why_unusable(host: str, port: int) -> str:
    """Return why nothing can listen there, and who does; empty where it is free."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            # As the servers do: what a connection that has ended left behind does not count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except PermissionError:
        return "needs more rights"
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return f"is in use{_find_owner(port)}"
        raise SetupError(
            f"EVALSITE_HOST is {host!r}, no address of this machine: {error}"
        ) from error
    return ""


def _find_owner(port: int) -> str:
    """Return " by pid 12 (name)", or nothing where the system does not tell."""
    try:
        connections = psutil.net_connections("tcp")
        pids = [c.pid for c in connections if c.laddr and c.laddr[1] == port and c.pid]
        return f" by pid {pids[0]} ({psutil.Process(pids[0]).name()})" if pids else ""
    except psutil.Error:
        return ""
