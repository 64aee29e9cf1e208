"""Ask networks: over the queue, or in process through the same interface.

Inference is a pure function of checkpoint and block, so a request without an answer is simply sent
again under its number; whichever answer comes first counts and the others are dropped.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol
from uuid import uuid4
from weakref import WeakValueDictionary

import msgspec
import numpy as np
import redis

from arena.policies.networked import Block, Evaluation
from inference import functions, wire
from inference.errors import (
    InferenceError,
    InvalidAnswerError,
    ModelError,
    QueueFullError,
    RequestError,
    UnavailableError,
)
from inference.faults import error_of
from inference.forms import Answer, BlockRequest, CheckpointRef, Fault
from inference.link import MAX_BLOCK_S, Command, Link, LinkLostError, Reply
from inference.settings import Settings

__all__ = [
    "CheckpointRef",
    "Inference",
    "InferenceClient",
    "InferenceError",
    "InvalidAnswerError",
    "ModelError",
    "QueueFullError",
    "RemoteNetwork",
    "RequestError",
    "Settings",
    "Ticket",
    "UnavailableError",
    "open_local",
    "shard_of",
]

MAX_ANSWERS = 64
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0
MIN_WAIT_S = 0.001

Ring = Callable[[int, str], None]
"""Publishes the task that drains a shard, with the lease it shall hold."""


class Inference(Protocol):
    """Answers blocks of observations for any checkpoint; used by one thread."""

    def submit(self, ref: CheckpointRef, observations: Block, states: Block | None = None) -> Any:
        """Ask; return a ticket at once. Raises QueueFullError and RequestError.

        observations: float32 [B, *shape]; states: float32 [B, S], None when feed-forward.
        """
        ...

    def result(self, ticket: Any) -> Evaluation:
        """Return the answer when it is there; to be called once per ticket.

        Raises RequestError, ModelError and UnavailableError.
        """
        ...

    def infer(
        self, ref: CheckpointRef, observations: Block, states: Block | None = None
    ) -> Evaluation:
        """Ask and wait. Raises what submit and result raise."""
        ...

    def infer_many(self, blocks: Mapping[CheckpointRef, Block]) -> dict[CheckpointRef, Evaluation]:
        """Ask several feed-forward checkpoints at once and wait for all of them."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...


def open_local(settings: Settings) -> Inference:
    """Return inference in this process, on its CPU. Raises ImportError where torch is missing."""
    # Nodes without torch import this module too.
    local: Inference = import_module("inference.local").LocalInference(settings)
    return local


def shard_of(checkpoint: str, n_shards: int) -> int:
    """Return the shard that serves a checkpoint, so that its weights lie on few workers."""
    return int(checkpoint[:8], 16) % n_shards


@dataclass(slots=True, weakref_slot=True, eq=False)
class Ticket:
    """A question that waits for its answer; nobody waits any more once it is let go."""

    request: int
    shard: int
    raw: bytes
    retry_at: float
    deadline_at: float
    answer: Answer | None = None


class InferenceClient:
    """Asks over the fast store. One per process, made after a fork; used by one thread."""

    def __init__(
        self,
        url: str,
        *,
        settings: Settings,
        ring: Ring,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
        name: str = "",
    ) -> None:
        """url: the fast store; clock: seconds; name: 32 hex digits that nobody else has."""
        self._link, self._settings, self._ring = Link(url), settings, ring
        self._clock, self._pause = clock, pause
        self._name = name or uuid4().hex
        self._reply_key = functions.reply_key(self._name)
        self._pending: WeakValueDictionary[int, Ticket] = WeakValueDictionary()
        self._n_asked = 0
        self._pause_s = FIRST_PAUSE_S
        self._offset_ms: float | None = None
        self._checked: set[CheckpointRef] = set()
        self._is_waiting = False
        self._trouble = ""
        self.n_late = 0
        """Answers that came twice, or after their deadline."""
        self.n_sent_again = 0

    def submit(
        self, ref: CheckpointRef, observations: Block, states: Block | None = None
    ) -> Ticket:
        """Ask; return a ticket at once. Raises QueueFullError, RequestError, UnavailableError."""
        ticket = self._ticket(ref, observations, states)
        self._push(ticket)
        return ticket

    def result(self, ticket: Ticket) -> Evaluation:
        """Return the answer when it is there; ask again, and give up at the deadline."""
        while ticket.answer is None:
            now = self._clock()
            if now >= ticket.deadline_at:
                within = f"no answer within {self._settings.deadline_ms} ms"
                raise UnavailableError(within + self._trouble)
            if now >= ticket.retry_at:
                self._push_again(now)
            else:
                self._receive(min(ticket.retry_at, ticket.deadline_at) - now)
        if isinstance(ticket.answer, Fault):
            raise error_of(ticket.answer)
        return ticket.answer

    def infer(
        self, ref: CheckpointRef, observations: Block, states: Block | None = None
    ) -> Evaluation:
        """Ask and wait; sent in one go with the wait, which costs less than submit and result."""
        ticket = self._ticket(ref, observations, states)
        self._push(ticket, wait_s=ticket.retry_at - self._clock())
        return self.result(ticket)

    def infer_many(self, blocks: Mapping[CheckpointRef, Block]) -> dict[CheckpointRef, Evaluation]:
        """Ask several feed-forward checkpoints at once and wait for all of them."""
        tickets = {ref: self.submit(ref, block) for ref, block in blocks.items()}
        return {ref: self.result(ticket) for ref, ticket in tickets.items()}

    def close(self) -> None:
        """Close the connection."""
        self._link.close()

    def _ticket(self, ref: CheckpointRef, observations: Block, states: Block | None) -> Ticket:
        if ref not in self._checked:
            self._check(ref)
        if states is None:
            states = np.empty((len(observations), 0), np.float32)
        self._n_asked += 1
        now = self._clock()
        deadline_at = now + self._settings.deadline_ms / 1000
        block = BlockRequest(ref, observations, states)
        ticket = Ticket(
            self._n_asked,
            shard_of(ref.checkpoint, self._settings.n_shards),
            self._encode(block, self._n_asked, deadline_at),
            now + self._settings.retry_after_ms / 1000,
            deadline_at,
        )
        self._pending[ticket.request] = ticket
        return ticket

    def _check(self, ref: CheckpointRef) -> None:
        try:
            msgspec.convert(list(ref), tuple[wire.Checkpoint, wire.Source])
        except msgspec.ValidationError as error:
            raise RequestError(f"{ref.checkpoint[:80]!r} cannot be asked: {error}") from error
        self._checked.add(ref)

    def _encode(self, block: BlockRequest, request: int, deadline_at: float) -> bytes:
        offset_ms = self._offset()
        return wire.encode_request(
            block,
            client=self._name,
            request=request,
            asked_ms=max(0.0, offset_ms + 1000 * self._clock()),
            deadline_ms=max(0.0, offset_ms + 1000 * deadline_at),
        )

    def _offset(self) -> float:
        """Return the fast store's clock minus ours in ms; 0 while it cannot be asked."""
        if self._offset_ms is None:
            try:
                self._stop_waiting()
                seconds, microseconds = self._link.call("TIME")
            except (LinkLostError, redis.ResponseError):
                return 0.0  # nothing can be sent now either; this is asked again before it is
            self._offset_ms = 1000 * (int(seconds) - self._clock()) + int(microseconds) / 1000
        return self._offset_ms

    def _push(self, ticket: Ticket, *, wait_s: float | None = None) -> None:
        """Send a request, and ring if nobody drains. Raises QueueFullError, UnavailableError.

        wait_s: begin to wait for answers too, in the same write; `_receive` reads what came.
        """
        settings = self._settings
        limits = settings.queue_limit, settings.max_drainers
        push = functions.call("inf_push", ticket.shard, ticket.raw, *limits)
        try:
            self._send(push, wait_s)
            reply = functions.checked(self._link.read())
        except (LinkLostError, functions.MissingError) as error:
            self._back_off(error)
        except redis.OutOfMemoryError as error:
            raise self._full("its memory is full") from error
        except redis.ResponseError as error:
            self._stop_waiting()
            raise UnavailableError(f"the fast store refuses a request: {error}") from error
        else:
            if reply == functions.FULL:
                raise self._full(f"{settings.queue_limit} requests wait in the queue")
            if isinstance(reply, bytes):
                self._ring(ticket.shard, reply.decode())

    def _full(self, reason: str) -> QueueFullError:
        self._stop_waiting()
        return QueueFullError(reason)

    def _push_again(self, now: float) -> None:
        """Send all that has waited too long once more, with the time of now."""
        self._offset_ms = None
        for ticket in list(self._pending.values()):
            if now >= ticket.retry_at:
                ticket.retry_at = now + self._settings.retry_after_ms / 1000
                block = wire.decode_request(ticket.raw).block
                if isinstance(block, BlockRequest):
                    ticket.raw = self._encode(block, ticket.request, ticket.deadline_at)
                with suppress(QueueFullError):  # it is tried again after the same time
                    self._push(ticket)
                self.n_sent_again += 1

    def _send(self, push: Command | None, wait_s: float | None) -> None:
        """Send a request, a pop of our answers, or both."""
        self._stop_waiting()
        commands = [] if push is None else [push]
        if wait_s is not None:
            limit_s = min(max(wait_s, MIN_WAIT_S), MAX_BLOCK_S)
            commands.append(("BLMPOP", limit_s, 1, self._reply_key, "LEFT", "COUNT", MAX_ANSWERS))
        self._link.send(commands)
        self._is_waiting = wait_s is not None

    def _stop_waiting(self) -> None:
        """Leave a pop whose reply has not been read: nothing else can be sent on its link."""
        if self._is_waiting:
            self._link.close()
        self._is_waiting = False

    def _receive(self, limit_s: float) -> None:
        """Take the answers that are there, or wait for the first until the limit."""
        try:
            if not self._is_waiting:
                self._send(None, limit_s)
            reply = self._link.read()
        except LinkLostError as error:
            self._back_off(error)
            return
        self._is_waiting = False
        if isinstance(reply, redis.ResponseError):
            raise UnavailableError(f"the fast store refuses to answer: {reply}") from reply
        if reply is not None:
            self._pause_s, self._trouble = FIRST_PAUSE_S, ""
            self._sort(reply)

    def _sort(self, reply: Reply) -> None:
        _, raws = reply
        for raw in raws:
            request, answer = wire.decode_answer(raw)
            ticket = self._pending.pop(request, None)
            if ticket is None:
                self.n_late += 1
            else:
                ticket.answer = answer

    def _back_off(self, error: InferenceError) -> None:
        """Wait a moment, longer each time; then everything that waits is sent again."""
        self._stop_waiting()
        self._trouble = f"; {error}"
        self._pause(self._pause_s)
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
        for ticket in self._pending.values():
            ticket.retry_at = 0.0


class RemoteNetwork:
    """One checkpoint as the network of a policy; see arena.policies.networked.Network."""

    def __init__(self, inference: Inference, ref: CheckpointRef, state_size: int) -> None:
        """state_size: floats of recurrent state per row; 0 when feed-forward."""
        self._inference, self._ref, self._state_size = inference, ref, state_size

    @property
    def state_size(self) -> int:
        """Floats of recurrent state per row; 0 when feed-forward."""
        return self._state_size

    def submit(self, observations: Block, states: Block) -> Any:
        """Ask; return a ticket at once. observations: [B, *shape], states: [B, S]."""
        return self._inference.submit(self._ref, observations, states)

    def result(self, ticket: Any) -> Evaluation:
        """Return the answer when it is there. Raises what the network or the platform did wrong."""
        return self._inference.result(ticket)
