"""The network for Pokemon Showdown learns from a teacher and from its own battles."""

from pathlib import Path

import numpy as np
import pytest
import torch

from arena.games.showdown.layout import N_ACTIONS, SIZE
from arena.trajectories import Episode, Step, TrajectorySpec, encode_episodes
from examples.showdown.decisions import Decisions, read_decisions
from examples.showdown.learner import Learner, Schedule

SMALL = Schedule(batch=64)


def make_decisions(n: int, *, seed: int = 1) -> Decisions:
    """Return decisions whose action is the place of the only one among the first ten numbers."""
    rng = np.random.default_rng(seed)
    observations = np.zeros((n, SIZE), np.float32)
    actions = rng.integers(N_ACTIONS, size=n)
    observations[np.arange(n), actions] = 1
    masks = np.ones((n, N_ACTIONS), np.bool_)
    nothing = np.zeros(n, np.float32)
    return Decisions(observations, masks, actions, nothing, nothing - 2, nothing)


def write_shard(folder: Path, episodes: list[Episode]) -> None:
    spec = TrajectorySpec("showdown_gen1random", (SIZE,), N_ACTIONS)
    (folder / "shard-00000.parquet").write_bytes(encode_episodes(episodes, spec))


def decide(seat: int, action: int) -> Step:
    logits = np.zeros(N_ACTIONS, np.float32)
    observation = np.full(SIZE, action, np.float32)
    return Step(
        seat, observation, np.ones(N_ACTIONS, np.bool_), action, "c" * 64, logits, -1.0, 0.5
    )


def test_decisions_have_what_their_seat_got_and_those_without_an_end_are_left_out(
    tmp_path: Path,
) -> None:
    whole = [decide(0, 1), decide(1, 2), decide(0, 3)]
    names = ("teacher", "other")
    write_shard(
        tmp_path,
        [
            Episode(0, 5, whole, [1.0, -1.0], names),
            Episode(1, 6, [decide(0, 4)], None, names),
            Episode(2, 7, [decide(1, 5), decide(0, 6)], [-1.0, 1.0], names),
        ],
    )
    decisions = read_decisions([tmp_path])
    assert decisions.actions.tolist() == [1, 2, 3, 5, 6]
    assert decisions.returns.tolist() == [1, -1, 1, 1, -1]
    assert decisions.observations[:, 0].tolist() == [1, 2, 3, 5, 6]
    assert decisions.log_probs.tolist() == [-1] * 5
    taught = read_decisions([tmp_path], agent="teacher")
    assert taught.actions.tolist() == [1, 3, 6]
    assert taught.returns.tolist() == [1, 1, -1]


def test_imitation_comes_to_agree_with_the_teacher() -> None:
    learner = Learner(np.random.default_rng(1), SMALL)
    decisions = make_decisions(1_000)
    learner.imitate(decisions, 150)
    logits, _ = learner._forward(make_decisions(200, seed=2))
    agreed = logits.argmax(1).numpy() == make_decisions(200, seed=2).actions
    assert agreed.mean() > 0.9


@pytest.mark.parametrize("gain", [1.0, -1.0])
def test_what_won_becomes_likelier_and_what_lost_less_likely(gain: float) -> None:
    learner = Learner(np.random.default_rng(1), SMALL)
    decisions = make_decisions(640)
    decisions.actions[:] = 3
    # Half of them got more than was expected, the others as much.
    returns = np.where(np.arange(640) % 2, gain, 0.0).astype(np.float32)
    with torch.no_grad():
        chances = learner._forward(decisions)[0].log_softmax(1)
    played = decisions._replace(returns=returns, log_probs=chances[:, 3].numpy())
    learner.improve(played)
    with torch.no_grad():
        after = learner._forward(decisions)[0].log_softmax(1)
    assert np.sign(float((after - chances)[:, 3].mean())) == gain


def test_an_action_that_is_not_legal_has_no_chance() -> None:
    learner = Learner(np.random.default_rng(1), SMALL)
    decisions = make_decisions(64)
    decisions.masks[:, 5] = False
    logits, _ = learner._forward(decisions)
    assert logits.softmax(1)[:, 5].max().item() == 0


def test_the_same_seed_learns_the_same_to_the_bit(tmp_path: Path) -> None:
    hashes = set()
    for name in ("first", "second"):
        learner = Learner(np.random.default_rng(4), SMALL)
        learner.imitate(make_decisions(200), 5)
        learner.improve(make_decisions(200))
        hashes.add(learner.save(tmp_path / name))
    assert len(hashes) == 1
