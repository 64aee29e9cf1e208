"""A table for the terminal: text to the left, figures to the right."""

from collections.abc import Sequence

_GROUPED = 1000

Cell = str | int | float | None


def table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return the lines of a table; a row has one cell per column, None for one without a figure."""
    texts = [list(columns), *[[_text(cell) for cell in row] for row in rows]]
    widths = [max(len(line[i]) for line in texts) for i in range(len(columns))]
    is_text = [all(isinstance(row[i], str) for row in rows) for i in range(len(columns))]
    lines = [_line(line, widths, is_text) for line in texts]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _line(cells: Sequence[str], widths: Sequence[int], is_text: Sequence[bool]) -> str:
    aligned = zip(cells, widths, is_text, strict=True)
    return "  ".join(c.ljust(w) if left else c.rjust(w) for c, w, left in aligned).rstrip()


def _text(cell: Cell) -> str:
    """Show whole numbers with thousands, others with three digits that matter."""
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int) or abs(cell) >= _GROUPED:
        return f"{cell:,.0f}"
    return f"{cell:.3g}"
