"""What networks expected of a match, move by move: read from its trajectory, drawn as a curve."""

from collections.abc import Mapping, Sequence
from typing import BinaryIO, NamedTuple, cast

from arena.trajectories import TrajectoryError, read_values
from matches.artifacts.trajectories import STORAGE
from matches.models import Match, TrajectoryPiece
from matches.store import blobs
from pages import charts
from pages.charts import Scale, Tick
from pages.replays import Move

HEIGHT = 150


class Line(NamedTuple):
    """The values of one seat: its points, and how many there are."""

    seat: int
    points: str
    n: int


class Curve(NamedTuple):
    """What each seat expected of its return as the match went on; across: moves."""

    height: int
    lines: list[Line]
    levels: list[Tick]
    last: int


def read_match_values(match: Match) -> dict[int, float]:
    """Return what the mover's network expected of its return, by number of the move.

    Empty where no trajectory is kept, or none of its seats asked a network.
    """
    digest = match.outcome.trajectory
    if not digest:
        return {}
    piece = TrajectoryPiece.objects.filter(tournament=match.tournament_id, sha256=digest).first()
    file = piece and blobs.open_file(piece.path, storage=STORAGE)
    if not file:  # its days are over
        return {}
    try:
        with file:
            return {
                step + 1: value
                for step, value in read_values(cast(BinaryIO, file), match.pk).items()
            }
    except TrajectoryError:  # a node's word is not trusted: the page is whole without it
        return {}


def draw_curve(values: Mapping[int, float], moves: Sequence[Move]) -> Curve | None:
    """Return the curve of each seat, None where nothing was said."""
    valued = [move for move in moves if move.number in values]
    if not valued:
        return None
    most = max(1.0, *(abs(values[move.number]) for move in valued))
    scale = Scale(-most, most, height=HEIGHT, bottom=charts.TOP)
    lines = []
    for seat in sorted({move.seat for move in valued}):
        own = [move.number for move in valued if move.seat == seat]
        points = [(100 * n / len(moves), scale.place(values[n])) for n in own]
        lines.append(Line(seat, charts.join_points(points), len(own)))
    levels = [
        Tick(scale.place(value), f"{value:+g}" if value else "0") for value in (most, 0, -most)
    ]
    return Curve(HEIGHT, lines, levels, len(moves))
