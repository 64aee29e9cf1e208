"""Replays and drawings: every position of every game, and what does not fit the rules."""

from random import Random

import pytest

from arena.games import registry as games
from arena.games.base import OVER
from pages import drawings, replays
from pages.replays import Recorded

SIZES = {
    "tic_tac_toe": (3, 3), "connect_four": (6, 7), "othello": (8, 8), "breakthrough": (8, 8),
    "hex": (11, 11), "chess": (8, 8), "go_9x9": (9, 9),
}  # fmt: skip


def _played(game: str, *, seed: int = 7, most: int = 150) -> Recorded:
    rules, rng = games.get(game), Random(seed)
    state = rules.start(seed, opening_plies=rules.spec.opening_plies)
    while state.to_move() != OVER and len(state.actions) < most:
        state.apply(rng.choice(list(state.legal_actions())))
    return Recorded(game, {}, None, seed, " ".join(map(str, state.actions)))


@pytest.mark.parametrize("game", sorted(games.names()))
def test_every_move_of_a_game_can_be_shown(game: str) -> None:
    recorded = _played(game)
    replay = replays.replay_match(recorded)
    assert replay.problem == ""
    assert replay.last_step == len(recorded.actions.split())
    assert len(replay.opening) == games.get(game).spec.opening_plies
    assert all(frame.text for frame in replay.frames)
    assert [move.number for move in replay.moves] == list(range(1, replay.last_step + 1))


@pytest.mark.parametrize("game", sorted(SIZES))
def test_every_position_of_a_board_game_is_drawn(game: str) -> None:
    replay = replays.replay_match(_played(game))
    n_rows, n_columns = SIZES[game]
    for step in range(replay.last_step + 1):
        board = replay.draw_board(step)
        assert board is not None
        assert len(board.cells) == n_rows * n_columns
        assert len(board.labels) == n_rows + n_columns
        assert any(cell.is_new for cell in board.cells) == (step > 0) or game in PASSING


PASSING = ("othello", "go_9x9")


def test_a_hex_board_of_another_size_is_drawn() -> None:
    recorded = Recorded("hex", {"board_size": 5}, 2, 1, "")
    board = replays.replay_match(recorded).draw_board(0)
    assert board is not None
    assert len(board.cells) == 25


def test_the_seat_of_a_piece_is_the_one_that_played_it() -> None:
    for game in ("connect_four", "hex", "go_9x9", "tic_tac_toe"):
        replay = replays.replay_match(_played(game))
        board = replay.draw_board(1)
        assert board is not None
        (new,) = [cell for cell in board.cells if cell.is_new]
        assert new.seat == replay.moves[0].seat, game


def test_white_moves_first_in_chess_from_seat_1() -> None:
    replay = replays.replay_match(Recorded("chess", {}, 0, 1, "89"))
    board = replay.draw_board(1)
    assert board is not None
    assert {cell.seat for cell in board.cells if cell.is_new and cell.seat >= 0} == {1}
    assert replay.moves[0].seat == 1


def test_a_game_without_a_drawing_is_shown_as_text() -> None:
    replay = replays.replay_match(_played("backgammon"))
    assert replay.draw_board(0) is None
    assert "Turn:" in replay.frames[0].text


def test_each_seat_of_a_game_with_hidden_cards_has_its_own_view() -> None:
    frame = replays.replay_match(_played("kuhn_poker_3")).frames[0]
    assert len(frame.views) == len(set(frame.views)) == 3
    assert replays.replay_match(_played("chess")).frames[0].views == []


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ("0 9", "move 2 does not fit the rules"),
        ("0 x", "move 2 is no number: 'x'"),
        ("0 1,2", "move 2 is no number: '1,2'"),
        ("0 99999999999999999999", "move 2 does not fit the rules"),
    ],
)
def test_moves_that_cannot_be_played_end_the_replay_in_words(actions: str, words: str) -> None:
    replay = replays.replay_match(Recorded("connect_four", {}, 0, 1, actions))
    assert words in replay.problem
    assert replay.last_step == 1


def test_a_very_long_match_is_shown_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays, "MAX_STEPS", 3)
    replay = replays.replay_match(_played("othello", most=10))
    assert (replay.last_step, replay.problem[:12]) == (3, "7 more moves")


@pytest.mark.parametrize(
    "recorded",
    [
        Recorded("no_such_game", {}, 0, 1, "0"),
        Recorded("hex", {"board_size": "large"}, 0, 1, "0"),
        Recorded("tic_tac_toe", {}, 9, 1, "0"),
    ],
)
def test_what_cannot_start_says_why(recorded: Recorded) -> None:
    replay = replays.replay_match(recorded)
    assert replay.frames == []
    assert replay.problem


def test_a_game_without_rows_is_not_drawn() -> None:
    assert drawings.draw_position("backgammon", "anything") is None
