"""What commands share: types of options, whose refusal is exit code 2."""

import argparse
from collections.abc import Callable
from math import isfinite


def int_in(minimum: int, maximum: int) -> Callable[[str], int]:
    """Return a type that takes integers of a range."""

    def read_number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None
        if not minimum <= value <= maximum:
            raise argparse.ArgumentTypeError(f"must be {minimum}..{maximum}, got {value}")
        return value

    return read_number


def float_in(minimum: float, maximum: float) -> Callable[[str], float]:
    """Return a type that takes finite numbers of a range."""

    def read_number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a number, got {text!r}") from None
        if not (isfinite(value) and minimum <= value <= maximum):
            raise argparse.ArgumentTypeError(f"must be {minimum:g}..{maximum:g}, got {text}")
        return value

    return read_number
