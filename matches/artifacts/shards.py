"""Merge the pieces of a tournament into shards: whole matches in planned order, named by content.

An episode is the place of a match in the tournament, from 0 on; a VOID match leaves its number
unused. So what a shard holds depends neither on the nodes nor on how often they were lost.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from arena import trajectories
from arena.checkpoints import hash_file
from arena.errors import ArenaError
from arena.games import registry as games
from arena.trajectories import TrajectoryError, TrajectorySpec
from matches.artifacts.trajectories import STORAGE
from matches.errors import MatchError
from matches.models import Match, Tournament, TrajectoryPiece
from matches.models.match import parse_numbers
from matches.store import blobs

# Pieces in memory: matches of one order lie in as many as it had players, and some more.
MAX_PIECES = 32


class ExportError(MatchError):
    """A shard cannot be written: a piece is gone or is not what its outcome says."""


@dataclass(frozen=True)
class Shard:
    """A finished file; `matches` counts those with an outcome, also without any row."""

    file: str
    sha256: str
    matches: int
    rows: int
    first_episode: int
    last_episode: int


class Played(NamedTuple):
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


_COLUMNS = (
    *("pk", "sequence", "state", "game_seed", "lineup"),
    *(f"outcome__{name}" for name in ("ranks", "is_forfeit", "reason", "actions", "trajectory")),
)
"""The columns of the fields of Played, in their order."""


@dataclass
class Tally:
    """The results of the matches: wins, draws and losses per agent and seat."""

    team_size: int = 1
    """Seats that share a rank without a draw."""
    seats: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    n_matches: int = 0
    n_forfeits: int = 0
    n_illegal: int = 0
    n_without_outcome: int = 0

    def count_match(self, match: Played, names: Sequence[str]) -> None:
        if match.ranks is None:
            self.n_without_outcome += 1
            return
        self.n_matches += 1
        self.n_forfeits += bool(match.is_forfeit)
        self.n_illegal += match.reason == "illegal"
        ranks = parse_numbers(match.ranks)
        for seat, rank in enumerate(ranks):
            counts = self.seats.setdefault(names[seat], {}).setdefault(seat, [0, 0, 0])
            # Team mates share a rank anyhow: a draw is shared by more seats than a team has.
            is_shared = rank == 0 and ranks.count(0) > self.team_size
            counts[1 if is_shared else 2 * (rank > 0)] += 1


class Exporter:
    """Writes the shards of a tournament into a folder, one after the other."""

    def __init__(
        self,
        tournament: Tournament,
        folder: Path,
        form: TrajectorySpec,
        *,
        matches_per_shard: int,
        finished: Sequence[Shard] = (),
    ) -> None:
        """Begin at the first match; shards of an earlier run that are still whole are kept."""
        self._tournament, self._folder, self._form = tournament, folder, form
        self._size = matches_per_shard
        self._finished = {shard.file: shard for shard in finished}
        self._names = dict(tournament.agents.values_list("pk", "name"))
        self._pieces: OrderedDict[str, Mapping[int, pa.Table]] = OrderedDict()
        self._after = 0
        self.n_episodes = 0
        self.tally = Tally(games.get(tournament.leaderboard.game).spec.team_size)
        self.shards: list[Shard] = []

    @property
    def is_complete(self) -> bool:
        """True when every planned match is behind."""
        return self.n_episodes >= self._tournament.n_matches

    def write_next_shard(self) -> bool:
        """Write the next shard if its matches are closed; say whether there was one.

        Raises ExportError, OSError.
        """
        n_due = min(self._size, self._tournament.n_matches - self.n_episodes)
        later = Match.objects.filter(tournament=self._tournament, sequence__gt=self._after)
        rows = later.order_by("sequence").values_list(*_COLUMNS)
        page = [Played(*row) for row in rows[: self._size]]
        # Whole matches in planned order: what is closed behind an open match waits for it.
        if not page or len(page) < n_due or any(m.state in Match.OPEN for m in page):
            return False
        name = f"shard-{len(self.shards):05d}.parquet"
        # A shard of an earlier run stays if its file is still what it was.
        shard, path = self._finished.get(name), self._folder / name
        if shard is None or not path.is_file() or hash_file(path) != shard.sha256:
            shard = self._write_shard(name, page)
        self.shards.append(shard)
        for match in page:
            self.tally.count_match(match, self._list_seat_names(match))
        self.n_episodes += len(page)
        self._after = page[-1].sequence
        return True

    def _write_shard(self, name: str, page: Sequence[Played]) -> Shard:
        # Renamed when it is whole: who finds a shard finds all of it.
        draft = self._folder / f".{name}.part"
        try:
            n_rows = trajectories.write_parquet(draft, self._read_episodes(page), self._form)
            digest = hash_file(draft)
            draft.replace(self._folder / name)
        finally:
            draft.unlink(missing_ok=True)
        return Shard(
            file=name,
            sha256=digest,
            matches=sum(match.ranks is not None for match in page),
            rows=n_rows,
            first_episode=self.n_episodes,
            last_episode=self.n_episodes + len(page) - 1,
        )

    def _read_episodes(self, page: Sequence[Played]) -> Iterator[pa.Table]:
        for place, match in enumerate(page):
            if match.trajectory:
                rows = self._read_piece(match.trajectory).get(match.pk)
                if rows is None:
                    raise _make_export_error(match, "it has no rows of it")
                try:
                    _check_rows(rows, match)
                    names = dict(enumerate(self._list_seat_names(match)))
                    yield trajectories.renumber_episode(rows, self.n_episodes + place, names)
                except ArenaError as error:
                    raise _make_export_error(match, str(error)) from error

    def _list_seat_names(self, match: Played) -> list[str]:
        return [self._names[agent] for agent in parse_numbers(match.lineup)]

    def _read_piece(self, digest: str) -> Mapping[int, pa.Table]:
        """Return the episodes of a piece by match; the last pieces are kept in memory."""
        if digest in self._pieces:
            self._pieces.move_to_end(digest)
            return self._pieces[digest]
        path = TrajectoryPiece(tournament=self._tournament, sha256=digest).path
        file = blobs.open_file(path, storage=STORAGE)
        if file is None:
            days = self._tournament.trajectory_days
            why = f"pieces are deleted after {days} days" if days else "its file was deleted"
            raise ExportError(f"the trajectories {digest[:12]} are gone: {why}")
        with file:
            content = file.read()
        try:
            rows = trajectories.read_parquet(BytesIO(content))
            form = trajectories.read_spec(rows.schema)
            if form != self._form:
                raise TrajectoryError(f"it is of {form}, not of {self._form}")
            self._pieces[digest] = trajectories.split_episodes(rows)
        except TrajectoryError as error:
            raise ExportError(f"the trajectories {digest[:12]} cannot be used: {error}") from error
        if len(self._pieces) > MAX_PIECES:
            self._pieces.popitem(last=False)
        return self._pieces[digest]


def _check_rows(rows: pa.Table, match: Played) -> None:
    """Raise TrajectoryError unless the rows are those of this match as it was recorded."""
    if set(rows.column("game_seed").to_pylist()) != {match.game_seed}:
        raise TrajectoryError(f"its game seed is not {match.game_seed}")
    # Too long a match is recorded without its actions.
    played = " ".join(map(str, rows.column("action").to_pylist()))
    if match.actions and played != match.actions:
        raise TrajectoryError("its actions are not those of the outcome")


def _make_export_error(match: Played, why: str) -> ExportError:
    return ExportError(f"the trajectories of match {match.pk} in {match.trajectory:.12}: {why}")
