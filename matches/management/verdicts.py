"""Checkpoints on the command line: wait for the verdicts on them, show them as a table."""

import json
import time
from collections import Counter
from collections.abc import Sequence

from matches.management.following import LINE_EVERY_S, POLL_S, Stream
from matches.models import Checkpoint
from matches.store import selectors
from matches.store.clock import db_now

HASH_SHOWN = 12
HEADINGS = ("Agent", "Step", "Hash", "State", "Placement", "Row ms")


def fresh(hashes: Sequence[str]) -> list[Checkpoint]:
    """Return these checkpoints as they are now, in the order given."""
    rows = Checkpoint.objects.filter(sha256__in=hashes).prefetch_related("agents")
    by_hash = {row.sha256: row for row in rows}
    return [by_hash[sha256] for sha256 in hashes]


def wait(hashes: Sequence[str], out: Stream) -> list[Checkpoint]:
    """Show how many checkpoints have their verdict until all have; return them."""
    began = time.monotonic()
    shown = -LINE_EVERY_S
    while True:
        rows = fresh(hashes)
        elapsed_s = time.monotonic() - began
        line = _progress(rows, elapsed_s)
        if all(row.state != Checkpoint.State.CHECKING for row in rows):
            out.write(("\r" if out.isatty() else "") + line)
            return rows
        if out.isatty():
            out.write(f"\r{line}", ending="")
        elif elapsed_s - shown >= LINE_EVERY_S:
            shown = elapsed_s
            out.write(line)
        time.sleep(POLL_S)


def table(rows: Sequence[Checkpoint]) -> list[str]:
    """Return a line per checkpoint under headings."""
    cells = [HEADINGS, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    padded = ([f"{c:<{w}}" for c, w in zip(row, widths, strict=True)] for row in cells)
    return ["  ".join(row).rstrip() for row in padded]


def refusals(rows: Sequence[Checkpoint]) -> list[str]:
    """Return a line per refused checkpoint: its file and the reason."""
    refused = (row for row in rows if row.state == Checkpoint.State.REFUSED)
    return [f"{row.source_name}: refused: {row.reason}" for row in refused]


def names(row: Checkpoint) -> str:
    """Return the agents that play it."""
    return ", ".join(sorted(agent.name for agent in row.agents.all())) or "-"


def value_of(text: str) -> object:
    """Return a number, true or false as such, everything else as text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float) else text


def _cells(row: Checkpoint) -> tuple[str, ...]:
    return (
        names(row),
        "-" if row.step is None else f"{row.step}",
        row.sha256[:HASH_SHOWN],
        row.state,
        row.placement or "-",
        "-" if row.row_ms is None else f"{row.row_ms:.3f}",
    )


def _progress(rows: Sequence[Checkpoint], elapsed_s: float) -> str:
    states = Counter(row.state for row in rows)
    n_closed = len(rows) - states[Checkpoint.State.CHECKING]
    missing = selectors.describe_missing_for_check(now=db_now()) if n_closed < len(rows) else ""
    waits = f", waiting for {missing} (start the system with ./run)" if missing else ""
    refused = f", refused {states[Checkpoint.State.REFUSED]}"
    return f"{n_closed}/{len(rows)} checked{refused}, {elapsed_s:.0f} s{waits}"
