"""A network that is being trained: its optimiser, its random numbers, its counts, its state."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from arena.errors import ParameterError
from arena.parameters import Value, read_parameters
from arena.trainers.networks import split_network
from arena.trainers.ppo import NETWORK
from inference.architectures import registry as architectures
from training.base import Task
from training.episodes import Episodes
from training.states import Counts, read_state, write_state

GRADIENT_NORM: Final = 0.5
START: Final = "0-0"
"""Of a stream: before its first chunk."""


class Network(NamedTuple):
    """An architecture with its parameters, as a seal has them."""

    architecture: str
    parameters: Mapping[str, Value]


def separate_values(hidden: str) -> Network:
    """Return a perceptron whose value has layers of its own and any size."""
    parameters: dict[str, Value] = {
        "hidden": hidden,
        "value_hidden": hidden,
        "bounded_value": False,
    }
    return Network("mlp", parameters)


def read_network(owner: str, text: str) -> Network:
    """Return what is spelled `mlp;hidden=64,64`. Raises ParameterError."""
    architecture, values = split_network(owner, text, architectures.names())
    declared = architectures.get(architecture)
    parameters = read_parameters(architecture, declared.parameters, values)
    if declared.state_size(parameters):
        rule = "must remember nothing between decisions, as trainers learn from each by itself"
        raise ParameterError(owner, NETWORK, f"{rule}, got {text!r:.100}")
    return Network(architecture, parameters)


class Share(NamedTuple):
    """What of a minibatch is for this process.

    rows: int64, the indices of its steps. n_steps: what the sum of their losses is divided by, so
    that the mean of all processes is that of the minibatch, also where their shares differ.
    """

    rows: Tensor
    n_steps: float


class TrainedPolicy:
    """A policy with a value, and Adam.

    In a process group each process takes its share of every minibatch and the mean of all their
    gradients, so that all of them keep the same weights.
    """

    def __init__(
        self, task: Task, network: Network, *, algorithm: str, rate: float, seed: int
    ) -> None:
        """Draw the weights from the seed. Raises ParameterError."""
        self.task, self.n_updates, self.n_steps = task, 0, 0
        self.place, self.n_skipped = START, 0
        self.episodes = Episodes()
        self._algorithm = algorithm
        self.architecture, self.architecture_parameters = network
        self.module = _build_network(task, network, seed)
        self._generator = torch.Generator().manual_seed(seed)
        self._optimiser = torch.optim.Adam(self.module.parameters(), lr=rate)
        self._is_shared = torch.distributed.is_initialized()
        self._model: nn.Module = (
            DistributedDataParallel(self.module) if self._is_shared else self.module
        )

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits [B, A] and values [B] of observations float32 [B, F]."""
        shaped = observations.view(len(observations), *self.task.observation_shape)
        logits, values, _ = self._model(shaped, torch.empty(len(observations), 0))
        return logits, values

    def draw_minibatches(self, n_steps: int, size: int) -> Iterator[Share]:
        """Yield shares of minibatches that hold each step once, in random order."""
        order = torch.randperm(n_steps, generator=self._generator)
        for first in range(0, n_steps, size):
            yield self._take_share(order[first : first + size])

    def take_step(self, loss: Tensor) -> bool:
        """Change the weights down the gradient; say whether it was finite, else it is skipped."""
        self._optimiser.zero_grad()
        torch.autograd.backward(loss)
        norm = nn.utils.clip_grad_norm_(self.module.parameters(), GRADIENT_NORM)
        # The same in all processes, as their gradients are.
        if not torch.isfinite(norm):
            self.n_skipped += 1
            return False
        self._optimiser.step()
        return True

    def save(self) -> bytes:
        """Return the whole state."""
        counts = Counts(
            self._algorithm, self.n_updates, self.n_steps, self.place, self.episodes.under_way
        )
        return write_state(self.module, self._optimiser, self._generator, counts)

    def load(self, state: bytes) -> None:
        """Take a state that `save` returned. Raises StateError."""
        counts = read_state(
            state, self.module, self._optimiser, self._generator, algorithm=self._algorithm
        )
        self.n_updates, self.n_steps, self.place = counts.n_updates, counts.n_steps, counts.place
        self.episodes = Episodes(counts.under_way)

    def _take_share(self, minibatch: Tensor) -> Share:
        if not self._is_shared:
            return Share(minibatch, len(minibatch))
        n_processes = torch.distributed.get_world_size()
        rows = minibatch[torch.distributed.get_rank() :: n_processes]
        return Share(rows, len(minibatch) / n_processes)


def _build_network(task: Task, network: Network, seed: int) -> nn.Module:
    build = partial(
        architectures.get(network.architecture).build, task.observation_shape, task.n_actions
    )
    # Architectures draw with the generator of the process, which is somebody else's, too.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build(network.parameters)
