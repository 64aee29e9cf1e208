"""Imports that are struck, lost midway, or overtaken by another of the same rows."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from matches.artifacts.agents import register_spelled_agent
from matches.errors import BadInputError, ConflictError
from matches.ledger.imported import striking, writing
from matches.ledger.tournaments import open_leaderboard
from matches.models import (
    IMPORTED,
    AuditRow,
    ImportBatch,
    ImportedKey,
    Leaderboard,
    Match,
    Outcome,
    Rating,
    Tournament,
)
from matches.ratings import rater, rerating
from matches.tests import factories as make
from matches.tests.imported import GAMES, import_file, read_ratings, strike, write_csv

pytestmark = pytest.mark.django_db


@pytest.fixture
def board() -> Leaderboard:
    """Return an empty leaderboard of a game of two."""
    return open_leaderboard("board", game="connect_four")


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Return what writes a CSV file of rows under a head."""
    return partial(write_csv, tmp_path)


def test_a_struck_import_leaves_the_ratings_as_they_were_to_the_last_bit(
    broker: Redis, write: Any
) -> None:
    tournament = make.planned(12)
    make.play_all(broker)
    rater.rate(tournament.leaderboard_id, now=make.NOW)
    board = Leaderboard.objects.get()
    before, hash_before = read_ratings(board), board.results_hash
    # One who is there, one whom the game knows, one who is new.
    register_spelled_agent("level:70", game=board.game)
    path = write([("level:10", "level:70", "1-0"), ("level:70", "zoe", "0-1")] * 5)
    batch, _ = import_file(board, path)
    rater.rate(board.pk, now=make.NOW)
    assert len(read_ratings(board)) == len(before) + 2
    assert strike(batch) == 10
    assert rerating.rerate_due(now=make.NOW) == [board.pk]
    board.refresh_from_db()
    assert read_ratings(board) == before
    assert (board.results_hash, board.n_counted) == (hash_before, 12)
    assert Outcome.objects.filter(reason=IMPORTED).count() == 10
    assert Match.objects.filter(state="void").count() == 10
    audit = AuditRow.objects.get(action="importbatch.strike")
    assert (audit.reason, audit.target_id) == ("a wrong file", batch.pk)


def test_striking_twice_changes_nothing_and_the_file_may_come_again(
    board: Leaderboard, write: Any
) -> None:
    head = ("first", "second", "result", "key")
    path = write([(*row, f"game-{number}") for number, row in enumerate(GAMES)], head)
    batch, _ = import_file(board, path)
    assert (strike(batch), strike(batch)) == (3, 0)
    assert AuditRow.objects.filter(action="importbatch.strike").count() == 1
    assert not ImportedKey.objects.exists()
    assert import_file(board, path).n_new == 3
    rerating.rerate_due(now=make.NOW)
    rater.rate(board.pk, now=make.NOW)
    board.refresh_from_db()
    assert board.n_counted == 3


def test_striking_it_takes_nobody_off_who_came_by_another_import_too(
    board: Leaderboard, write: Any
) -> None:
    first, _ = import_file(board, write())
    second, _ = import_file(board, write(GAMES[:1], name="more.csv"))
    strike(first)
    names = Rating.objects.values_list("agent__name", flat=True)
    assert sorted(names) == ["ada", "bob"]
    strike(second)
    assert not Rating.objects.exists()


def test_an_import_that_was_lost_midway_goes_on_with_the_same_file(
    board: Leaderboard, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "SLICE", 2)
    path, write_slice = write(), writing._write_slice
    n_calls = iter(range(5))

    def lose_the_second(*arguments: Any, **options: Any) -> None:
        if next(n_calls) == 1:
            raise RuntimeError("killed")
        write_slice(*arguments, **options)

    monkeypatch.setattr(writing, "_write_slice", lose_the_second)
    with pytest.raises(RuntimeError, match="killed"):
        import_file(board, path)
    batch = ImportBatch.objects.get()
    assert (batch.state, Match.objects.count()) == ("importing", 2)
    again, n_new = import_file(board, path)
    assert (again, n_new, again.state, Match.objects.count()) == (batch, 1, "imported", 3)
    assert Tournament.objects.get().state == "done"


@pytest.mark.parametrize(
    ("game", "words"), [("cart_pole", "is of 1 seats"), ("no_such_game", "unknown game")]
)
def test_a_leaderboard_that_takes_no_results_of_two_is_named(
    write: Any, game: str, words: str
) -> None:
    with pytest.raises(BadInputError, match=words):
        import_file(Leaderboard.objects.create(name="odd", game=game), write())


KEYED = ("first", "second", "result", "key")


def test_keys_that_another_import_brought_meanwhile_do_not_leave_it_open(
    board: Leaderboard, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "SLICE", 2)
    rows = [("ada", "bob", "1-0", f"g{number}") for number in range(6)]
    path, other = write(rows, KEYED), write(rows[4:5], KEYED, "other.csv")
    write_slice, n_calls = writing._write_slice, iter(range(9))

    def come_between(*arguments: Any, **options: Any) -> None:
        if next(n_calls) == 1:
            import_file(board, other)
        write_slice(*arguments, **options)

    monkeypatch.setattr(writing, "_write_slice", come_between)
    with pytest.raises(ConflictError, match="send it again"):
        import_file(board, path)
    batch, n_new = import_file(board, path)
    assert (n_new, batch.n_known, batch.state, Match.objects.count()) == (1, 1, "imported", 6)
    tournament = Tournament.objects.get(pk=batch.tournament_id)
    assert (tournament.state, tournament.n_matches, tournament.n_done) == ("done", 5, 5)


def test_nothing_is_imported_while_a_struck_file_still_counts_in_part(
    board: Leaderboard, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(striking, "SLICE", 2)
    path, strike_slice, n_calls = write(), striking._strike_slice, iter(range(9))
    batch, _ = import_file(board, path)

    def lose_the_second(*arguments: Any, **options: Any) -> int:
        if next(n_calls) == 1:
            raise RuntimeError("killed")
        return strike_slice(*arguments, **options)

    monkeypatch.setattr(striking, "_strike_slice", lose_the_second)
    with pytest.raises(RuntimeError, match="killed"):
        strike(batch)
    with pytest.raises(ConflictError, match="1 of its results still count: strike it again"):
        import_file(board, path)
    assert strike(batch) == 1
    assert import_file(board, path).n_new == 3


def test_a_file_whose_known_rows_were_struck_since_is_not_called_imported(
    board: Leaderboard, write: Any
) -> None:
    rows = [(*row, f"g{number}") for number, row in enumerate(GAMES)]
    shorter, _ = import_file(board, write(rows[:2], KEYED))
    path = write(rows, KEYED, "longer.csv")
    longer, _ = import_file(board, path)
    assert import_file(board, path).n_new == 0
    strike(shorter)
    with pytest.raises(ConflictError, match="2 of its rows were known by an import that is struck"):
        import_file(board, path)
    strike(longer)
    assert import_file(board, path).n_new == 3
