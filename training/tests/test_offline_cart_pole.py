"""Learning CartPole from records: bc as good as its teacher, cql better than bc on mixed ones."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from training import registry
from training.records import Records
from training.tests.cart_pole import TASK, measure_return

pytestmark = pytest.mark.long
Play = Callable[[NDArray[np.float32], np.random.Generator], int]


def teach(observation: NDArray[np.float32], rng: np.random.Generator) -> int:
    """Push the cart under the pole."""
    del rng
    return int(observation @ np.array([0.01, 0.02, 1.0, 0.5]) > 0)


def stray(observation: NDArray[np.float32], rng: np.random.Generator) -> int:
    """Push it anywhere."""
    del observation
    return int(rng.integers(2))


def play(choose: Play, n_steps: int, *, seed: int) -> tuple[Records, float]:
    """Return so many steps of whole episodes, and their mean return."""
    env, rng = gymnasium.make("CartPole-v1"), np.random.default_rng(seed)
    rows: list[tuple[Any, ...]] = []
    n_episodes = 0
    while len(rows) < n_steps:
        observation, _ = env.reset(seed=1_000 * seed + n_episodes)
        n_episodes, is_over = n_episodes + 1, False
        while not is_over:
            action = choose(observation, rng)
            following, reward, ended, cut, _ = env.step(action)
            rows.append((observation, following, action, reward, ended))
            observation, is_over = following, ended or cut
    columns = [torch.tensor(np.array(column)) for column in zip(*rows, strict=True)]
    masks = torch.ones(len(rows), 2, dtype=torch.bool)
    before, after, actions, rewards, ends = columns
    records = Records(before, after, actions, rewards.float(), ends, masks, masks)
    return records, len(rows) / n_episodes


def join(one: Records, other: Records) -> Records:
    return Records(*(torch.cat([getattr(one, name), getattr(other, name)]) for name in vars(one)))


def learn(algorithm: str, records: Records, n_steps: int, *, seed: int = 0) -> float:
    """Return the mean return of the greedy policy after so many steps."""
    learner: Any = registry.get(algorithm).begin(TASK, {}, seed=seed)
    order = torch.Generator().manual_seed(seed)
    while learner.n_steps < n_steps:
        for rows in torch.split(torch.randperm(len(records), generator=order), 8_192):
            learner.learn_records(records.take(rows))
    return measure_return(learner)


def test_bc_is_nearly_as_good_as_its_teacher() -> None:
    records, taught = play(teach, 10_000, seed=1)
    assert learn("bc", records, 100_000) >= 0.9 * taught


def test_cql_is_better_than_bc_where_most_players_are_bad() -> None:
    records = join(play(teach, 1_000, seed=1)[0], play(stray, 19_000, seed=2)[0])
    cloned, valued = learn("bc", records, 200_000), learn("cql", records, 400_000)
    assert valued > 2 * cloned
