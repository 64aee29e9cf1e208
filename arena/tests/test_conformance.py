"""How checks are listed, run and reported; tests/ at the top tests that they find mistakes."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from io import StringIO
from runpy import run_module
from typing import Any, cast

import pytest
from numpy.typing import NDArray

from arena import catalogs
from arena.conformance import game_looks, policies
from arena.conformance.base import ConformanceError, expect_error, require, run_check
from arena.conformance.families import FAMILIES
from arena.conformance.networks import Linear
from arena.conformance.reporting import main, report_checks
from arena.errors import IllegalActionError, ParameterError, UnsupportedGameError
from arena.games import registry
from arena.games import registry as games
from arena.games.base import Game
from arena.policies import registry as kinds


def raise_error(error: BaseException) -> None:
    raise error


def test_a_requirement_that_is_kept_says_nothing() -> None:
    require(True, "change this")
    with pytest.raises(ConformanceError, match="change this"):
        require([], "change this")


def test_an_expected_error_must_be_raised_and_name_its_parameter() -> None:
    with expect_error(ParameterError, "refuse it", name="size"):
        raise ParameterError("mine", "size", "is odd")


@pytest.mark.parametrize(
    "act",
    [
        partial(raise_error, ParameterError("mine", "other", "is odd")),
        partial(raise_error, ValueError("odd")),
        list,
    ],
)
def test_another_error_or_none_is_not_what_was_expected(act: Callable[[], object]) -> None:
    expected = expect_error(ParameterError, "refuse it", name="size")
    with pytest.raises(ConformanceError, match="refuse it"), expected:
        act()


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ConformanceError("change\n  this"), "change this"),
        (ValueError("odd\nvalue"), "raised ValueError: odd value"),
        (SystemExit(3), "raised SystemExit: 3"),
    ],
)
def test_why_a_check_fails_is_one_line(error: BaseException, line: str) -> None:
    reason = run_check(raise_error, error)
    assert reason.startswith(line)
    assert "\n" not in reason
    assert isinstance(error, ConformanceError) or "test_conformance.py:" in reason
    assert run_check(print) == ""


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("game", "tic_tac_toe"),
        ("policy", "random"),
        ("pairing", "swiss"),
        ("pairing", "double_round_robin"),
    ],
)
def test_the_checks_of_an_entry_are_listed(family: str, name: str) -> None:
    named = dict(FAMILIES[family](name, ()))
    assert len(named) > 5
    assert named["is named by its file"]() is None


def test_a_policy_that_refuses_all_games_is_told_to_name_one() -> None:
    with pytest.raises(ConformanceError, match=r"--game: refused .*kuhn_poker"):
        FAMILIES["policy"]("alphabeta", ("kuhn_poker",))
    names = [name for name, _ in FAMILIES["policy"]("random", ("hex", "othello"))]
    assert "plays legal actions on hex" in names
    assert not any("tic_tac_toe" in name for name in names)


def test_the_speed_of_a_game_is_told() -> None:
    speed = dict(FAMILIES["game"]("tic_tac_toe", ()))["plays at a speed"]()
    assert "random steps a second" in str(speed)


def reported(checks: Callable[[], object], n_skipped: int = 0) -> list[dict[str, object]]:
    lines = StringIO()
    report_checks(checks, lines, n_skipped=n_skipped)  # type: ignore[arg-type]
    return [json.loads(line) for line in lines.getvalue().splitlines()]


def test_what_becomes_of_each_check_is_reported_as_it_ends() -> None:
    checks = [
        ("first", lambda: "a note"),
        ("second", lambda: raise_error(ConformanceError("change this"))),
    ]
    loaded: list[dict[str, object]] = [
        {"begins": "can be loaded"},
        {"failure": "", "note": "", "n_checks": 2},
    ]
    first = [{"begins": "first"}, {"failure": "", "note": "a note"}]
    second = [{"begins": "second"}, {"failure": "change this", "note": ""}]
    assert reported(lambda: checks) == [*loaded, *first, *second]
    assert reported(lambda: checks, 1) == [*loaded, *second]
    failed = reported(lambda: raise_error(IllegalActionError("no")))
    assert failed[1]["n_checks"] == 0
    assert "IllegalActionError" in str(failed[1]["failure"])


def test_the_process_writes_to_the_open_file_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    # In a process of its own it is for good.
    monkeypatch.setattr(catalogs, "_only", {})
    reading, writing = os.pipe()
    words = ["game", "mine", "--folder", "games", "--lines", str(writing)]
    main({"game": lambda name, on: []}, words)
    with os.fdopen(reading) as lines:
        assert [json.loads(line) for line in lines][1] == {
            "failure": "",
            "note": "",
            "n_checks": 0,
        }


def test_a_network_that_is_asked_wrongly_says_so() -> None:
    game = games.get("tic_tac_toe")
    (row, *_) = policies.make_rows(game)
    observation: NDArray[Any] = row.state.observation(0)[None]
    network = Linear(game)
    with pytest.raises(ConformanceError, match="rows must be float32"):
        network.submit(observation.astype("f8"), observation[:, :0])
    with pytest.raises(ConformanceError, match="states must have shape"):
        network.submit(observation.astype("f4"), observation.astype("f4"))
    assert kinds.get("network").build(game, {})


class Undrawn:
    """Tic-tac-toe that does not draw itself."""

    def __init__(self) -> None:
        self._game = games.get("tic_tac_toe")

    def __getattr__(self, name: str) -> Any:
        if name == "picture":
            raise AttributeError(name)
        return getattr(self._game, name)


def test_a_game_need_not_be_drawn() -> None:
    game_looks.draws_what_can_be_shown(cast(Game, Undrawn()))


def test_the_module_is_what_the_command_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["arena.conformance", "game", "chess"])
    with pytest.raises(SystemExit) as ended:
        run_module("arena.conformance", run_name="__main__")
    assert ended.value.code == 2, "it needs --lines"


def test_of_a_game_that_cannot_be_replayed_no_replay_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Loose(Undrawn):
        spec = replace(games.get("tic_tac_toe").spec, opening_plies=0, is_replayable=False)

    loose = Loose()
    monkeypatch.setattr(registry, "get", lambda name: loose)
    named = dict(FAMILIES["game"]("loose", ()))
    assert "replays from seed and actions" not in named
    assert named["declares what it is"]() is None
    with pytest.raises(UnsupportedGameError, match="opening_plies must be 0 where is_replayable"):
        replace(loose.spec, opening_plies=2)
