"""PPO on matches: what is learned from, and its returns and losses against values by hand."""

from collections.abc import Sequence
from math import exp, log

import numpy as np
import pytest
import torch

from arena.errors import ParameterError
from arena.trajectories import (
    Episode,
    Step,
    TrajectoryError,
    TrajectorySpec,
    encode_episodes,
)
from training.base import Task
from training.decisions import list_steps, read_decisions
from training.errors import TrainingError
from training.ppo import Ppo, mask_logits
from training.registry import get
from training.returns import make_gae

TASK = Task("tic_tac_toe", (2,), 3)
OURS, THEIRS = "a" * 64, "b" * 64


def make_step(seat: int, feature: float, action: int = 0, *, by: str = OURS) -> Step:
    """Return a decision between two legal actions of three, each with probability 1/2."""
    observation, mask = np.array([feature, 1.0], np.float32), np.array([True, True, False])
    logits = np.zeros(3, np.float32)
    return Step(seat, observation, mask, action, by, logits, log(0.5), 0.0)


def make_episode(
    number: int, *, returns: Sequence[float] | None = (1.0, -1.0), seat_1: str = OURS
) -> Episode:
    """Return a match of three decisions of seat 0 and two of seat 1, seen as 0, 1, 2, 3, 4."""
    steps = [make_step(step % 2, step, by=seat_1 if step % 2 else OURS) for step in range(5)]
    return Episode(number, 1, steps, returns)


def encode(*episodes: Episode) -> bytes:
    return encode_episodes(episodes, TrajectorySpec("tic_tac_toe", (2,), 3))


def begin(**parameters: object) -> Ppo:
    chosen = {"network": "mlp;hidden=8", **parameters}
    learner = get("ppo_selfplay").begin(TASK, chosen, seed=3)  # type: ignore[arg-type]
    assert isinstance(learner, Ppo)
    return learner


def learn(learner: Ppo, *pieces: bytes) -> dict[str, float]:
    return dict(learner.learn_matches(pieces, checkpoint=OURS))


def test_the_decisions_of_a_seat_follow_each_other_and_end_with_its_return() -> None:
    decisions = read_decisions([encode(make_episode(7))], TASK, checkpoint=OURS)
    assert decisions.observations[:, 0].tolist() == [0, 2, 4, 1, 3]
    assert decisions.rewards.tolist() == [0, 0, 1, 0, -1]
    assert decisions.is_last.tolist() == [False, False, True, False, True]
    assert decisions.masks.shape == (5, 3)
    assert decisions.log_probs.tolist() == pytest.approx([log(0.5)] * 5)


def test_only_ones_own_decisions_in_matches_that_went_to_their_end_are_taken() -> None:
    pieces = [
        encode(make_episode(1, seat_1=THEIRS), make_episode(2, returns=None)),
        encode(make_episode(1, seat_1=THEIRS), make_episode(3, returns=(0.5, -0.5))),
    ]
    decisions = read_decisions(pieces, TASK, checkpoint=OURS)
    # Of match 1, which two pieces have, seat 0; match 2 was cut off; of match 3 both seats.
    assert decisions.observations[:, 0].tolist() == [0, 2, 4, 0, 2, 4, 1, 3]
    assert decisions.rewards.tolist() == [0, 0, 1, 0, 0, 0.5, 0, -0.5]
    assert decisions.n_matches == 2


def test_a_piece_of_another_game_is_refused_and_no_decision_is_an_error() -> None:
    other = Task("tic_tac_toe", (2,), 4)
    with pytest.raises(TrajectoryError, match="a piece is of"):
        read_decisions([encode(make_episode(1))], other, checkpoint=OURS)
    for pieces in ([], [encode(make_episode(2, returns=None))]):
        with pytest.raises(TrainingError, match=f"no match has a decision of {'a' * 12}"):
            learn(begin(), *pieces)


def test_advantages_of_a_seat_are_worked_out_from_its_own_values() -> None:
    decisions = read_decisions([encode(make_episode(1))], TASK, checkpoint=OURS)
    values = torch.tensor([0.1, 0.2, 0.4, -0.1, -0.3])
    discount, decay = 0.9, 0.5
    steps = list_steps(decisions, values, reward_scale=2.0)
    targets, advantages = make_gae(steps, discount=discount, decay=decay)
    third = 2.0 - 0.4
    second = 0.9 * 0.4 - 0.2 + 0.45 * third
    first = 0.9 * 0.2 - 0.1 + 0.45 * second
    fifth = -2.0 + 0.3
    fourth = 0.9 * -0.3 + 0.1 + 0.45 * fifth
    by_hand = [first, second, third, fourth, fifth]
    assert advantages.tolist() == pytest.approx(by_hand, abs=1e-6)
    assert targets.tolist() == pytest.approx((values.double().numpy() + by_hand).tolist())


def test_the_parts_of_the_loss_are_those_of_its_definition() -> None:
    learner = begin(clip=0.2)
    decisions = read_decisions([encode(make_episode(1))], TASK, checkpoint=OURS)
    targets = torch.tensor([1.0, 0.5, -0.5, 0.0, 0.2])
    advantages = torch.tensor([1.0, -1.0, 2.0, -2.0, 0.5])
    with torch.no_grad():
        logits, values = learner.forward(decisions.observations)
        logits[:] = torch.tensor([2.0, 0.0, 9.0])
        parts = learner.weigh_decisions(
            decisions, torch.arange(5), logits, values, targets, advantages
        )
    legal = [exp(2.0) / (exp(2.0) + 1), 1 / (exp(2.0) + 1)]  # the third action is illegal
    ratio = legal[0] / 0.5
    assert ratio > 1.2
    gain = 1.2 * 1.0 - ratio * 1.0 + 1.2 * 2.0 - ratio * 2.0 + 1.2 * 0.5
    assert float(parts.gain) == pytest.approx(gain, rel=1e-5)
    assert float(parts.error) == pytest.approx(float(((values - targets) ** 2).sum()), rel=1e-5)
    entropy = -5 * sum(p * log(p) for p in legal)
    assert float(parts.entropy) == pytest.approx(entropy, rel=1e-5)


def test_an_illegal_action_has_no_probability_and_no_gradient() -> None:
    logits = torch.tensor([[1.0, 5.0, 2.0]], requires_grad=True)
    log_probs = mask_logits(logits, torch.tensor([[True, False, True]])).log_softmax(-1)
    (log_probs.exp() * log_probs).sum().backward()  # type: ignore[no-untyped-call]
    assert float(log_probs.detach().exp()[0, 1]) == 0
    assert logits.grad is not None
    assert float(logits.grad[0, 1]) == 0
    assert torch.isfinite(logits.grad).all()


def test_what_won_becomes_likelier_and_what_lost_less_likely() -> None:
    won = [make_step(0, 1.0, 0), make_step(1, 1.0, 1)]
    piece = encode(*(Episode(number, 1, won, (1.0, -1.0)) for number in range(64)))
    learner = begin(epochs=8, learning_rate=0.01, entropy=0.0)
    metrics = learn(learner, piece)
    with torch.no_grad():
        logits, _ = learner.forward(torch.tensor([[1.0, 1.0]]))
    assert logits[0, 0] > logits[0, 1] + 0.2
    assert (learner.version, learner.n_steps, metrics["n_matches"]) == (1, 128, 64)
    assert "return" not in metrics, "what one seat wins the other loses"


def test_of_who_plays_another_agent_the_mean_return_is_told() -> None:
    lost = make_episode(2, returns=(-1.0, 1.0), seat_1="other")
    wins = [make_episode(number, seat_1="other") for number in (0, 1, 3)]
    assert learn(begin(), encode(lost, *wins))["return"] == 0.5


def test_a_state_goes_on_to_the_same_weights() -> None:
    first, second = begin(), begin()
    learn(first, encode(make_episode(1)))
    second.load(first.save())
    for learner in (first, second):
        learn(learner, encode(make_episode(2)))
    assert first.save() == second.save()


@pytest.mark.parametrize("network", ["mpl", "mlp;hidden", "mlp;size=3", "lines", "gru;width=8"])
def test_a_network_that_cannot_be_built_is_refused(network: str) -> None:
    with pytest.raises(ParameterError):
        begin(network=network)
