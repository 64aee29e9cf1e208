"""The game: six choices make a window, and everything said and drawn follows from them."""

from random import Random

import pytest

from arena.errors import IllegalActionError, ParameterError
from arena.games import registry
from arena.games.base import OVER
from arena.games.llmserve.features import N_FIELDS, SIZE
from arena.games.llmserve.grading import Grader
from arena.games.llmserve.rules import LLMServeGame, LLMServeState
from arena.games.llmserve.settings import CHOICES, choose
from arena.games.llmserve.simulator import Server
from arena.games.llmserve.workload import BURSTY, N_WINDOWS, STATIC, TASKS
from arena.games.pictures import Rect, Text

GAME = LLMServeGame(BURSTY)
USUAL = (7, 5, 3, 1, 0, 1)


def play(state: LLMServeState, n_windows: int = N_WINDOWS) -> LLMServeState:
    for action in USUAL * n_windows:
        state.apply(action)
    return state


def test_six_choices_run_a_window_and_the_score_is_the_graders() -> None:
    rng = Random(1)
    state, server, grader = GAME.start(5, opening_plies=0), Server(BURSTY, 5), Grader()
    while state.to_move() != OVER:
        choices = [rng.randrange(len(choices)) for choices in CHOICES]
        for choice in choices:
            state.apply(choice)
        grader.add(server.run_window(choose(choices)))
    assert state.returns() == [grader.score()]
    assert len(state.actions) == GAME.spec.max_steps == N_WINDOWS * N_FIELDS
    assert state.legal_actions() == ()
    assert not state.legal_mask().any()
    assert state.observation(0).shape == (SIZE,)


def test_what_is_seen_says_which_setting_is_next_and_what_was_chosen() -> None:
    state = GAME.start(5, opening_plies=0)
    first = state.observation(0)
    assert first[-N_FIELDS:].tolist() == [1, 0, 0, 0, 0, 0]
    # The last settings are those before the first window: a cap of 32, half of the cache, INT8.
    assert first[15:21].tolist() == pytest.approx([5 / 11, 4 / 9, 0, 0.5, 0, 0])
    assert not first[21:27].any()
    state.apply(11)
    second = state.observation(0)
    assert second[-N_FIELDS:].tolist() == [0, 1, 0, 0, 0, 0]
    assert second[21:27].tolist() == [1, 0, 0, 0, 0, 0]
    assert (second[:21] == first[:21]).all()


def test_only_choices_of_the_next_setting_are_legal_and_others_change_nothing() -> None:
    state = GAME.start(5, opening_plies=0)
    for action in (12, -1, True, 1.0):
        with pytest.raises(IllegalActionError, match=r"bursty_workload: .* is not in 0\.\.11"):
            state.apply(action)  # type: ignore[arg-type]
    assert state.actions == []
    play(state)
    with pytest.raises(IllegalActionError, match="is not in nothing"):
        state.apply(0)


def test_it_has_no_opening_and_no_parameters() -> None:
    with pytest.raises(ParameterError, match="opening_plies"):
        GAME.start(1, opening_plies=1)
    assert GAME.configured({}) is GAME
    with pytest.raises(ParameterError):
        GAME.configured({"rate": 2})


def test_the_catalog_has_each_task() -> None:
    for task in TASKS.values():
        game = registry.get(f"llmserve_{task.id}")
        assert isinstance(game, LLMServeGame)
        assert game.start(1, opening_plies=0).server.task is task


def test_words_say_what_an_operator_sees_and_what_is_chosen() -> None:
    state = GAME.start(5, opening_plies=0)
    assert state.describe() == "0 of 90 windows have run."
    assert [state.action_name(n) for n in (0, 11)] == ["batch cap 1", "batch cap 512"]
    names = []
    for action in USUAL:
        names.append(state.action_name(action))
        state.apply(action)
    assert names == [
        "batch cap 64",
        "KV cache 60%",
        "speculation 3",
        "precision INT8",
        "prefill and decode together",
        "priority on",
    ]
    state.apply(0)
    words = state.describe(0)
    assert "1 of 90 windows have run." in words
    assert "It was set to batch cap 64, KV cache 60%, speculation 3" in words
    assert words.endswith("Chosen for the next one: batch cap 1.")
    assert "The episode is over: the score is 0." in play(GAME.start(5, opening_plies=0)).describe()


def test_the_drawing_grows_with_the_windows_and_names_the_last_one() -> None:
    state = LLMServeGame(STATIC).start(5, opening_plies=0)
    empty = GAME.picture(state, None)
    play(state, 3)
    drawn = GAME.picture(state, 0)
    n_bars = sum(isinstance(shape, Rect) for shape in drawn.shapes)
    assert n_bars > 3 * N_FIELDS
    assert not any(isinstance(shape, Rect) for shape in empty.shapes)
    texts = [shape.text for shape in drawn.shapes if isinstance(shape, Text)]
    assert "precision: INT8" in texts
    assert any(text.startswith("first token, p99: ") for text in texts)
