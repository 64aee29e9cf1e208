"""What commands answer: as tables for people, as JSON for programs."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime
from typing import Any

SMALL, SIGNIFICANT = 10, 2
# A forecast looks at no more matches.
MOST_FORESEEN = 1_000_000
# Names are chosen by whoever registers an agent: none may move the cursor of who reads it.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
Table = Sequence[Sequence[object]]


@dataclass(frozen=True)
class Answer:
    """What a command says: a value as JSON, the same as text, its exit status, and why it is so."""

    value: Any
    text: str = ""
    status: int = 0
    complaint: str = ""


def as_json(value: Any, *, indent: int | None = 2) -> str:
    """Return a value of the client as JSON."""
    return json.dumps(_make_plain(value), indent=indent, ensure_ascii=False)


def format_table(head: Sequence[str], rows: Table) -> str:
    """Return rows in columns, numbers to the right."""
    if not rows:
        return "none"
    texts = [[_format_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *texts, strict=True)]
    is_number = [isinstance(value, int | float) for value in rows[0]]
    lines = []
    for row in (head, *texts):
        cells = zip(row, widths, is_number, strict=True)
        lines.append("  ".join(c.rjust(w) if right else c.ljust(w) for c, w, right in cells))
    return "\n".join(line.rstrip() for line in lines)


def format_pairs(pairs: Mapping[str, object]) -> str:
    """Return names with their values below each other; what is empty is left out."""
    texts = {
        name: _format_cell(value) for name, value in pairs.items() if value not in (None, "", {})
    }
    width = max(map(len, texts), default=0)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in texts.items())


def describe_number(n: float) -> str:
    """Return a number of matches that was foreseen, or that it is beyond what is looked at."""
    return f"more than {MOST_FORESEEN:,}" if n >= MOST_FORESEEN else f"about {round_matches(n)}"


def round_matches(n: float) -> str:
    """Return a number of matches no more exactly than it is known."""
    if n < SMALL:
        return f"{n:.0f}"
    digits = len(str(int(n))) - SIGNIFICANT
    return f"{round(n / 10**digits) * 10**digits:,}"


def format_counts(counts: tuple[int, int, int]) -> str:
    """Return wins, draws and losses."""
    return "-".join(map(str, counts))


def _format_cell(value: object) -> str:
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", _write_value(value))


def _write_value(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.2f}"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case Mapping():
            return " ".join(f"{name}={inner}" for name, inner in value.items())
    return str(value)


def _make_plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _make_plain(asdict(value))
    if isinstance(value, Mapping):
        return {name: _make_plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_make_plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime) else value
