"""Options that the benchmarks share."""

import json
import os
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from pathlib import Path


def parser(name: str, description: str) -> ArgumentParser:
    """Return a parser with --json FILE; its errors exit with status 2."""
    made = ArgumentParser(prog=f"benchmarks.{name}", description=description)
    made.add_argument("--json", type=writable, metavar="FILE", help="write the figures to FILE")
    return made


def writable(text: str) -> Path:
    """Return the path if a file can be written there; so it is refused before the work starts."""
    path = Path(text)
    if path.is_dir():
        raise ArgumentTypeError(f"{text!r} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise ArgumentTypeError(f"{text!r} cannot be written: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ArgumentTypeError(f"{text!r} cannot be written: permission denied")
    return path


def write_json(path: Path | None, figures: dict[str, object]) -> None:
    """Write the figures, if a path was given."""
    if path is not None:
        path.write_text(json.dumps(figures, indent=2) + "\n")


def whole(lowest: int) -> Callable[[str], int]:
    """Return a type that takes whole numbers from `lowest` on."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < lowest:
            raise ArgumentTypeError(f"must be a whole number from {lowest} on, got {text!r}")
        return int(text)

    return read


def seconds(lowest: float) -> Callable[[str], float]:
    """Return a type that takes a number of seconds from `lowest` on."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise ArgumentTypeError(f"must be a number of seconds, got {text!r}") from None
        if not lowest <= value < float("inf"):
            raise ArgumentTypeError(f"must be {lowest:g} s or more, got {text!r}")
        return value

    return read
