"""The loss of APPO against its definition, worked out step by step."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from arena.experience.chunks import Chunk
from training import registry
from training.base import Learner
from training.returns import Floats
from training.tests.cart_pole import TASK, Player

DISCOUNT, DECAY, CLIP, SCALE, VALUE, ENTROPY = 0.99, 0.95, 0.2, 0.05, 0.5, 0.005
ONE_STEP = {"epochs": 1, "minibatch": 1024}


def begin() -> Learner:
    return registry.get("appo").begin(TASK, ONE_STEP, seed=3)


def make_chunk(seed: int) -> Chunk:
    """Return steps whose log-probabilities are far from ours, with ends of both kinds."""
    chunk, rng = Player(seed).play(begin()), np.random.default_rng(seed)
    ends = np.flatnonzero(chunk.terminated)
    truncated = np.isin(np.arange(len(chunk)), ends[::2])
    return replace(
        chunk,
        terminated=chunk.terminated & ~truncated,
        truncated=truncated,
        log_probs=rng.uniform(-1.5, -0.2, len(chunk)).astype(np.float32),
    )


@torch.no_grad()
def read_policy(learner: Learner, observations: np.ndarray) -> tuple[Floats, Floats]:
    """Return log-probabilities [B, A] and values [B]."""
    logits, values, _ = learner.module(
        torch.from_numpy(observations), torch.empty(len(observations), 0)
    )
    return logits.double().log_softmax(-1).numpy(), values.double().numpy()


def work_out_trace(learner: Learner, chunk: Chunk, ratios: Floats) -> tuple[list[float], ...]:
    """Return targets and advantages of the steps of a chunk."""
    _, values = read_policy(learner, chunk.observations)
    _, following = read_policy(learner, chunk.next_observations)
    targets: list[float] = []
    advantages: list[float] = []
    correction = 0.0
    for t in reversed(range(len(chunk))):
        is_cut = chunk.terminated[t] or chunk.truncated[t] or t == len(chunk) - 1
        followed = 0.0 if chunk.terminated[t] else DISCOUNT
        weight, reward = min(1.0, ratios[t]), SCALE * chunk.rewards[t]
        correction = 0.0 if is_cut else DISCOUNT * DECAY * weight * correction
        correction += weight * (reward + followed * following[t] - values[t])
        after = following[t] if is_cut else targets[-1]
        targets.append(values[t] + correction)
        advantages.append(reward + followed * after - values[t])
    return targets[::-1], advantages[::-1]


def test_the_loss_is_that_of_its_definition() -> None:
    learner, chunks = begin(), [make_chunk(0), make_chunk(1)]
    columns = []
    for chunk in chunks:
        log_probs, values = read_policy(learner, chunk.observations)
        ratios = np.exp(log_probs[np.arange(len(chunk)), chunk.actions] - chunk.log_probs)
        entropy = -(np.exp(log_probs) * log_probs).sum(-1)
        columns.append((values, entropy, ratios, *work_out_trace(learner, chunk, ratios)))
    values, entropy, ratios, targets, advantages = map(np.concatenate, zip(*columns, strict=True))
    assert (ratios > 1 + CLIP).any()
    assert (ratios < 1 - CLIP).any()
    normal = (advantages - advantages.mean()) / advantages.std()
    gain = np.minimum(ratios * normal, np.clip(ratios, 1 - CLIP, 1 + CLIP) * normal)
    error = (values - targets) ** 2
    expected = np.mean(VALUE * error - gain - ENTROPY * entropy)
    assert learner.learn(chunks)["loss"] == pytest.approx(expected, rel=1e-4)
