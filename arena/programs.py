"""Programs that decide for agents: only those that the operator of a play node lists there.

    EVALSITE_PROGRAMS="stockfish=/usr/games/stockfish; mine=/opt/mine/.venv/bin/python mine.py"

An agent names an entry of this list, never a path: what a user sends is not started.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from shutil import which
from urllib.parse import urlsplit

from arena.errors import ProgramListError
from arena.needs import PROGRAM

VARIABLE = "EVALSITE_PROGRAMS"
MAX_PROGRAMS = 50
NAME_RULE = "up to 16 small letters, digits and _ -, a letter first"
_NAME = re.compile("[a-z][a-z0-9_-]{0,15}")
_SCHEMES = ("http", "https")
_HIGHEST_PORT = 65_535


@dataclass(frozen=True)
class Program:
    """An entry of the list: a command that is started, or an address that is asked."""

    name: str
    command: tuple[str, ...] = ()
    address: str = ""

    @property
    def is_there(self) -> bool:
        """Whether it can be started here; an address is tried by the node."""
        return bool(self.address) or which(self.command[0]) is not None


def is_program_name(name: str) -> bool:
    """Say whether an entry may have this name."""
    return _NAME.fullmatch(name) is not None


def name_capability(program: str) -> str:
    """Return what a node has that lists the program."""
    return f"{PROGRAM}{program}"


def read_programs(text: str) -> dict[str, Program]:
    """Return the programs of a list by their names. Raises ProgramListError for what is none."""
    programs: dict[str, Program] = {}
    # Of both signs, as a list of many is read better with one a line. Neither can be in a command.
    for entry in filter(None, map(str.strip, text.replace("\n", ";").split(";"))):
        program = _read_entry(entry)
        if program.name in programs:
            raise ProgramListError(program.name, "each name stands once")
        programs[program.name] = program
    if len(programs) > MAX_PROGRAMS:
        raise ProgramListError(f"{len(programs)} entries", f"at most {MAX_PROGRAMS} are taken")
    return programs


def format_programs(programs: Mapping[str, Program]) -> str:
    """Return the list as text that reads back the same, without spaces around its separators.

    In the files of supervisord a `;` behind a space would begin a comment.
    """
    targets = {
        program.name: program.address or shlex.join(program.command)
        for program in programs.values()
    }
    return ";".join(f"{name}={target}" for name, target in targets.items())


def _read_entry(entry: str) -> Program:
    name, equals, target = (part.strip() for part in entry.partition("="))
    if not (equals and is_program_name(name)):
        raise ProgramListError(entry, f"name=command or name=address is needed, name: {NAME_RULE}")
    if target.startswith(tuple(f"{scheme}://" for scheme in _SCHEMES)):
        if refusal := _refuse_address(target):
            raise ProgramListError(name, refusal)
        return Program(name, address=target)
    try:
        command = tuple(shlex.split(target))
    except ValueError as error:
        raise ProgramListError(name, f"its command cannot be read: {error}") from None
    if not command:
        raise ProgramListError(name, "a command or an address must stand behind the =")
    return Program(name, command)


def _refuse_address(address: str) -> str:
    """Return why it is no address to ask; empty for one that is."""
    try:
        parts = urlsplit(address)
        is_port = parts.port is None or 0 < parts.port <= _HIGHEST_PORT
    except ValueError:
        is_port = False
    return "" if is_port and parts.hostname else "its address needs a host, and a port if any"
