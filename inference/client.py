"""Ask networks: over the queue, or in process through the same interface.

Inference is a pure function of checkpoint and block, so a request that has got lost is simply sent
again under its number; whichever answer comes first counts and the others are dropped. One that
still waits in its list is not lost: a copy of it would only make the list longer.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4
from weakref import WeakValueDictionary

import msgspec
import numpy as np
import redis

from arena.faststore import reply_key
from arena.policies.network_policy import FloatBatch, NetworkOutput
from inference import shards, wire
from inference.connection import MAX_BLOCK_S, Command, ConnectionLostError, FastConnection, Reply
from inference.errors import (
    InferenceError,
    InvalidAnswerError,
    ModelError,
    QueueFullError,
    RequestError,
    UnavailableError,
)
from inference.protocol import Answer, BlockRequest, CheckpointRef, Fault, error_of
from inference.settings import Settings
from inference.shards import shard_of

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
# How long the measured difference to the fast store's clock is trusted.
CLOCK_S = 60.0

# Publishes the task that drains a shard, with a name for the lease it is to take.
Ring = Callable[[int, str], None]


class Inference(Protocol):
    """Answers blocks of observations for any checkpoint; used by one thread."""

    def submit(
        self, ref: CheckpointRef, observations: FloatBatch, states: FloatBatch | None = None
    ) -> Any:
        """Ask; return a ticket at once. Raises QueueFullError and RequestError.

        observations: float32 [B, *shape]; states: float32 [B, S], None when feed-forward.
        """
        ...

    def result(self, ticket: Any) -> NetworkOutput:
        """Return the answer when it is there; to be called once per ticket.

        Raises RequestError, ModelError and UnavailableError.
        """
        ...

    def infer(
        self, ref: CheckpointRef, observations: FloatBatch, states: FloatBatch | None = None
    ) -> NetworkOutput:
        """Ask and wait. Raises what submit and result raise."""
        ...

    def infer_many(
        self, blocks: Mapping[CheckpointRef, FloatBatch]
    ) -> dict[CheckpointRef, NetworkOutput]:
        """Ask several feed-forward checkpoints at once and wait for all of them."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...


def open_local(settings: Settings) -> Inference:
    """Return inference in this process, on its CPU. Raises ImportError where torch is missing."""
    # Late, as nodes without torch import this module too.
    from inference.local import LocalInference  # noqa: PLC0415

    return LocalInference(settings)


@dataclass(slots=True, weakref_slot=True, eq=False)
class Ticket:
    """A question that waits for its answer; nobody waits any more once it is let go."""

    request: int
    shard: int
    raw: bytes
    # When to see what has become of it.
    look_at: float
    # When to send it once more, if it has been taken and not answered.
    again_at: float
    again_s: float
    deadline_at: float
    place: shards.QueuePosition | None = None
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
        """url: the fast store; clock: seconds; name: 32 hex digits that nobody can guess."""
        self._connection, self._settings, self._ring = FastConnection(url), settings, ring
        self._clock, self._pause = clock, pause
        self._retry_s = settings.retry_after_ms / 1000
        self._name = f"{settings.node}:{name or uuid4().hex}"
        self._reply_key = reply_key(self._name)
        self._bell = shards.DoorbellRule()
        self._n_waiting: dict[int, int] = {}
        self._pending: WeakValueDictionary[int, Ticket] = WeakValueDictionary()
        self._n_asked = 0
        self._pause_s = FIRST_PAUSE_S
        self._offset_ms: float | None = None
        self._measured_at = 0.0
        self._checked: set[CheckpointRef] = set()
        self._is_waiting = False
        self._trouble = ""
        # Answers that came twice, or after their deadline.
        self.n_late = 0
        self.n_sent_again = 0

    def submit(
        self, ref: CheckpointRef, observations: FloatBatch, states: FloatBatch | None = None
    ) -> Ticket:
        """Ask; return a ticket at once. Raises QueueFullError, RequestError, UnavailableError."""
        ticket = self._make_ticket(ref, observations, states)
        self._push_ticket(ticket)
        return ticket

    def result(self, ticket: Ticket) -> NetworkOutput:
        """Return the answer when it is there; ask again, and give up at the deadline."""
        while ticket.answer is None:
            now = self._clock()
            if now >= ticket.deadline_at:
                within = f"no answer within {self._settings.deadline_ms} ms"
                raise UnavailableError(within + self._trouble)
            if now >= ticket.look_at:
                self._look_after(now)
            else:
                self._receive_answers(min(ticket.look_at, ticket.deadline_at) - now)
        if isinstance(ticket.answer, Fault):
            raise error_of(ticket.answer)
        return ticket.answer

    def infer(
        self, ref: CheckpointRef, observations: FloatBatch, states: FloatBatch | None = None
    ) -> NetworkOutput:
        """Ask and wait; sent in one go with the wait, which costs less than submit and result."""
        ticket = self._make_ticket(ref, observations, states)
        self._push_ticket(ticket, wait_s=ticket.look_at - self._clock())
        return self.result(ticket)

    def infer_many(
        self, blocks: Mapping[CheckpointRef, FloatBatch]
    ) -> dict[CheckpointRef, NetworkOutput]:
        """Ask several feed-forward checkpoints at once and wait for all of them."""
        tickets = {ref: self.submit(ref, block) for ref, block in blocks.items()}
        return {ref: self.result(ticket) for ref, ticket in tickets.items()}

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _make_ticket(
        self, ref: CheckpointRef, observations: FloatBatch, states: FloatBatch | None
    ) -> Ticket:
        if ref not in self._checked:
            try:
                msgspec.convert(list(ref), tuple[wire.Checkpoint, wire.Source])
            except msgspec.ValidationError as error:
                name = f"{ref.checkpoint[:80]!r}"
                raise RequestError(f"{name} cannot be asked: {error}") from error
            self._checked.add(ref)
        if states is None:
            states = np.empty((len(observations), 0), np.float32)
        self._n_asked += 1
        now = self._clock()
        deadline_at = now + self._settings.deadline_ms / 1000
        block = BlockRequest(ref, observations, states)
        ticket = Ticket(
            self._n_asked,
            shard_of(ref.checkpoint, self._settings.n_shards),
            self._encode_block(block, self._n_asked, deadline_at, self._store_ms()),
            look_at=now + self._retry_s,
            again_at=now + self._retry_s,
            again_s=self._retry_s,
            deadline_at=deadline_at,
        )
        self._pending[ticket.request] = ticket
        return ticket

    def _encode_block(
        self, block: BlockRequest, request: int, deadline_at: float, asked_ms: float
    ) -> bytes:
        return wire.encode_request(
            block,
            client=self._name,
            request=request,
            asked_ms=max(0.0, asked_ms),
            deadline_ms=max(0.0, self._measure_clock_offset_ms() + 1000 * deadline_at),
        )

    def _measure_clock_offset_ms(self) -> float:
        """Return the fast store's clock minus ours in ms; 0 while it cannot be asked."""
        if self._offset_ms is None or self._clock() - self._measured_at > CLOCK_S:
            try:
                self._stop_waiting()
                seconds, microseconds = self._connection.call("TIME")
            except (ConnectionLostError, redis.ResponseError):
                return 0.0  # nothing can be sent now either; this is asked again before it is
            self._measured_at = self._clock()
            self._offset_ms = 1000 * (int(seconds) - self._measured_at) + int(microseconds) / 1000
        return self._offset_ms

    def _store_ms(self) -> float:
        """Return the time of the fast store's clock."""
        return self._measure_clock_offset_ms() + 1000 * self._clock()

    def _push_ticket(self, ticket: Ticket, *, wait_s: float | None = None) -> None:
        """Send a request, and ring if nobody drains. Raises QueueFullError, UnavailableError.

        wait_s: begin to wait for answers too, in the same write; `_receive_answers` reads them.
        """
        try:
            limit, shard = self._settings.queue_limit, ticket.shard
            # Looked for only where much has waited: it is a round trip of its own.
            is_long = self._n_waiting.get(shard, 0) >= limit
            if is_long and self._look_at_shard(shard).n_waiting >= limit:
                raise QueueFullError(f"{limit} requests wait in the queue")
            push_commands = shards.push_commands(ticket.shard, ticket.raw, now_ms=self._store_ms())
            self._send_commands(push_commands, wait_s)
            view = self._read_view(ticket.shard)
        except ConnectionLostError as error:
            self._back_off(error)
        else:
            ticket.place = shards.QueuePosition(view.n_taken, view.n_waiting)
            ticket.again_at = self._clock() + ticket.again_s
            # A copy each time longer apart: what takes a minute is not asked for thirty times.
            ticket.again_s *= 2

    def _look_at_shard(self, shard: int) -> shards.ShardView:
        self._send_commands(shards.look_commands(shard, now_ms=self._store_ms()), None)
        return self._read_view(shard)

    def _read_view(self, shard: int) -> shards.ShardView:
        """Read the replies of a push or a look, and ring if it is due."""
        replies = [self._connection.read() for _ in range(shards.N_REPLIES)]
        try:
            view = shards.read_view(replies)
        except redis.OutOfMemoryError as error:
            self._stop_waiting()
            raise QueueFullError("its memory is full") from error
        except redis.ResponseError as error:
            self._stop_waiting()
            raise UnavailableError(f"the fast store refuses a request: {error}") from error
        self._n_waiting[shard] = view.n_waiting
        if self._bell.is_due(shard, view, now=self._clock()):
            # Whoever may look at the leases reads this: not a part of the client's own name.
            self._ring(shard, uuid4().hex[:16])
        return view

    def _look_after(self, now: float) -> None:
        """See what has become of all that has waited long; send again what must have got lost."""
        self._offset_ms = None
        # By it the server tells a copy that crossed its answer from one whose answer got lost.
        asked_ms = self._store_ms()
        due = [ticket for ticket in list(self._pending.values()) if now >= ticket.look_at]
        for ticket in due:
            ticket.look_at = now + self._retry_s
        try:
            views = {
                shard: self._look_at_shard(shard) for shard in {ticket.shard for ticket in due}
            }
            # What was taken is answered by now, or nearly.
            pop = ("LMPOP", 1, self._reply_key, "LEFT", "COUNT", MAX_ANSWERS)
            while (reply := self._connection.call(*pop)) is not None:
                self._sort_answers(reply)
        except ConnectionLostError as error:
            self._back_off(error)
            return
        for ticket in due:
            is_waiting = ticket.place is not None and ticket.place.is_waiting(views[ticket.shard])
            if ticket.answer is None and not is_waiting and now >= ticket.again_at:
                self._push_again(ticket, asked_ms)

    def _push_again(self, ticket: Ticket, asked_ms: float) -> None:
        block = wire.decode_request(ticket.raw).block
        if isinstance(block, BlockRequest):
            ticket.raw = self._encode_block(block, ticket.request, ticket.deadline_at, asked_ms)
        with suppress(QueueFullError):  # it is tried again after the same time
            self._push_ticket(ticket)
        self.n_sent_again += 1

    def _send_commands(self, commands: list[Command], wait_s: float | None) -> None:
        """Send commands, a pop of our answers, or both."""
        self._stop_waiting()
        if wait_s is not None:
            limit_s = min(max(wait_s, MIN_WAIT_S), MAX_BLOCK_S)
            pop = ("BLMPOP", limit_s, 1, self._reply_key, "LEFT", "COUNT", MAX_ANSWERS)
            commands = [*commands, pop]
        self._connection.send(commands)
        self._is_waiting = wait_s is not None

    def _stop_waiting(self) -> None:
        """Leave a pop whose reply has not been read: nothing else can be sent on its link."""
        if self._is_waiting:
            self._connection.close()
        self._is_waiting = False

    def _receive_answers(self, limit_s: float) -> None:
        """Take the answers that are there, or wait for the first until the limit."""
        try:
            if not self._is_waiting:
                self._send_commands([], limit_s)
            reply = self._connection.read()
        except ConnectionLostError as error:
            self._back_off(error)
            return
        self._is_waiting = False
        if isinstance(reply, redis.ResponseError):
            raise UnavailableError(f"the fast store refuses to answer: {reply}") from reply
        if reply is not None:
            self._pause_s, self._trouble = FIRST_PAUSE_S, ""
            self._sort_answers(reply)

    def _sort_answers(self, reply: Reply) -> None:
        _, raws = reply
        for raw in raws:
            request, answer = wire.decode_answer(raw)
            ticket = self._pending.pop(request, None)
            if ticket is None:
                self.n_late += 1
            else:
                ticket.answer = answer

    def _back_off(self, error: InferenceError) -> None:
        """Wait a moment, longer each time; then everything that waits is looked after."""
        self._stop_waiting()
        self._trouble = f"; {error}"
        self._pause(self._pause_s)
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
        for ticket in self._pending.values():
            ticket.look_at = ticket.again_at = 0.0


class RemoteNetwork:
    """One checkpoint as the network of a policy; see arena.policies.network_policy.Network."""

    def __init__(self, inference: Inference, ref: CheckpointRef, state_size: int) -> None:
        """state_size: floats of recurrent state per row; 0 when feed-forward."""
        self._inference, self._ref, self._state_size = inference, ref, state_size

    @property
    def state_size(self) -> int:
        """Floats of recurrent state per row; 0 when feed-forward."""
        return self._state_size

    def submit(self, observations: FloatBatch, states: FloatBatch) -> Any:
        """Ask; return a ticket at once. observations: [B, *shape], states: [B, S]."""
        return self._inference.submit(self._ref, observations, states)

    def result(self, ticket: Any) -> NetworkOutput:
        """Return the answer when it is there. Raises what the network or the platform did wrong."""
        return self._inference.result(ticket)
