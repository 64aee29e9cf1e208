"""Policies that decide with a neural network, wherever the network runs.

The network answers logits; the policy chooses with the randomness of the match, so that a request
that is sent twice changes no game. Asking and answering are apart, so that a player can step other
matches while it waits.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from arena.policies.base import Row

FloatBatch = NDArray[np.float32]
MaskBatch = NDArray[np.bool_]


class NetworkOutput(NamedTuple):
    """What a network says of a block of B observations.

    logits: float32 [B, A]; values: float32 [B], what the seat to move expects of its return;
    states: float32 [B, S], the recurrent state after each row, S = 0 when feed-forward.
    """

    logits: FloatBatch
    values: FloatBatch
    states: FloatBatch


class Network(Protocol):
    """One checkpoint that answers blocks, in process or on the gpu queue."""

    @property
    def state_size(self) -> int:
        """Floats of recurrent state per row; 0 when feed-forward."""
        ...

    def submit(self, observations: FloatBatch, states: FloatBatch) -> Any:
        """Ask; return a ticket at once. observations: [B, *shape], states: [B, S]."""
        ...

    def result(self, ticket: Any) -> NetworkOutput:
        """Return the answer when it is there. Raises what the network or the platform did wrong."""
        ...


class InferenceRequest(NamedTuple):
    """Rows that a network has been asked about, and what it was shown.

    ticket: None for no rows. observations: float32 [B, *shape]; states: float32 [B, S]; masks:
    bool [B, A], the legal actions.
    """

    rows: Sequence[Row]
    ticket: Any
    observations: FloatBatch
    states: FloatBatch
    masks: MaskBatch


class Decisions(NamedTuple):
    """One action per row, with the network's output for it."""

    actions: Sequence[int]
    evaluation: NetworkOutput


class NetworkPolicy(ABC):
    """A policy whose network is attached by whoever plays it."""

    # Set by attach: a policy is built before it is known where its network runs.
    network: Network

    def attach(self, network: Network) -> None:
        """Take the network to ask; before the first row, as `build` does not know it."""
        self.network = network

    @abstractmethod
    def ask(self, rows: Sequence[Row]) -> InferenceRequest:
        """Send the observations of the rows; must not change the states.

        All that the game is asked for is asked here: what `decide` raises is not the game's fault.
        """

    @abstractmethod
    def decide(self, question: InferenceRequest) -> Decisions:
        """Wait for the answer and choose. Raises InvalidOutputError for what is no distribution."""

    def act(self, rows: Sequence[Row]) -> Sequence[int]:
        """Return one action per row: ask and wait, for a caller with nothing else to do."""
        return self.decide(self.ask(rows)).actions
