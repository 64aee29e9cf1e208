"""Games on the command line: the list and a reference from the app, a trial without it."""

import pytest

from arena.games import registry as games
from evalsite_client.tests.commands import Evalsite, as_json, ok

pytestmark = pytest.mark.django_db(transaction=True)


def test_games_are_listed_and_shown(evalsite: Evalsite) -> None:
    listed = ok(evalsite("games"))
    for name in games.names():
        assert f"\n{name} " in listed
    output = ok(evalsite("games", "show", "connect_four"))
    assert "Connect Four (connect_four)" in output
    assert "discs of seat 0" in output
    assert "column a" in output
    assert as_json(evalsite("games", "show", "chess", "--json"))["n_left_out"] > 0
    status, _, complaint = evalsite("games", "show", "ludo")
    assert status != 0
    assert "unknown game 'ludo': choose one of acrobot" in complaint


@pytest.mark.slow
def test_a_game_of_openspiel_is_tried_and_its_file_said(evalsite: Evalsite) -> None:
    tried = ok(evalsite("games", "try", "openspiel:pig"))
    assert ", 0 failed" in tried
    assert 'GAME = OpenSpielGame("pig")' in tried
    status, out, _ = evalsite("games", "try", "openspiel:ludo")
    assert status == 1
    assert "has no game 'ludo'" in out
    assert "To add it" not in out


def test_what_names_no_game_of_openspiel_is_refused(evalsite: Evalsite) -> None:
    status, _, complaint = evalsite("games", "try", "ludo")
    assert status == 2
    assert "must be openspiel:NAME, such as openspiel:pentago, got 'ludo'" in complaint
