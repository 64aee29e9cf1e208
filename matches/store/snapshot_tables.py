"""The compressed table of a snapshot of ratings: a row per agent."""

import json
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

from arena.ratings.base import Z95
from matches.models import RatingSnapshot

COLUMNS = ("agent_id", "mu", "sd", "live_mu", "live_sigma", "low", "high")
"""Of a row; the table is ordered by the first. Early snapshots have none of the last two."""

CHUNK = 65_536
"""Bytes of text that are unpacked at once."""

MOST_KEPT = 20_000
"""Rows of agents in this process; they are some hundred bytes each."""

Known = dict[int, list[float]]
_kept: dict[tuple[int, datetime, str, int], list[float] | None] = {}


def pack_rows(ratings: Iterable[Sequence[float]]) -> bytes:
    """Return the table of these rows."""
    return zlib.compress(json.dumps([list(row) for row in ratings]).encode())


def unpack_rows(snapshot: RatingSnapshot) -> list[list[float]]:
    table: list[list[float]] = json.loads(zlib.decompress(snapshot.table))
    return [_add_missing_ends(row) for row in table]


def find_rows(snapshot: RatingSnapshot, agents: Iterable[int]) -> dict[int, list[float]]:
    """Return the rows of some agents, if they have one."""
    # Unpacked only as far as the last of them: of many agents a page asks for a few.
    unpacking, packed_text, text = zlib.decompressobj(), bytes(snapshot.table), bytearray()

    def is_longer() -> bool:
        nonlocal packed_text
        n_before = len(text)
        text.extend(unpacking.decompress(packed_text, CHUNK))
        packed_text = unpacking.unconsumed_tail
        return len(text) > n_before

    rows: dict[int, list[float]] = {}
    at = 0
    for agent in sorted(agents):
        # A number follows "[" only where a row begins with its agent.
        place = _find_row_place(text, b"[%d," % agent, at, is_longer)
        if place is not None:
            start, at = place
            rows[agent] = _add_missing_ends(json.loads(text[start:at]))
    return rows


def _add_missing_ends(row: list[float]) -> list[float]:
    """Return a row with the ends of its interval, which was about mu before they were kept."""
    _, mu, sd, *_ = row
    return row if len(row) == len(COLUMNS) else [*row, mu - Z95 * sd, mu + Z95 * sd]


def _find_row_place(
    text: bytearray, mark: bytes, at: int, is_longer: Callable[[], bool]
) -> tuple[int, int] | None:
    """Return where a row begins and ends; what was searched before is not searched again."""
    while (start := text.find(mark, at)) < 0:
        at = max(at, len(text) - len(mark))
        if not is_longer():
            return None
    while (end := text.find(b"]", start)) < 0:
        if not is_longer():
            return None
    return start, end + 1


def read_rows(snapshots: Sequence[RatingSnapshot], agents: Collection[int]) -> list[Known]:
    """Return the rows of some agents in each snapshot; one query for those not kept here.

    A snapshot never changes and is read once; the ones given need not have their tables.
    """
    keys = [(shot.pk, shot.taken_at, shot.results_hash) for shot in snapshots]
    if len(_kept) > MOST_KEPT:
        _kept.clear()
    missing = [key[0] for key in keys if any((*key, agent) not in _kept for agent in agents)]
    read = RatingSnapshot.objects.filter(pk__in=missing) if missing else ()
    for shot in read:
        rows = find_rows(shot, agents)
        for agent in agents:
            _kept[shot.pk, shot.taken_at, shot.results_hash, agent] = rows.get(agent)
    return [
        {agent: row for agent in agents if (row := _kept.get((*key, agent))) is not None}
        for key in keys
    ]
