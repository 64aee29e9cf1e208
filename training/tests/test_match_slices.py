"""A slice of a run that plays matches: one report has all that comes of it."""

from hashlib import sha256
from typing import Any

import msgspec
import pytest

from arena.train_messages import DataFile, Trained, TrainOrder
from training.errors import TrainingError
from training.match_slices import train_on_matches
from training.slices import Reporter
from training.tests.test_ppo import OURS, TASK, encode, make_episode
from training.tests.test_slices import Files

ORDER = TrainOrder(
    run="stones", order="0" * 32, slice=1, token="t", game=TASK.game, observation_shape=[2],
    n_actions=3, algorithm="ppo_selfplay", parameters={"network": "mlp;hidden=8", "epochs": 2},
    seed=3, state="", source="/files/a", upload="/files/training/stones", max_steps=1, slice_s=1.0,
    key="k",
)  # fmt: skip


def train(shelf: Files, **changes: Any) -> list[Trained]:
    """Return the reports of a slice."""
    reports: list[Trained] = []
    order = msgspec.structs.replace(ORDER, **changes)
    reporter = Reporter(order, trainer="trainer-1", files=shelf, report=reports.append)
    train_on_matches(order, reporter)
    return reports


def put_matches(shelf: Files) -> list[DataFile]:
    pieces = [encode(make_episode(1), make_episode(2)), encode(make_episode(3))]
    return [DataFile(shelf.put(piece), "/files/piece") for piece in pieces]


def test_the_first_slice_publishes_what_is_to_play() -> None:
    shelf = Files()
    begun, last = train(shelf)
    assert (begun.weights, begun.state, begun.is_last) == ("", "", False)
    assert (last.version, last.n_steps, last.is_last) == (0, 0, True)
    assert {last.weights, last.state} == set(shelf.kept)


def test_a_slice_with_matches_reports_the_next_version_at_once_with_its_state() -> None:
    shelf = Files()
    state = train(shelf)[-1].state
    pieces = put_matches(shelf)
    *_, last = train(shelf, state=state, files=pieces, checkpoint=OURS)
    assert (last.version, last.n_steps, last.is_last) == (1, 15, True)
    assert last.metrics["n_matches"] == 3
    # Whoever is ordered to do it again comes to the same.
    *_, again = train(shelf, state=state, files=pieces, checkpoint=OURS)
    assert (again.weights, again.state) == (last.weights, last.state)


def test_a_slice_without_matches_is_refused() -> None:
    shelf = Files()
    state = train(shelf)[-1].state
    with pytest.raises(TrainingError, match="slice 1 has no matches to learn from"):
        train(shelf, state=state)


def test_the_weights_are_named_by_what_was_put() -> None:
    shelf = Files()
    last = train(shelf)[-1]
    assert sha256(shelf.kept[last.weights]).hexdigest() == last.weights
