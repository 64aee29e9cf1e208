"""Games that are at fault while an agent decides: no agent is charged for that."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pytest

from arena.errors import AgentDiedError, IllegalActionError
from arena.games.base import OVER, Game, GameSpec
from arena.messages import AgentOrder, Ending, Reason
from arena.policies import registry as policies
from arena.policies.base import PolicyKind, Row
from arena.policies.callables import CallableKind
from workers.failures import failure_of_line
from workers.tests import fakes
from workers.tests.fakes import N_ACTIONS, SumState
from workers.tests.orders import fake
from workers.tests.runners import Lookout, fate, items
from workers.tests.test_runner import Stage

ANY = CallableKind("any", lambda _, mask, rng: rng.choice(mask.nonzero()[0]))
FAULT: tuple[Ending, Reason, int, list[int]] = (Ending.FAILED, Reason.ERROR, -1, [])


def fail(*_: object) -> None:
    raise RuntimeError("a broken game")


def refuse(*_: object) -> None:
    raise IllegalActionError("not today")


@pytest.fixture
def stage(lookout: Lookout, monkeypatch: pytest.MonkeyPatch) -> Stage:
    kinds = cast(dict[str, PolicyKind], fakes.POLICIES)
    monkeypatch.setitem(kinds, "any", cast(PolicyKind, ANY))
    monkeypatch.setitem(kinds, "random", policies.get("random"))
    return Stage(lookout)


@pytest.mark.parametrize(
    ("policy", "method", "wrong", "detail"),
    [
        ("any", "observation", fail, "a broken game"),
        ("any", "legal_mask", fail, "a broken game"),
        ("random", "legal_actions", fail, "a broken game"),
        ("random", "legal_actions", lambda _: [], "legal_actions() is empty"),
        ("random", "legal_actions", lambda _: [0.0, 1.0], "must be Python ints, are [0.0, 1.0]"),
        ("any", "legal_mask", lambda _: np.zeros(N_ACTIONS, bool), "legal_mask() is not True"),
        ("any", "legal_mask", lambda _: np.arange(N_ACTIONS) == 7, "legal_mask() is not True"),
        ("random", "apply", refuse, "which is one of its legal actions"),
    ],
)
def test_what_a_game_does_wrong_is_no_fault_of_who_decides(
    stage: Stage,
    monkeypatch: pytest.MonkeyPatch,
    policy: str,
    method: str,
    wrong: Callable[..., Any],
    detail: str,
) -> None:
    monkeypatch.setattr(SumState, method, wrong)
    (row,) = stage.play(stage.runner([AgentOrder(policy, {})] * 2), items(1)).values()
    assert fate(row) == FAULT
    assert detail in row.detail


@pytest.mark.parametrize(
    ("shown", "detail"),
    [([float("nan"), 0.0], "must be finite"), ([0.0], "must have shape (2,), is (1,)")],
)
def test_an_agent_may_fail_over_an_observation_that_is_none(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, shown: list[float], detail: str
) -> None:
    monkeypatch.setattr(SumState, "observation", lambda *_: np.array(shown))
    (row,) = stage.play(stage.runner([fake("raise")] * 2), items(1)).values()
    assert fate(row) == FAULT
    assert detail in row.detail


@pytest.mark.parametrize("seat", [5, -2, None, 0.5])
def test_a_seat_that_is_none_ends_its_match_alone(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, seat: object
) -> None:
    right = SumState.to_move
    monkeypatch.setattr(
        SumState, "to_move", lambda state: seat if state.game_seed == 1 else right(state)
    )
    wrong, sound = stage.play(stage.runner(), items(2)).values()
    assert fate(wrong) == FAULT
    assert f"to_move() is {seat}: must be 0..1, or -1 for over" in wrong.detail
    assert sound.ending is Ending.DONE


class PlayingOn:
    """A policy that plays the episode itself to its end instead of deciding."""

    id, title, is_batched, parameters = "playing_on", "Playing on", False, ()

    def __init__(self, *, is_raising: bool) -> None:
        self._is_raising = is_raising

    def refusal(self, spec: GameSpec) -> None:
        del spec

    def build(self, game: Game, parameters: Mapping[str, object]) -> "PlayingOn":
        del game, parameters
        return self

    def act(self, rows: Sequence[Row]) -> list[int]:
        for row in rows:
            while row.state.to_move() != OVER:
                row.state.apply(0)
        if self._is_raising:
            raise RuntimeError("it has lost")
        return [0] * len(rows)


@pytest.mark.parametrize(("is_raising", "reason"), [(True, Reason.CRASH), (False, Reason.ILLEGAL)])
def test_an_agent_that_spoils_the_position_is_charged_for_what_comes_of_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, reason: Reason, *, is_raising: bool
) -> None:
    policy = cast(PolicyKind, PlayingOn(is_raising=is_raising))
    monkeypatch.setitem(cast(dict[str, PolicyKind], fakes.POLICIES), "playing_on", policy)
    (row,) = stage.play(stage.runner([AgentOrder("playing_on", {})] * 2), items(1)).values()
    assert fate(row)[:3] == (Ending.FORFEIT, reason, 0)


def test_a_position_that_cannot_be_told_is_no_fault_of_a_program() -> None:
    assert failure_of_line(ValueError("no words"))[:2] == (Ending.FAILED, Reason.ERROR)
    assert failure_of_line(AgentDiedError("it exited"))[:2] == (Ending.FORFEIT, Reason.CRASH)
