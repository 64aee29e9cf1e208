"""Claimed against true probabilities: that one agent is above another."""

from collections.abc import Iterable, Sequence

import numpy as np

from arena.ratings.counts import Floats, Ints
from arena.ratings.settled import SettledRatings

N_BINS = 10
"""Of claims from 1/2 to 1."""
FEWEST = 2_000
"""Claims that a bin needs, to be judged."""


def claims(settled: SettledRatings, truth: Floats) -> Floats:
    """Return float64 [3, N_BINS]: how many claims, the sum of their probabilities, how many true.

    One claim a pair of agents that differ: the one with the higher rating is the better one.
    """
    above = settled.superiorities()
    i, j = np.nonzero(np.triu(truth[:, None] != truth, 1))
    claimed, is_first = np.maximum(above[i, j], above[j, i]), above[i, j] >= above[j, i]
    is_true = (truth[i] > truth[j]) == is_first
    bins: Ints = np.minimum(((claimed - 0.5) * 2 * N_BINS).astype(np.int64), N_BINS - 1)
    columns = (np.ones_like(claimed), claimed, is_true.astype(np.float64))
    return np.stack([np.bincount(bins, column, N_BINS) for column in columns])


def total(tables: Iterable[Floats]) -> Floats:
    """Return the sum of tables of claims."""
    added = np.zeros((3, N_BINS))
    for table in tables:
        added += table
    return added


def gaps(table: Floats) -> list[tuple[int, float, float]]:
    """Return (claims, mean claimed, share true) of each bin with enough of them."""
    return [
        (int(n), float(claimed / n), float(true / n)) for n, claimed, true in table.T if n >= FEWEST
    ]


def max_gap(table: Floats) -> float | None:
    """Return the largest difference of claimed and true, in points; None without enough claims."""
    return max((100 * abs(claimed - true) for _, claimed, true in gaps(table)), default=None)


_SIZE, _EDGE = 360, 48


def figure(tables: Sequence[tuple[str, Floats]]) -> str:
    """Return the reliability diagram of these fields as SVG."""
    colours = (
        "#111",
        "#0072b2",
        "#d55e00",
        "#009e73",
        "#cc79a7",
        "#e69f00",
        "#56b4e9",
        "#777",
        "#8f5a2a",
    )
    parts = [_axes()]
    for place, (name, table) in enumerate(tables):
        colour = colours[place % len(colours)]
        parts.append(_line(gaps(table), colour, 2.5 if place == 0 else 1.2))
        y = _EDGE + 14 + 15 * place
        parts.append(f'<text x="{_EDGE + 10}" y="{y}" fill="{colour}">{name}</text>')
    width = _SIZE + 2 * _EDGE
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {width}" '
    head += 'font-family="sans-serif" font-size="12">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>\n"])


def _at(share: float) -> float:
    """Return the place of a share of 1/2 to 1 on an axis."""
    return (share - 0.5) * 2 * _SIZE


def _axes() -> str:
    low, high = _EDGE, _EDGE + _SIZE
    ticks = []
    for share in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        x, y = low + _at(share), high - _at(share)
        label = f"{share:.0%}"
        ticks.append(f'<text x="{x:.0f}" y="{high + 16}" text-anchor="middle">{label}</text>')
        ticks.append(f'<text x="{low - 6}" y="{y + 4:.0f}" text-anchor="end">{label}</text>')
    middle = low + _SIZE / 2
    lines = [
        f'<path d="M{low} {low}V{high}H{high}" fill="none" stroke="#555"/>',
        f'<path d="M{low} {high}L{high} {low}" stroke="#bbb" stroke-dasharray="4 4"/>',
        f'<text x="{middle}" y="{high + 36}" text-anchor="middle">claimed: above the other</text>',
        f'<text transform="translate(12 {middle}) rotate(-90)" text-anchor="middle">true</text>',
    ]
    return "\n".join([*lines, *ticks])


def _line(points: Sequence[tuple[int, float, float]], colour: str, width: float) -> str:
    places = [(_EDGE + _at(c), _EDGE + _SIZE - _at(t)) for _, c, t in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)
    line = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
    return line + dots
