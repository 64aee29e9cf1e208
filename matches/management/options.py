"""Types of command-line options; argparse ends with exit code 2 and their message."""

import argparse
import tempfile
from collections.abc import Callable
from math import isfinite
from pathlib import Path


def whole(minimum: int, maximum: int) -> Callable[[str], int]:
    """Return a type that takes integers of a range."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None
        if not minimum <= value <= maximum:
            raise argparse.ArgumentTypeError(f"must be {minimum}..{maximum}, got {value}")
        return value

    return read


def real(minimum: float, maximum: float) -> Callable[[str], float]:
    """Return a type that takes finite numbers of a range."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a number, got {text!r}") from None
        if not (isfinite(value) and minimum <= value <= maximum):
            raise argparse.ArgumentTypeError(f"must be {minimum:g}..{maximum:g}, got {text}")
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
        raise argparse.ArgumentTypeError(f"cannot write {text!r}: {error.strerror}") from None


def existing(text: str) -> Path:
    """Take a path that exists."""
    path = Path(text)
    if not path.exists():
        raise argparse.ArgumentTypeError(f"there is no file or folder {text!r}")
    return path


def pair(text: str) -> tuple[str, str]:
    """Take NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text!r}")
    return name, value
