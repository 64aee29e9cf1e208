"""Orders to trainers and their reports, as they cross a queue."""

import json
from typing import Any

import msgspec
import pytest

from arena.errors import MessageError
from arena.train_messages import (
    Alive,
    DataFile,
    Trained,
    TrainOrder,
    describe,
    read_alive,
    read_train_order,
    read_trained,
    to_wire,
)

ORDER = TrainOrder(
    run="7", order="0" * 32, slice=2, token="secret", game="cart_pole", observation_shape=[4],
    n_actions=2, algorithm="appo", parameters={"epochs": 4}, seed=3, state="a" * 64,
    source="/files/training/7/a", upload="/files/training/7", max_steps=60_000, slice_s=60.0,
    key="secret", files=[DataFile("c" * 64, "/files/trajectories/c")],
)  # fmt: skip
REPORT = Trained(
    trainer="trainer-1", run="7", order="0" * 32, slice=2, token="secret", key="secret",
    version=5, n_steps=5_120, weights="b" * 64, state="", metrics={"loss": 0.5}, is_last=False,
)  # fmt: skip

ALIVE = Alive("trainer-1", "7", "0" * 32, 2, "secret", "secret")


def test_messages_come_back_as_they_were_sent() -> None:
    assert read_train_order(json.loads(json.dumps(to_wire(ORDER)))) == ORDER
    assert read_trained(json.loads(json.dumps(to_wire(REPORT)))) == REPORT
    assert read_alive(json.loads(json.dumps(to_wire(ALIVE)))) == ALIVE


@pytest.mark.parametrize(
    "changed",
    [
        {"version": 1.5},
        {"version": True},
        {"state": "a" * 63},
        {"metrics": {"loss": float("inf")}},
        {"more": 1},
        {"n_steps": 10**400},
        {"is_last": "true"},
    ],
)
def test_what_does_not_fit_is_named(changed: dict[str, Any]) -> None:
    with pytest.raises(MessageError, match="broken report of a trainer: "):
        read_trained({**to_wire(REPORT), **changed})
    with pytest.raises(MessageError, match="broken train order: "):
        read_train_order({})
    with pytest.raises(MessageError, match="broken sign of life of a trainer: "):
        read_alive({**to_wire(ALIVE), "slice": -1})
    wire = to_wire(ORDER)
    with pytest.raises(MessageError, match=r"broken train order: .*files\[0\]\.sha256"):
        read_train_order({**wire, "files": [{"sha256": "c" * 63, "source": "/files/c"}]})


def test_monitors_see_no_token() -> None:
    refused = msgspec.structs.replace(REPORT, refusal="no such trainer")
    descriptions = [describe(one) for one in (ORDER, REPORT, refused, ALIVE)]
    assert descriptions[0] == "(appo on cart_pole, slice 2 of run 7)"
    assert descriptions[3] == "(slice 2 of run 7, alive)"
    assert descriptions[2].endswith("version 5 after 5120 steps, refused: no such trainer)")
    assert "secret" not in " ".join(descriptions)
