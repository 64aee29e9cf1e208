"""What is no position that somebody could decide in."""

from typing import Any, cast

import numpy as np
import pytest

from arena.errors import GameFaultError
from arena.games import registry as games
from arena.games.base import State
from arena.games.positions import check_position, read_seat

GAME = games.get("tic_tac_toe")


class Wrong:
    """A state at its start that answers some question in its own way."""

    def __init__(self, **answers: object) -> None:
        self._state, self._answers = GAME.start(1, opening_plies=0), answers

    def __getattr__(self, name: str) -> Any:
        if name in self._answers:
            return lambda *_: self._answers[name]
        return getattr(self._state, name)


def check(refused: int | None = None, **answers: object) -> None:
    check_position(cast(State, Wrong(**answers)), 0, GAME.spec, refused=refused)


def test_a_position_of_a_sound_game_passes() -> None:
    check()
    check(refused=9)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"legal_actions": []}, "is empty before the episode is over"),
        ({"legal_actions": [np.int64(0)]}, "must be Python ints"),
        ({"legal_mask": np.ones(8, bool)}, "is not True at just the legal actions"),
        ({"legal_mask": np.arange(9) < 5}, "is not True at just the legal actions"),
        ({"observation": np.zeros(3)}, "must have shape .*, is \\(3,\\)"),
        ({"observation": np.full(GAME.spec.observation_shape, np.inf)}, "must be finite"),
        ({"refused": 4}, "refuses 4, which is one of its legal actions"),
    ],
)
def test_what_is_wrong_with_a_position_is_named(answers: dict[str, Any], words: str) -> None:
    with pytest.raises(GameFaultError, match=words):
        check(**answers)


def test_a_seat_is_one_of_the_game_or_nobody() -> None:
    assert [read_seat(seat, 2) for seat in (0, np.int64(1), -1)] == [0, 1, -1]
    for seat in (2, -2, 0.0, None, "0"):
        with pytest.raises(GameFaultError, match=r"must be 0\.\.1, or -1 for over"):
            read_seat(seat, 2)
