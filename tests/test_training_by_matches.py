"""A run whose versions play for it, on a real stack whose parts are killed in turn."""

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest
import torch

from arena.games import registry as games
from arena.games.base import OVER
from arena.policies import registry as policies
from arena.policies.base import Row
from arena.policies.network_policy import FloatBatch, NetworkOutput, NetworkPolicy
from arena.seeding import derive
from evalsite_client import Client
from inference.model import load
from launcher.stack import Stack, start_stack
from tests.commands import read_token

pytestmark = [pytest.mark.slow, pytest.mark.long]

GAME = games.get("tic_tac_toe")
MOST_STEPS = 24_000
PARAMETERS = {
    "matches": 400,
    "network": "lines;length=3;width=64",
    "epochs": 10,
    "minibatch": 256,
    "learning_rate": 4e-3,
    "entropy": 0.01,
}
LIMIT_S = 900.0
KILLED = ("trainer-1", "control", "node-1", "recorder")


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    shape: dict[str, Any] = {"nodes": 1, "slots": 1, "gpus": 1, "trainers": 1, "experience": True}
    with start_stack(tmp_path / "var", web=True, **shape) as running:
        yield running


def test_killed_in_turn_each_match_is_learned_from_once_and_play_gets_better(
    stack: Stack, tmp_path: Path
) -> None:
    with Client(stack.plan.addresses()["Board"], read_token(stack)) as client:
        client.runs.start(
            name="stones", game=GAME.spec.id, algorithm="ppo_selfplay", parameters=PARAMETERS,
            max_steps=MOST_STEPS, release_steps=MOST_STEPS,
        )  # fmt: skip
        _kill_in_turn(client, stack)
        version = client.models.latest("stones")
        weights = tmp_path / f"{version.sha256}.safetensors"
        weights.write_bytes(client.models.fetch_weights(version))
    _check_rounds(stack)
    # After as many steps in one process 23 were lost; untrained, it loses more than a hundred.
    assert _count_losses(weights, n_matches=400) <= 40


def _kill_in_turn(client: Client, stack: Stack) -> None:
    """Kill a program after every second version, and amid a slice or matches, until it is done."""
    until, names, next_version = monotonic() + LIMIT_S, cycle(KILLED), 1
    while (run := client.runs.get("stones")).state == "running":
        assert monotonic() < until, f"{run.n_steps} steps after {LIMIT_S:g} s: {run}"
        if run.version >= next_version:
            os.kill(stack.pids()[next(names)], signal.SIGKILL)
            next_version = run.version + 2
        sleep(0.5)
    assert (run.state, run.problem) == ("done", "")


def _check_rounds(stack: Stack) -> None:
    """Compare what was learned from with what was recorded, version by version."""
    with closing(sqlite3.connect(stack.plan.var / "db.sqlite3")) as database:
        learned = database.execute(
            "SELECT version, n_steps, json_extract(metrics, '$.n_matches') FROM experience_release"
            " ORDER BY version"
        ).fetchall()
        played = dict(
            database.execute(
                "SELECT r.version, sum(length(o.actions) - length(replace(o.actions, ' ', '')) + 1)"
                " FROM experience_round p JOIN experience_release r ON r.id = p.release_id"
                " JOIN matches_match m ON m.tournament_id = p.tournament_id"
                " JOIN matches_outcome o ON o.match_id = m.id GROUP BY r.version"
            ).fetchall()
        )
    steps = {version: n_steps for version, n_steps, _ in learned}
    assert list(steps) == list(range(len(steps)))
    assert {n for version, _, n in learned if version} == {PARAMETERS["matches"]}
    for version in range(1, len(steps)):
        assert steps[version] - steps[version - 1] == played[version - 1]


class _InProcess:
    """Weights that answer here and now."""

    state_size = 0

    def __init__(self, path: Path) -> None:
        self._module = load(path).module

    @torch.no_grad()
    def submit(self, observations: FloatBatch, states: FloatBatch) -> NetworkOutput:
        answers = self._module(torch.from_numpy(observations), torch.from_numpy(states))
        return NetworkOutput(*(np.asarray(answer.numpy()) for answer in answers))

    def result(self, ticket: NetworkOutput) -> NetworkOutput:
        return ticket


def _count_losses(path: Path, *, n_matches: int) -> int:
    """Return how many matches against random the best actions lose, in both seats."""
    network = policies.get("network").build(GAME, {})
    assert isinstance(network, NetworkPolicy)
    network.attach(_InProcess(path))
    random = policies.get("random").build(GAME, {})
    n_lost = 0
    for number in range(n_matches):
        seed, own = derive("losses", number // 2), number % 2
        state = GAME.start(seed, opening_plies=GAME.spec.opening_plies)
        while (seat := state.to_move()) != OVER:
            policy = network if seat == own else random
            (action,) = policy.act([Row(state, seat, seed)])
            state.apply(action)
        n_lost += state.returns()[own] < 0
    return n_lost
