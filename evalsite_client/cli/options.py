"""How values are written on the command line, and the options that every command takes."""

import json
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
from typing import Any, TypeVar

from evalsite_client.api.agents import Agent
from evalsite_client.cli.show import Answer
from evalsite_client.client import Client
from evalsite_client.errors import InputError

T = TypeVar("T")
Run = Callable[[Client, Namespace], Answer]
Commands = "_SubParsersAction[ArgumentParser]"
SHOWN = 50


def common() -> ArgumentParser:
    """Return what every command takes, before or after its name."""
    parser = ArgumentParser(add_help=False, argument_default=SUPPRESS)
    parser.add_argument("--url", help="address of the server (EVALSITE_URL)")
    parser.add_argument(
        "--token", help="secret of the API (better EVALSITE_TOKEN: others see the command line)"
    )
    parser.add_argument("--json", action="store_true", help="answer as JSON")
    return parser


def command(
    commands: "_SubParsersAction[ArgumentParser]", name: str, run: Run, *, examples: str = ""
) -> ArgumentParser:
    """Return the parser of a new command; its help is the first line of the docstring of `run`."""
    text = (run.__doc__ or "").strip().partition("\n")[0]
    added = commands.add_parser(
        name,
        help=(text[:1].lower() + text[1:].rstrip(".")).replace("%", "%%"),
        description=text,
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=RawDescriptionHelpFormatter,
        parents=[common()],
        allow_abbrev=False,
    )
    added.set_defaults(run=run)
    return added


def whole(lowest: int = 0) -> Callable[[str], int]:
    """Return a reader of whole numbers from `lowest` on."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or int(text) < lowest:
            raise ArgumentTypeError(f"{text!r} is no whole number from {lowest} on")
        return int(text)

    return read


def seconds(text: str) -> float:
    """Return a number of seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def amount(text: str) -> float:
    """Return a number from 0 on."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ArgumentTypeError(f"{text!r} is no number from 0 on")
    return value


def pair(text: str) -> tuple[str, Any]:
    """Return name and value of NAME=VALUE; the value as JSON where it is some, else as text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def add_limit(parser: ArgumentParser) -> None:
    """Let a list be cut."""
    parser.add_argument(
        "--limit", type=whole(1), default=SHOWN, metavar="N", help=f"rows at most ({SHOWN})"
    )


def add_reason(parser: ArgumentParser, *, is_required: bool) -> None:
    """Let or make the caller say why; it is kept in the audit."""
    text = "why: kept with who did it and when"
    parser.add_argument("--reason", required=is_required, default="", help=text)


def first(found: Iterable[T], options: Namespace) -> tuple[T, ...]:
    """Return as many rows as were asked for."""
    return tuple(islice(found, options.limit))


def page_size(options: Namespace) -> int:
    """Return how many rows to fetch at once for the limit."""
    return int(min(options.limit, 1_000))


def agent(client: Client, text: str, *, game: str, field: str = "agent") -> Agent:
    """Return the agent that an id or a name within a game stands for. Raises InputError."""
    if text.isascii() and text.isdecimal():
        return client.agents.get(int(text))
    found = client.agents.find(text, game=game)
    if found is None:
        known = f"`evalsite agents --game {game}` lists them"
        raise InputError(field, f"there is no agent {text!r} in {game}: {known}")
    return found
