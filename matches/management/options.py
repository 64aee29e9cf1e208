"""What commands share: types of options, whose refusal is exit code 2, and how one is stopped."""

import argparse
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite

INTERRUPTED = 130
"""The exit code after Ctrl-C or SIGTERM."""


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


def name_value(text: str) -> tuple[str, str]:
    """Take NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text!r}")
    return name, value


@contextmanager
def stop_on_sigterm() -> Iterator[None]:
    """Let SIGTERM raise KeyboardInterrupt, as SIGINT does: what was done is still told."""
    # None: another library handles it, which cannot be put back.
    before = signal.getsignal(signal.SIGTERM) or signal.SIG_DFL
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
