"""Types of command-line options; argparse ends with exit code 2 and their message."""

import argparse
from collections.abc import Callable
from math import isfinite


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


def pair(text: str) -> tuple[str, str]:
    """Take NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text!r}")
    return name, value
