"""Replays as files: what other programs read is what was played."""

from random import Random

import pytest

from arena.games import registry as games
from arena.games.base import OVER
from pages import notation, replays
from pages.notation import Heading
from pages.replays import RecordedMatch, Replay

HEADING = Heading(7, 5, 'A "cup" of \\ tea ]', 3, "2026-11-22", ["north", "south"], [1, 0], "")


def _replay(game: str, *, most: int = 60) -> Replay:
    rules, rng = games.get(game), Random(5)
    state = rules.start(5, opening_plies=rules.spec.opening_plies)
    while state.to_move() != OVER and len(state.actions) < most:
        state.apply(rng.choice(list(state.legal_actions())))
    actions = " ".join(map(str, state.actions))
    return replays.replay_match(RecordedMatch(game, {}, None, 5, actions), steps=())


def test_pgn_has_every_move_with_its_number_and_the_winner() -> None:
    replay = _replay("chess")
    tags, _, moves = notation.write_pgn(replay, HEADING, {}).partition("\n\n")
    assert '[Event "A \\"cup\\" of \\\\ tea ]"]' in tags
    assert '[White "south"]' in tags
    assert '[Result "1-0"]' in tags
    words = [word for word in moves.split("}")[1].split() if not word.endswith(".")]
    assert words == [*(move.name for move in replay.moves), "1-0"]
    assert moves.startswith("1. ")
    assert max(map(len, moves.splitlines())) <= 80


@pytest.mark.parametrize(("ranks", "result"), [([0, 0], "1/2-1/2"), ([0, 1], "0-1")])
def test_pgn_says_who_won_from_the_ranks(ranks: list[int], result: str) -> None:
    text = notation.write_pgn(_replay("chess"), HEADING._replace(ranks=ranks), {})
    assert text.endswith(f" {result}\n")


@pytest.mark.parametrize(
    ("game", "kind"), [("go_9x9", "GM[1]SZ[9]"), ("othello", "GM[2]SZ[8]"), ("hex", "GM[11]SZ[11]")]
)
def test_sgf_has_a_node_for_every_move(game: str, kind: str) -> None:
    replay = _replay(game)
    text = notation.write_sgf(replay, HEADING, {})
    assert text.startswith("(;FF[4]")
    assert kind in text
    assert 'EV[A "cup" of \\\\ tea \\]]' in text
    assert "RE[W+]" in text
    assert text.count("\n;") == 1
    nodes = text.split("\n")[1].rstrip(")").split(";")[1:]
    assert [node[0] for node in nodes] == ["BW"[m.seat] for m in (*replay.opening, *replay.moves)]


def test_points_of_go_count_from_the_upper_left_and_leave_out_no_letter() -> None:
    # A9 is the upper left; J stands ninth, since boards leave out I; 81 passes.
    replay = replays.replay_match(RecordedMatch("go_9x9", {}, 0, 1, "72 8 81"), steps=())
    assert [move.name for move in replay.moves] == ["A9", "J1", "pass"]
    assert notation.write_sgf(replay, HEADING, {}).endswith(";B[aa];W[ii];B[])\n")


def test_every_game_can_be_had_as_json() -> None:
    for name in games.names():
        assert notation.list_forms(name)[-1] == "json"
        form = notation.list_forms(name)[0]
        text, _ = notation.write_match(form, _replay(name, most=8), HEADING, {})
        assert text
