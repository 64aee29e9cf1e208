"""Players of CartPole that send chunks: what the clients of a run are, inside a test."""

from uuid import UUID

import gymnasium
import numpy as np
import torch

from arena.experience.chunks import Chunk
from training.base import Learner, Task

TASK = Task("cart_pole", (4,), 2)
STEPS = 128


class Player:
    """Plays on where its last chunk ended; the policy may be another one by then."""

    def __init__(self, seed: int) -> None:
        self._env = gymnasium.make("CartPole-v1")
        self._rng = np.random.default_rng(seed)
        self._episode, self._step = 0, 0
        self._observation, _ = self._env.reset(seed=seed)

    def play(self, learner: Learner, n_steps: int = STEPS) -> Chunk:
        """Return a chunk of what the policy as it is now does here."""
        rows = [self._take_step(learner) for _ in range(n_steps)]
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        episodes, steps, observations, following, actions, rewards, ended, cut, log_probs = columns
        return Chunk(
            game=TASK.game,
            chunk_id=UUID(bytes=self._rng.bytes(16), version=4).hex,
            policy_version=learner.version,
            episodes=episodes.astype(np.int64),
            steps=steps.astype(np.int32),
            observations=observations.astype(np.float32),
            next_observations=following.astype(np.float32),
            actions=actions.astype(np.int32),
            rewards=rewards.astype(np.float32),
            terminated=ended,
            truncated=cut,
            log_probs=log_probs.astype(np.float32),
        )

    def _take_step(self, learner: Learner) -> tuple[object, ...]:
        observation, episode, step = self._observation, self._episode, self._step
        logits = read_logits(learner, observation)
        log_probs = logits - np.logaddexp.reduce(logits)
        action = int(self._rng.random() >= np.exp(log_probs[0]))
        following, reward, ended, cut, _ = self._env.step(action)
        self._observation, self._step = following, step + 1
        if ended or cut:
            self._episode, self._step = episode + 1, 0
            self._observation, _ = self._env.reset()
        return episode, step, observation, following, action, reward, ended, cut, log_probs[action]


@torch.no_grad()
def read_logits(learner: Learner, observation: object) -> np.ndarray:
    """Return the logits of one observation: float32 [2]."""
    logits, _, _ = learner.module(torch.tensor(np.array(observation))[None], torch.empty(1, 0))
    return np.asarray(logits[0].numpy())


def measure_return(learner: Learner, *, n_episodes: int = 100, seed: int = 10_000) -> float:
    """Return the mean return of the greedy policy, all episodes at once."""
    envs = gymnasium.make_vec("CartPole-v1", n_episodes, vectorization_mode="sync")
    observations, _ = envs.reset(seed=seed)
    total, is_over = np.zeros(n_episodes), np.zeros(n_episodes, bool)
    while not is_over.all():
        with torch.no_grad():
            logits, _, _ = learner.module(torch.tensor(observations), torch.empty(n_episodes, 0))
        observations, rewards, ended, cut, _ = envs.step(logits.argmax(-1).numpy())
        total += np.where(is_over, 0.0, rewards)
        is_over |= ended | cut
    return float(total.mean())
