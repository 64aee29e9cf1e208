"""What all benchmarks share on the terminal: options, tables, and the file of figures."""

import json
import os
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Cell = str | int | float | None
GROUPED = 1_000


def make_parser(name: str, description: str) -> ArgumentParser:
    """Return a parser with --json FILE; its errors exit with status 2."""
    parser = ArgumentParser(prog=f"benchmarks.{name}", description=description)
    parser.add_argument("--json", type=writable_path, metavar="FILE", help="write figures to FILE")
    return parser


def writable_path(text: str) -> Path:
    """Return the path if a file can be written there; so it is refused before the work starts."""
    path = Path(text)
    if path.is_dir():
        raise ArgumentTypeError(f"{text!r} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise ArgumentTypeError(f"{text!r} cannot be written: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ArgumentTypeError(f"{text!r} cannot be written: permission denied")
    return path


def whole_number(lowest: int) -> Callable[[str], int]:
    """Return a type that takes whole numbers from `lowest` on."""

    def read_number(text: str) -> int:
        # int() would take signs, blanks and underscores too.
        if not text.isdecimal() or int(text) < lowest:
            raise ArgumentTypeError(f"must be a whole number from {lowest} on, got {text!r}")
        return int(text)

    return read_number


def number_of_seconds(lowest: float) -> Callable[[str], float]:
    """Return a type that takes a number of seconds from `lowest` on."""

    def read_seconds(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise ArgumentTypeError(f"must be a number of seconds, got {text!r}") from None
        # Infinity and NaN are floats too, but nothing waits so long.
        if not lowest <= value < float("inf"):
            raise ArgumentTypeError(f"must be {lowest:g} s or more, got {text!r}")
        return value

    return read_seconds


def write_report(text: str, figures: Mapping[str, Any], path: Path | None) -> None:
    """Print the tables; write the figures if --json gave a path."""
    print(text)
    if path is not None:
        path.write_text(json.dumps(figures, indent=2) + "\n")


def format_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return a table, text to the left, figures to the right; None stands for no figure."""
    lines = [list(columns), *[[_format_cell(cell) for cell in row] for row in rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    # A column of figures with a gap is still one of figures.
    is_text = [all(isinstance(row[i], str) for row in rows) for i in range(len(columns))]
    aligned = []
    for line in lines:
        cells = zip(line, widths, is_text, strict=True)
        padded = (cell.ljust(w) if left else cell.rjust(w) for cell, w, left in cells)
        aligned.append("  ".join(padded).rstrip())
    return "\n".join([aligned[0], "  ".join("-" * width for width in widths), *aligned[1:]])


def _format_cell(cell: Cell) -> str:
    """Show whole numbers with thousands, others with three digits that matter."""
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    return f"{cell:,.0f}" if isinstance(cell, int) or abs(cell) >= GROUPED else f"{cell:.3g}"
