"""The networks that a player asks: over the queue, or computed in the player itself.

What answers them is opened when an order first needs it and kept for the next ones.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from arena.games.base import GameSpec
from arena.messages import AgentOrder
from arena.policies.network_policy import FloatBatch, Network, NetworkOutput
from inference import settings
from inference.client import (
    CheckpointRef,
    Inference,
    InferenceClient,
    InferenceError,
    QueueFullError,
    RemoteNetwork,
    UnavailableError,
    open_local,
)
from workers.current_call import CallMemory
from workers.errors import OrderError
from workers.order_setup import GPU

ADDRESS = "EVALSITE_INFERENCE_URL"
FIRST_PAUSE_S = 0.01
LONGEST_PAUSE_S = 1.0
# Deadlines for which a full queue is asked again and again, before it counts as lost.
PATIENCE = 5

Ring = Callable[[int, str], None]


class RetryingNetwork:
    """A network far away: while it is asked and answers, nobody in this player is charged."""

    def __init__(
        self,
        network: Network,
        call_memory: CallMemory,
        *,
        patience_s: float,
        clock: Callable[[], float],
        sleep: Callable[[float], object],
    ) -> None:
        """patience_s: how long a full queue is asked again."""
        self._network, self._call_memory, self._patience_s = network, call_memory, patience_s
        self._clock, self._sleep = clock, sleep

    @property
    def state_size(self) -> int:
        """Floats of recurrent state per row."""
        return self._network.state_size

    def submit(self, observations: FloatBatch, states: FloatBatch) -> Any:
        """Ask, later where the queue is full. Raises UnavailableError where it stays full."""
        until, pause_s = self._clock() + self._patience_s, FIRST_PAUSE_S
        while True:
            with self._call_memory.show_waiting():
                try:
                    return self._network.submit(observations, states)
                except QueueFullError as error:
                    if self._clock() >= until:
                        raise UnavailableError(f"the queue stays full: {error}") from error
                    self._sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def result(self, ticket: Any) -> NetworkOutput:
        """Return the answer when it is there."""
        with self._call_memory.show_waiting():
            return self._network.result(ticket)


class Networks:
    """Opens networks by their orders; one connection, and one engine, for all of them."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        ring: Ring,
        call_memory: CallMemory,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._environ, self._ring, self._call_memory = environ, ring, call_memory
        self._clock, self._sleep = clock, sleep
        self._remote: Inference | None = None
        self._local: Inference | None = None

    def open_network(self, order: AgentOrder, spec: GameSpec) -> Network:
        """Return the network of an agent. Raises OrderError where this node cannot ask it."""
        try:
            own = settings.read_settings(self._environ)
        except InferenceError as error:
            raise OrderError(str(error)) from error
        ref = CheckpointRef(order.checkpoint, order.source)
        if order.placement != GPU:
            try:
                local = self._local = self._local or open_local(own)
            except ImportError as error:
                needs = "networks placed locally need torch, the extra [inference], on this node"
                raise OrderError(f"{needs}: {error}") from error
            # Fetched and loaded now, while nobody's time runs; what is wrong is said again to the
            # matches that it concerns, when they ask.
            observation = np.zeros((1, *spec.observation_shape), np.float32)
            with suppress(InferenceError):
                local.infer(ref, observation, np.zeros((1, order.state_size), np.float32))
            return RemoteNetwork(local, ref, order.state_size)
        remote = self._remote = self._remote or self._connect(own)
        return RetryingNetwork(
            RemoteNetwork(remote, ref, order.state_size),
            self._call_memory,
            patience_s=PATIENCE * own.deadline_ms / 1000,
            clock=self._clock,
            sleep=self._sleep,
        )

    def _connect(self, own: settings.Settings) -> Inference:
        # The address of the broker's side of the fast store, FAST_REDIS_URL, is not for players.
        url = self._environ.get(ADDRESS, "")
        if not url:
            raise OrderError(
                f"{ADDRESS} is not set: networks on the gpu queue need the address of the fast "
                "store with the user that players have"
            )
        return InferenceClient(url, settings=own, ring=self._ring)
