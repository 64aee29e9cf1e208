"""Readers of option values that several commands of `./run` take, and of their variables."""

import argparse
from collections.abc import Callable, Mapping
from typing import Final

from arena.parameters import HIGHEST_KEY, parse_number
from launcher.errors import SetupError

FLAGS: Final = {
    "1": True,
    "true": True,
    "on": True,
    "0": False,
    "false": False,
    "off": False,
    "": False,
}


def whole_number(lowest: int, highest: int = HIGHEST_KEY) -> Callable[[str], int]:
    """Return a reader of option values that are whole numbers from `lowest` on."""
    span = f"from {lowest} on" if highest == HIGHEST_KEY else f"from {lowest} to {highest}"

    def read(text: str) -> int:
        if (number := parse_number(text, lowest=lowest, highest=highest)) is None:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number {span}")
        return number

    return read


def read_switch(environment: Mapping[str, str], name: str) -> bool:
    """Return whether a variable is on; SetupError names one that is neither on nor off."""
    text = environment.get(name, "")
    if text.lower() not in FLAGS:
        raise SetupError(f"{name} is {text!r}; choose 1 or 0")
    return FLAGS[text.lower()]


def read_count(
    environment: Mapping[str, str], name: str, lowest: int, *, highest: int = HIGHEST_KEY
) -> int:
    """Return a variable that is a whole number, the lowest where it is not set."""
    try:
        return whole_number(lowest, highest)(environment.get(name, str(lowest)))
    except argparse.ArgumentTypeError as error:
        raise SetupError(f"{name}: {error}") from None
