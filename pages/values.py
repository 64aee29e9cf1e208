"""How long each move of a match took and what its agent expected then, listed and drawn.

Nodes report both with the outcome. What networks expected stands in the trajectory, too, where one
is kept: for matches of before it was reported.
"""

from collections.abc import Mapping, Sequence
from typing import BinaryIO, NamedTuple, cast

from arena.move_notes import MoveNote, unpack_notes
from arena.trajectories import TrajectoryError, read_values
from matches.artifacts.trajectories import STORAGE
from matches.models import Match, TrajectoryPiece
from matches.store import blobs
from matches.store.formats import format_brief, format_signed
from pages.plots import charts
from pages.plots.charts import Scale, Tick
from pages.replays import Move

HEIGHT = 150
BARS_HEIGHT = 90
_BARS_TOP = 20


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

    @property
    def is_early(self) -> bool:
        """Return True where words stand instead of a curve."""
        return sum(line.n for line in self.lines) < charts.MIN_POINTS


class SeatTime(NamedTuple):
    """The bars of a seat, how long it took for how many moves, and which was the slowest."""

    seat: int
    total: str
    n_moves: int
    slowest: str
    slowest_number: int
    path: str


class Bars(NamedTuple):
    """The time of each move as bars; across: moves."""

    height: int
    seats: list[SeatTime]
    longest: str
    last: int


def read_match_notes(match: Match) -> dict[int, MoveNote]:
    """Return time and value of each move of a match that has an outcome, by number of the move.

    A match that was not played, because the same game was over before, has those of that game.
    """
    outcome, first = match.outcome, getattr(match.same_as, "outcome", None)
    packed = outcome.notes
    if packed is None and first is not None and first.actions == outcome.actions:
        packed = first.notes
    notes = dict(enumerate(unpack_notes(bytes(packed or b""), len(outcome.actions.split())), 1))
    if any(note.value is not None for note in notes.values()):
        return notes
    values = _read_stored_values(match)
    return {n: note._replace(value=values.get(n)) for n, note in notes.items()}


def _read_stored_values(match: Match) -> dict[int, float]:
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


def draw_curve(notes: Mapping[int, MoveNote], moves: Sequence[Move]) -> Curve | None:
    """Return the curve of each seat, None where nothing was said."""
    values = {n: note.value for n, note in notes.items() if note.value is not None}
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
    return Curve(HEIGHT, lines, scale.list_ticks(), len(moves))


def draw_times(notes: Mapping[int, MoveNote], moves: Sequence[Move]) -> Bars | None:
    """Return the time of each move as bars, None where no time is known."""
    times = {n: note.took_s for n, note in notes.items() if note.took_s is not None}
    timed = [move for move in moves if move.number in times]
    if not timed:
        return None
    longest = max(times[move.number] for move in timed)
    scale = Scale(0, longest, height=BARS_HEIGHT, top=_BARS_TOP, bottom=0)
    seats = []
    for seat in sorted({move.seat for move in timed}):
        own = {move.number: times[move.number] for move in timed if move.seat == seat}
        slowest = max(own, key=own.__getitem__)
        total, most = format_brief(sum(own.values())), format_brief(own[slowest])
        bars = [_draw_bar(n, scale.place(took_s), len(moves)) for n, took_s in own.items()]
        seats.append(SeatTime(seat, total, len(own), most, slowest, "".join(bars)))
    return Bars(BARS_HEIGHT, seats, format_brief(longest), len(moves))


def _draw_bar(number: int, top: float, n_moves: int) -> str:
    """Return a bar left of where the cursor stands after its move; none is too low to be seen."""
    width = 100 / n_moves
    left, top = width * (number - 1), min(top, BARS_HEIGHT - 1)
    return f"M{left:.2f} {BARS_HEIGHT}V{top:g}h{0.8 * width:.2f}V{BARS_HEIGHT}z"


def tell_note(note: MoveNote) -> str:
    """Return what is known of a move as the end of a sentence that names it; often nothing."""
    took = "" if note.took_s is None else f" in {format_brief(note.took_s)}"
    return took if note.value is None else f"{took}, expecting {format_signed(note.value)}"
