"""Merge the pieces of a tournament into shards: whole matches in planned order, named by content.

An episode is the place of a match in the tournament, from 0 on; a VOID match leaves its number
unused. So what a shard holds depends neither on the nodes nor on how often they were lost.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from django.db.models import Count, F, QuerySet, Value

from arena import trajectories
from arena.checkpoints import hash_file
from arena.errors import ArenaError
from arena.games import registry as games
from arena.trajectories import TrajectoryError, TrajectorySpec
from matches.artifacts.episode_returns import EpisodeReturns
from matches.artifacts.trajectories import STORAGE
from matches.errors import ConflictError, GoneError
from matches.models import Match, Tournament, TrajectoryPiece
from matches.models.match import parse_numbers
from matches.store import blobs

_RESULTS = ("wins", "draws", "losses")
# Pieces in memory: matches of one order lie in as many as it had players, and some more.
MAX_PIECES = 32


class ExportError(GoneError):
    """A shard cannot be written: a piece is gone or is not what its outcome says."""


class NotClosedError(ConflictError):
    """A match of a shard is not planned yet or still open."""


@dataclass(frozen=True)
class Shard:
    """A finished file; `matches` counts those with an outcome, also without any row."""

    sha256: str
    matches: int
    rows: int
    first_episode: int
    last_episode: int


class PlayedMatch(NamedTuple):
    """A match as the export needs it; the last fields are None without an outcome."""

    pk: int
    sequence: int
    state: str
    game_seed: int
    lineup: str
    ranks: str | None
    is_forfeit: bool | None
    reason: str | None
    actions: str | None
    trajectory: str | None


PLAYED_COLUMNS = (
    *("pk", "sequence", "state", "game_seed", "lineup"),
    *(f"outcome__{name}" for name in ("ranks", "is_forfeit", "reason", "actions", "trajectory")),
)
"""The columns of the fields of Played, in their order."""


@dataclass
class Tally:
    """The results of the matches: wins, draws and losses per agent and seat.

    Of a game of one seat, where nobody meets anybody: the returns of each agent's episodes.
    """

    team_size: int = 1
    """Seats that share a rank without a draw."""
    is_scored: bool = False
    returns: dict[str, EpisodeReturns] = field(default_factory=dict)
    seats: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    n_matches: int = 0
    n_forfeits: int = 0
    n_illegal: int = 0
    n_without_outcome: int = 0

    def count_result(
        self,
        names: Sequence[str],
        ranks: str | None,
        *,
        is_forfeit: bool,
        reason: str,
        returns: str = "",
        n: int = 1,
    ) -> None:
        """Add `n` matches that ended alike; names: of the agents by seat; no ranks: no outcome.

        returns: of a game of one seat; empty where it was forfeited.
        """
        if ranks is None:
            self.n_without_outcome += n
            return
        self.n_matches += n
        self.n_forfeits += n * is_forfeit
        self.n_illegal += n * (reason == "illegal")
        if self.is_scored:
            own = self.returns.setdefault(names[0], EpisodeReturns())
            own.add(float(returns) if returns else None, n)
            return
        places = parse_numbers(ranks)
        for seat, rank in enumerate(places):
            counts = self.seats.setdefault(names[seat], {}).setdefault(seat, [0, 0, 0])
            # Team mates share a rank anyhow: a draw is shared by more seats than a team has.
            is_shared = rank == 0 and places.count(0) > self.team_size
            counts[1 if is_shared else 2 * (rank > 0)] += n

    def describe_seats(self, name: str) -> dict[str, dict[str, int | float | None]]:
        """Return the results of an agent by seat, as a manifest has them."""
        if self.is_scored:
            return {"0": self.returns[name].describe()} if name in self.returns else {}
        return {
            str(seat): dict(zip(_RESULTS, counts, strict=True))
            for seat, counts in sorted(self.seats.get(name, {}).items())
        }


def write_shard(
    tournament: Tournament, number: int, size: int, path: Path, form: TrajectorySpec
) -> Shard:
    """Write the matches at the places from `number` x `size` on, in planned order, to a path.

    The bytes depend on nothing else. Raises NotClosedError, ExportError, OSError.
    """
    first = number * size
    n_due = min(size, tournament.n_matches - first)
    in_order = Match.objects.filter(tournament=tournament).order_by("sequence")
    page = [
        PlayedMatch(*row) for row in in_order.values_list(*PLAYED_COLUMNS)[first : first + n_due]
    ]
    # Planning lasts: what is not there yet is as open as what is still played.
    if len(page) < n_due or any(match.state in Match.OPEN for match in page):
        raise NotClosedError(
            f"shard {number} waits for matches: {first} to {first + n_due - 1} of "
            f"tournament {tournament.pk} are not all closed"
        )
    n_rows = trajectories.write_parquet(path, _read_episodes(tournament, first, page, form), form)
    return Shard(
        sha256=hash_file(path),
        matches=sum(match.ranks is not None for match in page),
        rows=n_rows,
        first_episode=first,
        last_episode=first + len(page) - 1,
    )


def count_results(tournament: Tournament, size: int) -> tuple[Tally, bool]:
    """Return the results of the shards that can be had, and whether those are all."""
    in_order = Match.objects.filter(tournament=tournament).order_by("sequence")
    first_open = in_order.filter(Match.is_open()).values_list("sequence", flat=True).first()
    closed = in_order if first_open is None else in_order.filter(sequence__lt=first_open)
    n_closed = closed.count()
    is_complete = n_closed >= tournament.n_matches
    if not is_complete and n_closed % size:
        # Whole shards only: what is closed behind their last match is in no file yet.
        end = closed.values_list("sequence", flat=True)[n_closed - n_closed % size]
        closed = closed.filter(sequence__lt=end)
    return _tally_results(tournament, closed), is_complete


def _tally_results(tournament: Tournament, matches: QuerySet[Match]) -> Tally:
    spec = games.get(tournament.leaderboard.game).spec
    tally, names = Tally(spec.team_size, spec.is_scored), _read_names(tournament)
    # Grouped by the database: a run has millions of matches, but few ways to end. Scores may be
    # many, and only of a game of one seat are they asked for.
    returns = F("outcome__returns") if spec.is_scored else Value("")
    kinds = matches.order_by().values_list(
        "lineup", "outcome__ranks", "outcome__is_forfeit", "outcome__reason", returns
    )
    for lineup, ranks, is_forfeit, reason, scored, n in kinds.annotate(n=Count("pk")).iterator():
        tally.count_result(
            _list_seat_names(lineup, names),
            ranks,
            is_forfeit=bool(is_forfeit),
            reason=reason or "",
            returns=scored or "",
            n=n,
        )
    return tally


def _read_names(tournament: Tournament) -> dict[int, str]:
    return dict(tournament.agents.values_list("pk", "name"))


def _list_seat_names(lineup: str, names: Mapping[int, str]) -> list[str]:
    return [names[agent] for agent in parse_numbers(lineup)]


def _read_episodes(
    tournament: Tournament, first: int, page: Sequence[PlayedMatch], form: TrajectorySpec
) -> Iterator[pa.Table]:
    names = _read_names(tournament)
    # Matches of one piece lie near each other: the last few are kept in memory.
    open_piece: Callable[[str], Mapping[int, pa.Table]] = lru_cache(MAX_PIECES)(
        partial(read_piece, tournament, form)
    )
    for episode, match in enumerate(page, first):
        if match.trajectory:
            rows = open_piece(match.trajectory).get(match.pk)
            if rows is None:
                raise _make_export_error(match, "it has no rows of it")
            try:
                check_rows(rows, match)
                by_seat = dict(enumerate(_list_seat_names(match.lineup, names)))
                yield trajectories.renumber_episode(rows, episode, by_seat)
            except ArenaError as error:
                raise _make_export_error(match, str(error)) from error


def read_piece(tournament: Tournament, form: TrajectorySpec, digest: str) -> Mapping[int, pa.Table]:
    """Return the episodes of a piece by match. Raises ExportError."""
    path = TrajectoryPiece(tournament=tournament, sha256=digest).path
    file = blobs.open_file(path, storage=STORAGE)
    if file is None:
        days = tournament.trajectory_days
        why = f"pieces are deleted after {days} days" if days else "its file was deleted"
        raise ExportError(f"the trajectories {digest[:12]} are gone: {why}")
    with file:
        content = file.read()
    try:
        rows = trajectories.read_parquet(BytesIO(content))
        if (piece_form := trajectories.read_spec(rows.schema)) != form:
            raise TrajectoryError(f"it is of {piece_form}, not of {form}")
        return trajectories.split_episodes(rows)
    except TrajectoryError as error:
        raise ExportError(f"the trajectories {digest[:12]} cannot be used: {error}") from error


def check_rows(rows: pa.Table, match: PlayedMatch) -> None:
    """Raise TrajectoryError unless the rows are those of this match as it was recorded."""
    if set(rows.column("game_seed").to_pylist()) != {match.game_seed}:
        raise TrajectoryError(f"its game seed is not {match.game_seed}")
    # Too long a match is recorded without its actions.
    played = " ".join(map(str, rows.column("action").to_pylist()))
    if match.actions and played != match.actions:
        raise TrajectoryError("its actions are not those of the outcome")


def _make_export_error(match: PlayedMatch, why: str) -> ExportError:
    return ExportError(f"the trajectories of match {match.pk} in {match.trajectory:.12}: {why}")
