"""What an option of a plan is; options.py lists them, written from the server's plans."""

from collections.abc import Iterable
from typing import Any, NamedTuple


class Option(NamedTuple):
    """One option: its type, its limits, and its flags on the command line.

    kind: text, whole, real, truth, pairs (names and values) or json. scale: what one unit on the
    command line is worth in the API. group: of its options at most one is given. is_asked: a
    forecast takes it.
    """

    name: str
    kind: str
    help: str
    default: Any
    flags: tuple[str, ...]
    is_required: bool = False
    is_nullable: bool = False
    minimum: float | None = None
    maximum: float | None = None
    max_length: int | None = None
    fixed: tuple[str, ...] = ()
    scale: float = 1
    group: str = ""
    is_asked: bool = False


def find_option(options: Iterable[Option], name: str) -> Option:
    """Return the option of a name."""
    return next(option for option in options if option.name == name)
