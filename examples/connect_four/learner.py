"""A network that learns from what self-play found.

What is saved is an average of its weights over the last tenth of the updates or so: it is stronger
than the weights of any one update, which the last few batches have thrown about.
"""

from collections import deque
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from arena.checkpoints import Seal
from examples.connect_four.environment import N_COLUMNS, OBSERVATION_SHAPE
from examples.connect_four.self_play import Experience, Floats
from inference.model import fresh, save_sealed

SEAL = Seal(
    architecture="rescnn",
    parameters={"channels": 32, "blocks": 4},
    game="connect_four",
    observation_shape=OBSERVATION_SHAPE,
    n_actions=N_COLUMNS,
)
"""What every checkpoint of the run says about itself; another size is another line here."""


@dataclass(frozen=True)
class Schedule:
    """How to learn; the defaults are those of the shipped run."""

    rate: float = 2e-3
    batch: int = 512
    uses: int = 4
    """How often each decision is learned from, on average."""
    memory: int = 4
    """Iterations of self-play to learn from, the newest ones."""
    freshness: int = 8
    """The average reaches back over about one in so many of all updates."""


class Loss(NamedTuple):
    """Means over an iteration: cross entropy of the policy, squared error of the value."""

    policy: float
    value: float


class Learner:
    """A network with its optimizer and memory; on the CPU, with the randomness passed in."""

    def __init__(self, rng: np.random.Generator, schedule: Schedule) -> None:
        self._rng, self._schedule = rng, schedule
        self._memory: deque[Experience] = deque(maxlen=schedule.memory)
        self._module: nn.Module = fresh(SEAL, seed=int(rng.integers(2**63)))
        self._average = deepcopy(self._module)
        self._optimizer = torch.optim.Adam(self._module.parameters(), lr=schedule.rate)
        self.n_updates = 0

    def evaluate(self, observations: Floats) -> tuple[Floats, Floats]:
        """Return logits [N, 7] and values [N], each -1 to 1."""
        with torch.inference_mode():
            logits, values = _forward(self._module, torch.from_numpy(observations))
        return logits.numpy(), values.numpy()

    def learn(self, experience: Experience) -> Loss:
        """Remember the experience, learn from what is remembered and say the loss."""
        self._memory.append(experience)
        n_drawn = self._schedule.uses * len(experience.values)
        losses = [self._update(*batch) for batch in self._batches(n_drawn)]
        return Loss(*np.mean(losses, axis=0).tolist())

    def save(self, path: Path) -> str:
        """Write the network as a sealed checkpoint; return its hash."""
        return save_sealed(self._average, path, SEAL)

    def _batches(self, n_drawn: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield remembered decisions in random order, each one as it was or mirrored."""
        observations, policies, values = map(np.concatenate, zip(*self._memory, strict=True))
        n = len(values)
        drawn = np.concatenate([self._rng.permutation(n) for _ in range(-(-n_drawn // n))])
        for start in range(0, n_drawn, self._schedule.batch):
            rows = drawn[start : start + self._schedule.batch]
            is_mirrored = self._rng.random(len(rows)) < 1 / 2
            yield (
                torch.from_numpy(_mirrored(observations[rows], is_mirrored)),
                torch.from_numpy(_mirrored(policies[rows], is_mirrored)),
                torch.from_numpy(values[rows]),
            )

    def _update(
        self, observations: Tensor, policies: Tensor, values: Tensor
    ) -> tuple[float, float]:
        logits, expected = _forward(self._module, observations)
        policy_loss = -(policies * logits.log_softmax(1)).sum(1).mean()
        value_loss = mse_loss(expected, values)
        self._optimizer.zero_grad()
        (policy_loss + value_loss).backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        self.n_updates += 1
        self._follow()
        return policy_loss.item(), value_loss.item()

    def _follow(self) -> None:
        """Move the average; its window grows with the updates (Shamir and Zhang 2013, 4)."""
        freshness = self._schedule.freshness
        share = (freshness + 1) / (freshness + self.n_updates)
        with torch.no_grad():
            both = zip(self._average.parameters(), self._module.parameters(), strict=True)
            for average, newest in both:
                average.lerp_(newest, share)


def _forward(module: nn.Module, observations: Tensor) -> tuple[Tensor, Tensor]:
    no_state = observations.new_zeros(len(observations), 0)
    logits, values, _ = module(observations, no_state)
    return logits, values


def _mirrored(block: Floats, is_mirrored: NDArray[np.bool_]) -> Floats:
    """Swap left and right, the last axis, in these rows."""
    block[is_mirrored] = block[is_mirrored, ..., ::-1]
    return block
