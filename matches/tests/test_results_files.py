"""The results of a leaderboard as files: what its ratings count, as other programs read it."""

import csv
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.test import Client

from arena.games import registry as games
from arena.games.showdown import rules
from arena.pairing.base import COUPLE
from matches.errors import BadInputError
from matches.ledger import voiding
from matches.ledger.imported import importing
from matches.ledger.imported.importing import SentFile
from matches.ledger.tournaments import open_leaderboard
from matches.models import Leaderboard, Match, Outcome, PairCount
from matches.ratings import rater, results_files
from matches.tests import factories as make
from matches.tests.imported import ANNA, imported_batch
from matches.tests.plugin_folder import GAME, plugin_folder

pytestmark = pytest.mark.django_db
PAIRS = ("first__name", "second__name", "n_first_wins", "n_draws", "n_second_wins")


def _export(client: Client, form: str, board: str = "elsewhere") -> bytes:
    response: Any = client.get(f"/api/v1/leaderboards/{board}/results/", {"form": form})
    assert response.status_code == 200
    assert response["Content-Disposition"] == f'attachment; filename="{board}.{form}"'
    return b"".join(response.streaming_content)


def _count_pairs(board: Leaderboard) -> list[tuple[Any, ...]]:
    rater.rate(board.pk, now=make.NOW)
    return sorted(PairCount.objects.filter(leaderboard=board).values_list(*PAIRS))


@pytest.mark.parametrize("game", ["connect_four", "chess"])
@pytest.mark.parametrize("form", ["csv", "parquet", "pgn"])
def test_what_is_exported_is_imported_as_the_same_results(
    client: Client, tmp_path: Path, form: str, game: str
) -> None:
    Leaderboard.objects.filter(pk=imported_batch().leaderboard_id).update(game=game)
    board, other = Leaderboard.objects.get(), open_leaderboard("other", game=game)
    (path := tmp_path / f"results.{form}").write_bytes(_export(client, form))
    sent = SentFile(path, path.name, adds_agents=True)
    importing.import_results(other, sent, actor=ANNA, now=make.NOW)
    assert _count_pairs(other) == _count_pairs(board) != []


def test_a_table_has_a_row_per_match_that_counts(client: Client) -> None:
    imported_batch()
    first, *_ = Match.objects.order_by("sequence")
    voiding.void_matches([first.pk], actor=ANNA, reason="odd", now=make.NOW)
    table = pq.read_table(BytesIO(_export(client, "parquet"))).to_pylist()
    assert [(row["first"], row["second"], row["result"]) for row in table] == [
        ("bob", "ada", "1/2-1/2"),
        ("ada", "cyd", "1-0"),
    ]
    assert {(row["reason"], row["game_seed"]) for row in table} == {("imported", None)}
    assert _export(client, "csv").count(b"\r\n") == 3


def test_returns_below_zero_are_numbers_to_who_reads_the_table(client: Client) -> None:
    imported_batch()
    Outcome.objects.update(returns="-1.0,1.0")
    lines = list(csv.DictReader(StringIO(_export(client, "csv").decode())))
    assert {line["returns"] for line in lines} == {"-1.0,1.0"}


def test_pgn_is_tags_and_result_as_bayeselo_and_ordo_read_them(client: Client) -> None:
    imported_batch(['"a ""b"" c",bob,1-0'])
    match = Match.objects.get()
    assert _export(client, "pgn").decode() == (
        '[Event "elsewhere"]\n[Site "evalsite"]\n[Date "2026.01.01"]\n'
        f'[Round "{match.sequence}"]\n[White "a \\"b\\" c"]\n[Black "bob"]\n[Result "1-0"]\n\n'
        "1-0\n\n"
    )


def test_white_sits_second_in_chess_and_is_imported_there(tmp_path: Path) -> None:
    board = open_leaderboard("chess", game="chess")
    (path := tmp_path / "games.csv").write_text("white,black,result\nada,bob,1-0\n")
    sent = SentFile(path, path.name, adds_agents=True)
    importing.import_results(board, sent, actor=ANNA, now=make.NOW)
    match = Match.objects.get()
    seats = match.seat_rows.order_by("seat").values_list("agent__name", flat=True)
    assert (list(seats), match.outcome.ranks) == (["bob", "ada"], "1,0")


@pytest.mark.parametrize(
    ("game", "side", "is_second"),
    [
        ("chess", "White", True),
        ("chess", "black", False),
        ("go_9x9", "white", True),
        ("connect_four", "white", False),
        ("skill_game", "first", False),
    ],
)
def test_a_side_that_a_game_has_is_found_at_its_seat(game: str, side: str, is_second: bool) -> None:
    board = Leaderboard(game=game)
    assert results_files.is_seated_second(board, side) == is_second


@pytest.mark.parametrize(
    "game", [name for name in games.names() if games.get(name).spec.n_seats == COUPLE]
)
def test_every_game_of_two_can_be_exported_as_pgn_without_a_simulator(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture, game: str
) -> None:
    monkeypatch.setattr(rules, "Driver", None)
    board = open_leaderboard("two", game=game)
    results_files.write_results(board, "pgn", path := tmp_path / "results.pgn")
    assert path.read_bytes() == b""
    assert not caplog.records


@pytest.mark.parametrize(
    ("drawn", "is_second"),
    [
        ("return Picture(1, 1, (), (Side('Black', 'black'), Side('White', 'white')))", True),
        ("return None", False),
        ("raise OSError('no pen')", None),
    ],
)
def test_white_of_a_plug_in_sits_where_its_picture_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, drawn: str, is_second: bool | None
) -> None:
    with plugin_folder(tmp_path / "plugins", monkeypatch) as made:
        made.edit(made.game, "import Circle, Picture", "import Circle, Picture, Side")
        made.edit(made.game, "seat: int | None = None) -> Picture", "seat: int | None) -> Picture")
        made.edit(made.game, "return Picture(10 * HEAP + 2, 12, tuple(counters))", drawn)
        board = Leaderboard(game=GAME)
        assert not results_files.is_seated_second(board, "first")
        if is_second is None:  # a guess would turn every result round
            with pytest.raises(BadInputError, match=r"where white sits .*no pen.*first and second"):
                results_files.is_seated_second(board, "white")
            return
        assert results_files.is_seated_second(board, "white") == is_second


def test_results_of_more_seats_are_exported_by_agent_and_rank(tmp_path: Path) -> None:
    game = "kuhn_poker_3"
    board = open_leaderboard("three", game=game)
    results_files.write_results(board, "csv", path := tmp_path / "results")
    assert path.read_text().startswith(
        "match,tournament,number,game_seed,agent_0,agent_1,agent_2,ranks"
    )
    with pytest.raises(BadInputError, match="PGN is of two seats, kuhn_poker_3 has 3"):
        results_files.write_results(board, "pgn", path)


def test_names_that_csv_guards_are_imported_as_the_agents_they_are(
    client: Client, tmp_path: Path
) -> None:
    board = imported_batch(["-ada,=bob,1-0", "\uff0bcyd,'dan,0-1"]).leaderboard
    (path := tmp_path / "results.csv").write_bytes(_export(client, "csv"))
    other = open_leaderboard("other", game=board.game)
    importing.import_results(other, SentFile(path, path.name), actor=ANNA, now=make.NOW)
    assert _count_pairs(other) == _count_pairs(board) != []
