"""The host file: a machine a line, `user@host[:port] [name of the node]`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arena.credentials import NAME_RULE, is_node_name
from arena.parameters import parse_number
from launcher.errors import SetupError

SSH_PORT: Final = 22
# Neither may begin like an option of ssh.
_USER: Final = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_LINE: Final = re.compile(
    rf"(?:(?P<user>{_USER})@)?(?:\[(?P<ip>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9][A-Za-z0-9_.-]*))"
    r"(?::(?P<port>[0-9]+))?"
)
RULE: Final = "user@host, user@host:port or user@[IPv6]:port, then perhaps a name"


@dataclass(frozen=True)
class Host:
    """A machine and the node on it; an empty user is for ssh to choose."""

    name: str
    host: str
    user: str = ""
    port: int = SSH_PORT

    def __str__(self) -> str:
        """Return it as it is shown and as ssh is told by hand."""
        place = f"{self.user}@{self.host}" if self.user else self.host
        return place if self.port == SSH_PORT else f"{place}:{self.port}"


def read_hosts(path: Path) -> list[Host]:
    """Return the machines of a file. Raises SetupError with a line for each that is wrong."""
    try:
        text = path.read_text()
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise SetupError(f"the host file {path} cannot be read ({why}): name one") from error
    hosts, problems = [], []
    for number, line in _list_lines(text):
        try:
            hosts.append(_read_host(line))
        except SetupError as error:
            problems.append(f"{path}:{number}: {error}")
    problems += [f"{path}: {problem}" for problem in _find_doubles(hosts)]
    if not hosts and not problems:
        problems.append(f"{path} names no machine: write one a line, {RULE}")
    if problems:
        raise SetupError("\n".join(problems))
    return hosts


def _list_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if content := line.partition("#")[0].strip():
            yield number, content


def _read_host(line: str) -> Host:
    place, *names = line.split()
    match = _LINE.fullmatch(place)
    port = parse_number(match["port"] or str(SSH_PORT), lowest=1, highest=65_535) if match else None
    if match is None or port is None or len(names) > 1:
        raise SetupError(f"{line!r:.80} is no machine: write {RULE}")
    host = match["host"] or match["ip"]
    name = names[0] if names else host.replace(":", "-")
    if not is_node_name(name):
        raise SetupError(f"{name!r:.80} is no name of a node: {NAME_RULE}")
    return Host(name, host, match["user"] or "", port)


def _find_doubles(hosts: list[Host]) -> Iterator[str]:
    first: dict[str, Host] = {}
    for host in hosts:
        other = first.setdefault(host.name, host)
        if other is not host:
            yield (
                f"the name {host.name} stands for {other} and for {host}: "
                "give each node a name of its own, behind its host"
            )
