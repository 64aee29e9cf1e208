"""Readers of option values that several commands of `./run` take."""

import argparse
from collections.abc import Callable

from arena.parameters import HIGHEST_KEY, parse_number


def whole_number(lowest: int, highest: int = HIGHEST_KEY) -> Callable[[str], int]:
    """Return a reader of option values that are whole numbers from `lowest` on."""
    span = f"from {lowest} on" if highest == HIGHEST_KEY else f"from {lowest} to {highest}"

    def read(text: str) -> int:
        if (number := parse_number(text, lowest=lowest, highest=highest)) is None:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number {span}")
        return number

    return read
