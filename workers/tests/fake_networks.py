"""Networks of the sum game that misbehave where they are told to: `source` says how."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from arena.games.base import GameSpec
from arena.messages import AgentOrder
from arena.policies.network_policy import FloatBatch, Network, NetworkOutput
from inference.errors import (
    InferenceError,
    InvalidAnswerError,
    ModelError,
    QueueFullError,
    RequestError,
    UnavailableError,
)
from workers.current_call import CallMemory
from workers.networks import RetryingNetwork
from workers.order_setup import GPU, LOCAL, Catalogs
from workers.tests.fakes import CATALOGS, N_ACTIONS

GUILTY_SUM = 11
"""A row that shows this sum is one that a misbehaving network stumbles over."""
CHECKPOINT = "a" * 64

_RAISED: dict[str, Callable[[], Exception]] = {
    "raise": lambda: ModelError("the forward raised"),
    "invalid": lambda: InvalidAnswerError("the network answered NaN"),
    "request": lambda: RequestError("the block does not fit"),
    "lost": lambda: UnavailableError("no answer within 60000 ms"),
    "other": lambda: InferenceError("the address is wrong"),
    "bug": lambda: ZeroDivisionError("division by zero"),
}


def network(what: str = "", *, placement: str = GPU, temperature: float = 1.0) -> AgentOrder:
    """Return an agent whose network misbehaves so."""
    return AgentOrder(
        "network",
        {"temperature": temperature},
        checkpoint=CHECKPOINT,
        placement=placement,
        source=what,
    )


class SumNetwork:
    """Answers by what a row shows, at once; `log` keeps what it was asked, and when answered."""

    state_size = 0

    def __init__(self, what: str = "", log: list[tuple[str, int]] | None = None) -> None:
        self.what, self.log = what, [] if log is None else log
        self.n_full = 3 if what == "full" else 0

    def submit(self, observations: FloatBatch, states: FloatBatch) -> FloatBatch:
        if self.n_full:
            self.n_full -= 1
            raise QueueFullError("4096 requests wait")
        self.log.append(("ask", len(observations)))
        return observations.copy()

    def result(self, ticket: FloatBatch) -> NetworkOutput:
        self.log.append(("answer", len(ticket)))
        self._misbehave(ticket[:, 1] == GUILTY_SUM)
        sums = ticket[:, 1].astype(np.int64)
        logits = np.sin(np.arange(N_ACTIONS) * (sums[:, None] + 1)).astype(np.float32)
        if self.what == "nan":
            logits[ticket[:, 1] == GUILTY_SUM, 2] = np.nan
        values = -sums.astype(np.float32)
        return NetworkOutput(logits, values, np.zeros((len(sums), 0), np.float32))

    def _misbehave(self, guilty: NDArray[np.bool_]) -> None:
        if self.what == "slow":
            time.sleep(0.4)
        elif self.what == "stuck":
            time.sleep(60)
        elif self.what == "die" and guilty.any():
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.what in _RAISED and guilty.any():
            raise _RAISED[self.what]()


def opener(call_memory: CallMemory) -> Callable[[AgentOrder, GameSpec], Network]:
    """Return what opens these networks; those on the gpu queue show that they are waited for."""

    def open_network(order: AgentOrder, spec: GameSpec) -> Network:
        inner = SumNetwork(order.source)
        if order.placement == LOCAL:
            return inner
        return RetryingNetwork(
            inner, call_memory, patience_s=5, clock=time.monotonic, sleep=time.sleep
        )

    return open_network


def catalogs_with(call_memory: CallMemory) -> Catalogs:
    """Return the fakes, with these networks."""
    return replace(CATALOGS, network=opener(call_memory))
