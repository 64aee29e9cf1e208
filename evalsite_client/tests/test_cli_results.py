"""`evalsite results` against the running app."""

from pathlib import Path

import pytest

from evalsite_client.tests.commands import Evalsite, as_json, ok
from matches.ledger.tournaments import open_leaderboard
from matches.models import ImportBatch, Match

pytestmark = pytest.mark.django_db(transaction=True)


def test_results_are_imported_listed_and_struck(evalsite: Evalsite, tmp_path: Path) -> None:
    open_leaderboard("chess", game="chess")
    file = tmp_path / "games.csv"
    file.write_text("White,Black,Result,Id\nada,bob,1-0,1\nbob,ada,1/2-1/2,2\n")
    run = ("results", "import", file, "--board", "chess", "--column", "key=Id")
    status, out, err = evalsite(*run)
    assert (status, out) == (2, "")
    assert err.splitlines()[0] == (
        "evalsite: file: line 2, column 'White', value 'ada': chess has no agent of this name: "
        "correct it, or say that names become imported agents (--new-agents, adds_agents)"
    )
    assert not ImportBatch.objects.exists()
    pk = as_json(evalsite(*run, "--new-agents", "--json"))["id"]
    assert ok(evalsite(*run)) == (f"import {pk}: 0 new results on chess, 2 were there before\n")
    assert "games.csv" in ok(evalsite("results", "--board", "chess"))
    games = tmp_path / "all.pgn"
    assert ok(evalsite("results", "export", "--board", "chess", "--out", games)).startswith(
        f"{games}: "
    )
    assert "[White" in games.read_text()
    ok(evalsite("results", "export", "-l", "chess", "--out", games, "--format", "csv"))
    assert games.read_text().startswith("match,tournament,number,game_seed,first,second,result")
    ok(evalsite("results", "export", "-l", "chess", "--out", games))
    assert games.read_text().count('[White "') == 2
    struck = ok(evalsite("results", "strike", pk, "--reason", "the wrong file"))
    assert struck == f"import {pk} is struck: 2 results of chess less\n"
    assert set(Match.objects.values_list("state", flat=True)) == {"void"}


@pytest.mark.parametrize("column", ["White", "who=White", "first="])
def test_a_column_that_is_not_part_and_name_is_refused(
    evalsite: Evalsite, tmp_path: Path, column: str
) -> None:
    (file := tmp_path / "games.csv").touch()
    run = ("results", "import", file, "--board", "chess", "--column", column)
    status, _, err = evalsite(*run)
    assert status == 2
    assert "is not PART=NAME with PART one of first, second, result, key" in err
