"""What a snapshot of ratings holds: a compressed table with a row per agent."""

import json
import zlib
from collections.abc import Iterable, Sequence

from matches.models import RatingSnapshot

COLUMNS = ("agent_id", "mu", "sd", "live_mu", "live_sigma")
"""Of a row; the table is ordered by the first."""


def packed(ratings: Iterable[Sequence[float]]) -> bytes:
    """Return the table of these rows."""
    return zlib.compress(json.dumps([list(row) for row in ratings]).encode())


def rows(snapshot: RatingSnapshot) -> list[list[float]]:
    """Return all rows."""
    table: list[list[float]] = json.loads(zlib.decompress(snapshot.table))
    return table


def rows_of(snapshot: RatingSnapshot, agents: Iterable[int]) -> dict[int, list[float]]:
    """Return the rows of some agents, if they have one, without reading the thousands of others."""
    text = zlib.decompress(snapshot.table)
    found = {agent: _row_of(text, agent) for agent in agents}
    return {agent: row for agent, row in found.items() if row is not None}


def _row_of(text: bytes, agent: int) -> list[float] | None:
    # A number follows "[" only where a row begins with its agent.
    start = text.find(b"[%d," % agent)
    if start < 0:
        return None
    row: list[float] = json.loads(text[start : text.index(b"]", start) + 1])
    return row
