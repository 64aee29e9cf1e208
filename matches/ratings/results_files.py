"""All results that the ratings of a leaderboard count, as a file for other programs.

CSV and Parquet have a row per match. PGN has the tags of each game and its result, without moves:
that is what BayesElo and Ordo read, of whatever game of two.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from arena.games import registry as games
from arena.games.pictures import list_sides
from arena.pairing.base import COUPLE
from matches.errors import BadInputError
from matches.models import IMPORTED, Agent, Leaderboard, Match
from matches.models.match import read_numbers
from matches.store.bulk import among
from matches.store.catalog import game_problem
from matches.store.table_files import (
    CSV,
    FORMS,
    PARQUET,
    Column,
    Numbers,
    write_csv,
    write_parquet,
)

PGN: Final = "pgn"
ALL_FORMS: Final = (*FORMS, PGN)
# Columns that name seats and no side, and so need no game to tell.
_BY_NUMBER: Final = ("first", "second")
# Matches that are read at once.
CHUNK: Final = 10_000
_RESULTS: Final = {"0,1": "1-0", "0,0": "1/2-1/2", "1,0": "0-1"}
_TURNED: Final = {"1-0": "0-1", "0-1": "1-0"}
_ENDED: Final = (
    Column("ranks", str),
    Column("returns", str),
    Column("forfeit_of_seat", int),
    Column("reason", str),
    Column("recorded_at", datetime),
)


class PlayedMatch(NamedTuple):
    """A match that counts; agents by name."""

    match: int
    tournament: int
    sequence: int
    game_seed: int
    agents: list[str]
    ranks: str
    returns: str
    guilty_seat: int
    reason: str
    recorded_at: datetime

    @property
    def result(self) -> str:
        """The result of two, as the first of them has it."""
        return _RESULTS[self.ranks]


def write_results(board: Leaderboard, form: str, path: Path) -> None:
    """Write the results of the present season to a path. Raises BadInputError, OSError."""
    if problem := game_problem(board.game):
        raise BadInputError("leaderboard", f"{board.name!r}: {problem}")
    n_seats = games.get(board.game).spec.n_seats
    played = _read_played(board)
    if form not in list_forms(board):
        raise BadInputError("form", f"PGN is of two seats, {board.game} has {n_seats}")
    if form == PGN:
        pieces = _write_pgn(played, board)
    else:
        write = {CSV: write_csv, PARQUET: write_parquet}[form]
        pieces = write(_list_columns(n_seats), (_make_line(match, n_seats) for match in played))
    with path.open("wb") as file:
        file.writelines(pieces)


def list_forms(board: Leaderboard) -> tuple[str, ...]:
    """Return the forms in which the results of a leaderboard can be had."""
    if game_problem(board.game):
        return ()
    return ALL_FORMS if games.get(board.game).spec.n_seats == COUPLE else FORMS


def is_seated_second(board: Leaderboard, side: str) -> bool:
    """Say whether a side of the game, such as white, sits at the second seat; no if it has none.

    In chess white moves first and sits second. Raises BadInputError where the game cannot tell.
    """
    name = side.strip().lower()
    if name in _BY_NUMBER:
        return False
    try:
        names = [side.name.lower() for side in list_sides(games.get(board.game))]
    # Whatever the code of a plug-in raises, or a program that is missing: a guess would turn
    # every result round.
    except Exception as error:
        problem = f"{board.game} cannot tell where {name} sits ({error!r:.200})"
        raise BadInputError("form", f"{problem}: name columns first and second") from error
    return name in names[1:COUPLE]


def _read_played(board: Leaderboard) -> Iterator[PlayedMatch]:
    """Yield the matches that the ratings count, in planned order."""
    done_matches = Match.objects.filter(
        leaderboard=board,
        state=Match.State.DONE,
        tournament__is_rated=True,
        # The same game again on the same leaderboard counts nothing.
    ).exclude(same_as__leaderboard=board)
    columns = ("pk", "tournament_id", "sequence", "game_seed", "lineup", "outcome__ranks")
    more = tuple(f"outcome__{name}" for name in ("returns", "guilty_seat", "reason", "recorded_at"))
    names: dict[int, str] = {}
    for begin in range(board.season_first_sequence, board.next_sequence, CHUNK):
        chunk = done_matches.filter(sequence__gte=begin, sequence__lt=begin + CHUNK).order_by(
            "sequence"
        )
        rows = list(chunk.values_list(*columns, *more))
        _learn_names(names, (row[4] for row in rows))
        for pk, tournament, sequence, game_seed, lineup, *ended in rows:
            agents = [names[agent] for agent in read_numbers(lineup)]
            yield PlayedMatch(pk, tournament, sequence, game_seed, agents, *ended)


def _learn_names(names: dict[int, str], lineups: Iterable[str]) -> None:
    missing = set(chain.from_iterable(map(read_numbers, lineups))) - names.keys()
    if missing:
        agents = Agent.objects.filter(pk__in=among(sorted(missing)))
        names.update(agents.values_list("pk", "name"))


def _list_columns(n_seats: int) -> list[Column]:
    """Return the columns; those of two are what `evalsite results import` takes by itself."""
    seats = [Column(f"agent_{seat}", str) for seat in range(n_seats)]
    if n_seats == COUPLE:
        seats = [Column("first", str), Column("second", str), Column("result", str)]
    return [
        *(Column(name, int) for name in ("match", "tournament", "number", "game_seed")),
        *(*seats, *_ENDED),
    ]


def _make_line(match: PlayedMatch, n_seats: int) -> tuple[Any, ...]:
    result = [match.result] if n_seats == COUPLE else []
    guilty = None if match.guilty_seat < 0 else match.guilty_seat
    returns = Numbers(match.returns) if match.returns else None
    ended = (match.ranks, returns, guilty, match.reason or None, match.recorded_at)
    # Nobody knows the seed of an imported one.
    game_seed = None if match.reason == IMPORTED else match.game_seed
    return (
        match.match,
        match.tournament,
        match.sequence,
        game_seed,
        *match.agents,
        *result,
        *ended,
    )


def _write_pgn(played: Iterable[PlayedMatch], board: Leaderboard) -> Iterator[bytes]:
    is_turned = is_seated_second(board, "white")
    for match in played:
        white, black = reversed(match.agents) if is_turned else match.agents
        result = _TURNED.get(match.result, match.result) if is_turned else match.result
        tags = {
            "Event": board.name,
            "Site": "evalsite",
            "Date": f"{match.recorded_at:%Y.%m.%d}",
            "Round": str(match.sequence),
            "White": white,
            "Black": black,
            "Result": result,
        }
        yield f"{_join_tags(tags)}\n{result}\n\n".encode()


def _join_tags(tags: Mapping[str, str]) -> str:
    escaped = (
        (name, text.replace("\\", "\\\\").replace('"', '\\"')) for name, text in tags.items()
    )
    return "".join(f'[{name} "{text}"]\n' for name, text in escaped)
