"""How values are written on the command line, and the options that every command takes."""

import json
import tempfile
from argparse import (
    SUPPRESS,
    ArgumentParser,
    ArgumentTypeError,
    Namespace,
    RawDescriptionHelpFormatter,
    _SubParsersAction,
)
from collections.abc import Callable, Iterable
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from evalsite_client.api.agents import Agent
from evalsite_client.cli.show import Answer
from evalsite_client.client import Client
from evalsite_client.errors import InputError

T = TypeVar("T")
Run = Callable[[Client, Namespace], Answer]
Commands = "_SubParsersAction[ArgumentParser]"
SHOWN = 50
UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
MAX_DIGITS = 19
"""Longer numbers are none that the server takes."""


def make_common_options(*, has_file: bool = False) -> ArgumentParser:
    """Return what every command takes, before or after its name.

    has_file: its JSON may also go to a file, while it says on the terminal how far it is.
    """
    parser = ArgumentParser(add_help=False, argument_default=SUPPRESS)
    parser.add_argument("--url", help="address of the server (EVALSITE_URL)")
    parser.add_argument(
        "--token", help="secret of the API (better EVALSITE_TOKEN: others see the command line)"
    )
    if has_file:
        parser.add_argument(
            *("--json",),
            nargs="?",
            const=True,
            type=writable_file,
            metavar="FILE",
            help="answer as JSON, in a file if one is named",
        )
    else:
        parser.add_argument("--json", action="store_true", help="answer as JSON")
    return parser


def add_command(
    commands: "_SubParsersAction[ArgumentParser]",
    name: str,
    run: Run,
    *,
    examples: str = "",
    has_file: bool = False,
) -> ArgumentParser:
    """Return the parser of a new command; its help is the first line of the docstring of `run`."""
    text = (run.__doc__ or "").strip().partition("\n")[0]
    added = commands.add_parser(
        name,
        help=(text[:1].lower() + text[1:].rstrip(".")).replace("%", "%%"),
        description=text,
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=RawDescriptionHelpFormatter,
        parents=[make_common_options(has_file=has_file)],
        allow_abbrev=False,
    )
    added.set_defaults(run=run)
    return added


def read_whole(lowest: int = 0, highest: int | None = None) -> Callable[[str], int]:
    """Return a reader of whole numbers from `lowest` on, to `highest` if there is an end."""
    span = f"from {lowest} on" if highest is None else f"from {lowest} to {highest}"

    def read(text: str) -> int:
        is_number = text.isascii() and text.isdecimal()
        if is_number and len(text) > MAX_DIGITS:
            raise ArgumentTypeError(f"{text:.40} has {len(text)} digits: {MAX_DIGITS} at most")
        if not is_number or not lowest <= int(text) <= (highest or int(text)):
            raise ArgumentTypeError(f"{text!r} is no whole number {span}")
        return int(text)

    return read


def read_within(minimum: float, maximum: float) -> Callable[[str], float]:
    """Return a reader of finite numbers of a range."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise ArgumentTypeError(f"must be a number, got {text!r}") from None
        if not (isfinite(value) and minimum <= value <= maximum):
            raise ArgumentTypeError(f"must be {minimum:g}..{maximum:g}, got {text}")
        return value

    return read


def writable_file(text: str) -> Path:
    """Take a path that can be written, tried before any work is done; no file is left there."""
    path = Path(text)
    try:
        if path.exists():
            with path.open("a", encoding="utf-8"):
                return path
        with tempfile.TemporaryFile(dir=path.parent):
            return path
    except OSError as error:
        raise ArgumentTypeError(f"cannot write {text!r}: {error.strerror}") from None


def read_path(text: str) -> Path:
    """Take a path that exists."""
    path = Path(text)
    if not path.exists():
        raise ArgumentTypeError(f"there is no file or folder {text!r}")
    return path


def split_agents(text: str) -> list[str]:
    """Return the agents of a list: `greedy,mcts:50,exploration=1.4,random` has three.

    A comma before `name=value` goes on with the parameters of the agent before it.
    """
    agents: list[str] = []
    for piece in text.split(","):
        if agents and "=" in piece.partition(":")[0]:
            agents[-1] += f",{piece}"
        else:
            agents.append(piece.strip())
    return agents


def read_seconds(text: str) -> float:
    """Return a number of seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def duration_s(text: str) -> float:
    """Take 60s, 5m, 1h or a number of seconds, up to a day."""
    unit = UNITS.get(text[-1:])
    try:
        value = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= UNITS["d"]:
        raise ArgumentTypeError(f"must be such as 60s, 5m or 1h, got {text!r}")
    return value


def read_pair(text: str) -> tuple[str, Any]:
    """Return name and value of NAME=VALUE; the value as JSON where it is some, else as text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def add_limit(parser: ArgumentParser, default: int | str = SHOWN) -> None:
    """Let a list be cut."""
    parser.add_argument(
        "--limit", type=read_whole(1), default=default, metavar="N", help=f"rows at most ({SHOWN})"
    )


def add_reason(parser: ArgumentParser, *, is_required: bool) -> None:
    """Let or make the caller say why; it is kept in the audit."""
    text = "why: kept with who did it and when"
    parser.add_argument("--reason", required=is_required, default="", help=text)


def take_rows(rows: Iterable[T], options: Namespace) -> tuple[T, ...]:
    """Return as many rows as were asked for."""
    return tuple(islice(rows, options.limit))


def page_size(options: Namespace) -> int:
    """Return how many rows to fetch at once for the limit."""
    return int(min(options.limit, 1_000))


def find_agent(client: Client, text: str, *, game: str, field: str = "agent") -> Agent:
    """Return the agent that an id or a name within a game stands for. Raises InputError."""
    if text.isascii() and text.isdecimal():
        return client.agents.get(int(text))
    agent = client.agents.find(text, game=game)
    if agent is None:
        advice = f"`evalsite agents --game {game}` lists them"
        raise InputError(field, f"there is no agent {text!r} in {game}: {advice}")
    return agent
