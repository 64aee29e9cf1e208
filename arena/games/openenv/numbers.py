"""How the fields of an observation become numbers, by what a catalog file says of each.

`Log(5)`: log(1 + x) / 5; `2`: x / 2, of a bool 0 or 1 / 2; `("calm", "burst")`: one-hot of what it
may be; `Numbers(9)`: nine numbers, as nested or flat lists.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import copysign, isfinite, log1p
from typing import ClassVar, Final, Protocol

MAX: Final = 3.4e38
"""Beyond this a number has no place in float32."""


class Reader(Protocol):
    """Reads one field."""

    @property
    def size(self) -> int:
        """How many numbers it gives."""
        ...

    def read(self, value: object) -> list[float]:
        """Return the numbers of a value. Raises ValueError: what it must be."""
        ...


@dataclass(frozen=True)
class Number:
    """A number, divided by `scale`."""

    scale: float = 1.0
    size: ClassVar[int] = 1

    def read(self, value: object) -> list[float]:
        """Return one number. Raises ValueError."""
        return [_read_number(value) / self.scale]


@dataclass(frozen=True)
class Log:
    """A number without a bound: log(1 + x) / scale, of a negative one -log(1 - x) / scale."""

    scale: float = 1.0
    size: ClassVar[int] = 1

    def read(self, value: object) -> list[float]:
        """Return one number. Raises ValueError."""
        number = _read_number(value)
        return [copysign(log1p(abs(number)), number) / self.scale]


@dataclass(frozen=True)
class Numbers:
    """So many numbers in nested or flat lists, each divided by `scale`."""

    size: int
    scale: float = 1.0

    def read(self, value: object) -> list[float]:
        """Return the numbers in their order. Raises ValueError."""
        flat = islice(_flatten_lists(value), self.size + 1)
        numbers = [_read_number(number) / self.scale for number in flat]
        if len(numbers) != self.size:
            n = len(numbers) if len(numbers) < self.size else "more"
            raise ValueError(f"must hold {self.size} numbers, holds {n}")
        return numbers


@dataclass(frozen=True)
class OneOf:
    """One of a few values: a 1 at its place among zeros."""

    values: tuple[object, ...]

    @property
    def size(self) -> int:
        """A number for each value."""
        return len(self.values)

    def read(self, value: object) -> list[float]:
        """Return zeros and a single 1. Raises ValueError."""
        # type(): True is 1 to Python, and not to whoever wrote the file.
        places = [type(choice) is type(value) and choice == value for choice in self.values]
        if not any(places):
            raise ValueError(f"must be one of {list(self.values)!r:.200}, is {value!r:.100}")
        return [float(place) for place in places]


def make_reader(form: object) -> Reader:
    """Return what reads a field, by what a catalog file says of it. Raises ValueError."""
    match form:
        case Number() | Log() | Numbers() | OneOf():
            reader: Reader = form
        case bool():
            raise ValueError(f"is {form!r}: write 1 for a bool or a number")
        case int() | float():
            reader = Number(form)
        case tuple() | list():
            reader = OneOf(tuple(form))
        case _:
            rule = "a number to divide by, a tuple of what it may be, Log(...) or Numbers(...)"
            raise ValueError(f"is {form!r:.100}: must be {rule}")
    _refuse_form(reader)
    return reader


def _refuse_form(reader: Reader) -> None:
    scale = getattr(reader, "scale", 1.0)
    if not (isfinite(scale) and scale > 0):
        raise ValueError(f"has the scale {scale!r}: must be above 0")
    if reader.size < 1:
        raise ValueError("is of no number: must be of 1 or more")


def _read_number(value: object) -> float:
    # JSON has no other types of numbers.
    if not isinstance(value, int | float) or not abs(value) <= MAX:
        raise ValueError(f"must be a finite number, is {value!r:.100}")
    return float(value)


def _flatten_lists(value: object) -> Iterator[object]:
    """Yield what is in nested lists; by hand, as a server may nest them as deep as it likes."""
    left = [iter((value,))]
    while left:
        for entry in left[-1]:
            if isinstance(entry, Sequence) and not isinstance(entry, str):
                left.append(iter(entry))
                break
            yield entry
        else:
            left.pop()
