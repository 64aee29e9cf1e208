"""Declared parameters of games and policies: one place for types, ranges, defaults and help."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arena.errors import ParameterError

Value = int | float | bool | str

MOST_SIZES = 32
HIGHEST_SIZE = 8192
_WORDS = {"true": True, "false": False}
_SHOWN_BITS = 256
# The highest of 18 digits: every one fits the 64 bits of a database's key.
HIGHEST_KEY = 10**18 - 1


def parse_number(text: str, *, lowest: int = 0, highest: int = HIGHEST_KEY) -> int | None:
    """Return the whole number that a text is, None for any other text or one out of range.

    lowest, highest: both are in the range; none of them is negative.
    """
    # Not by `int` alone: it takes "1_000", " 7" and the digits of every script, and raises for a
    # text of more than 4,300 digits.
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(HIGHEST_KEY))):
        return None
    number = int(text)
    return number if lowest <= number <= highest else None


def read_sizes(owner: str, name: str, text: str) -> list[int]:
    """Return the sizes of layers that a text like `64,64` is. Raises ParameterError."""
    words = text.split(",") if text else []
    numbers = [parse_number(word, lowest=1, highest=HIGHEST_SIZE) for word in words]
    sizes = [number for number in numbers if number is not None]
    if len(sizes) < len(words) or len(words) > MOST_SIZES:
        rule = f"must be up to {MOST_SIZES} sizes of 1..{HIGHEST_SIZE} with commas between"
        raise ParameterError(owner, name, f"{rule}, got {_shorten_value(text)}")
    return sizes


@dataclass(frozen=True)
class Parameter:
    """One declared parameter; its default fixes the type (int, float, bool or str).

    is_sizes: its text is the sizes of layers, or the default.
    """

    name: str
    default: Value
    help: str
    minimum: float | None = None
    maximum: float | None = None
    is_sizes: bool = False

    def read_value(self, owner: str, raw: object) -> Value:
        """Return raw as this parameter's type. Raises ParameterError naming value and range."""
        value = self._convert_value(owner, raw)
        if isinstance(value, str) and self.is_sizes and value != self.default:
            read_sizes(owner, self.name, value)
        if isinstance(value, str | bool):
            return value
        low = self.minimum if self.minimum is not None else float("-inf")
        high = self.maximum if self.maximum is not None else float("inf")
        # Infinity lies within the widest range, and NaN within none: both are refused.
        if not low <= value <= high or value in (float("inf"), float("-inf")):
            rule = f"must be {low:.15g}..{high:.15g}"
            raise ParameterError(owner, self.name, f"{rule}, got {_shorten_value(value)}")
        return value

    def _convert_value(self, owner: str, raw: object) -> Value:
        kind = type(self.default)
        # A bool is an int to Python, and never meant as one here.
        if isinstance(raw, kind) and isinstance(raw, bool) == (kind is bool):
            return raw
        try:
            if kind is float and isinstance(raw, int) and not isinstance(raw, bool):
                return float(raw)
            if isinstance(raw, str):
                return _WORDS[raw.lower()] if kind is bool else kind(raw)
        except (ValueError, KeyError, OverflowError):
            pass
        raw_text = _shorten_value(raw)
        raise ParameterError(owner, self.name, f"must be {kind.__name__}, got {raw_text}") from None


def _shorten_value(raw: object) -> str:
    """Return raw for a message; an int of thousands of digits has no text in Python."""
    if isinstance(raw, int) and raw.bit_length() > _SHOWN_BITS:
        return f"an int of {raw.bit_length()} bits"
    return f"{raw!r:.100}"


def read_parameters(
    owner: str, declared: Sequence[Parameter], values: Mapping[str, object]
) -> dict[str, Value]:
    """Return every declared parameter with its given or default value, in the declared order.

    Raises ParameterError for a name that is not declared, a wrong type or a value out of range.
    """
    by_name = {parameter.name: parameter for parameter in declared}
    # First what is unknown: a misspelt name must not fall back to the default.
    for name in values:
        if name not in by_name:
            choices = ", ".join(by_name) or "none"
            raise ParameterError(owner, name, f"is unknown: {owner} takes {choices}")
    return {
        name: p.read_value(owner, values[name]) if name in values else p.default
        for name, p in by_name.items()
    }
