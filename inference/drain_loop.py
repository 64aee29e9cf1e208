"""The loop of a drainer for about a second: pop what waits, run it, answer.

One round trip to the fast store per batch carries the answers of the batch before and the pop of
the next.
"""

import logging
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import redis

from arena.faststore import queue_key, reply_key, taken_key
from inference import redis_functions, wire
from inference.batcher import MicroBatcher
from inference.connection import MAX_BLOCK_S, Command, ConnectionLostError, FastConnection, Reply
from inference.protocol import Answer, Answerer, BlockRequest, Fault, FaultKind
from inference.settings import Settings

log = logging.getLogger(__name__)

MAX_POP = 256
# By the size of those popped last: hundreds of the largest requests would not fit into memory.
MAX_POP_BYTES = 64 << 20
# How often is looked for more while a batch waits to be full (max_wait_ms).
POLL_MS = 0.5
# Some times the requests that may wait: copies come from the list in which the first one was.
MAX_ANSWERED: Final = 1 << 15

# Client and number of a request, whichever copy of it.
Key = tuple[str, int]


class PoppedRequest(NamedTuple):
    """A request in hand, with its bytes and its shard to give it back."""

    raw: bytes
    shard: int
    client: str
    request: int
    asked_ms: float
    deadline_ms: float
    block: BlockRequest
    n_rows: int

    @property
    def key(self) -> Key:
        """Return what all copies of the request share."""
        return self.client, self.request


class AnsweredRequests:
    """What one gpu worker has answered lately; used by several threads."""

    def __init__(self, limit: int = MAX_ANSWERED) -> None:
        """limit: how many requests are remembered, the newest ones."""
        self._limit, self._lock = limit, threading.Lock()
        self._at_ms: dict[Key, float] = {}

    def note_answers(self, keys: Iterable[Key], now_ms: float) -> None:
        """Take note of requests whose answers go out now."""
        with self._lock:
            for key in keys:
                self._at_ms.pop(key, None)
                self._at_ms[key] = now_ms
            while len(self._at_ms) > self._limit:
                del self._at_ms[next(iter(self._at_ms))]

    def is_copy(self, key: Key, asked_ms: float) -> bool:
        """Return True for a copy that was sent before the answer went out.

        One that was sent after it is no copy: its answer got lost, or nobody would ask again.
        """
        return asked_ms <= self._at_ms.get(key, -1.0)


# Is told of every batch, its answers, and when it began and ended (the fast store's ms).
Observer = Callable[[Sequence[PoppedRequest], Sequence[Answer], float, float], None]


def no_observer(
    batch: Sequence[PoppedRequest], answers: Sequence[Answer], began_ms: float, ended_ms: float
) -> None:
    """Take no note."""
    del batch, answers, began_ms, ended_ms


class DrainTools(NamedTuple):
    """What a drainer works with."""

    connection: FastConnection
    engine: Answerer
    settings: Settings
    # Publishes a doorbell for a shard with a lease; False when it could not.
    ring: Callable[[int, str], bool]
    # True when the worker has been told to end.
    stop: Callable[[], bool]
    # Has the worker end: its engine cannot go on.
    fail: Callable[[], None]
    answered: AnsweredRequests
    clock: Callable[[], float] = time.monotonic
    observe: Observer = no_observer
    pause: Callable[[float], None] = time.sleep


class DrainLoop:
    """The requests in hand, the answers to send, and how long to go on."""

    def __init__(
        self, tools: DrainTools, shard: int, lease: str, *, now_ms: float, counts: Counter[str]
    ) -> None:
        """now_ms: the fast store's clock; counts: where to add what was done."""
        self._tools, self._shard, self._lease, self._counts = tools, shard, lease, counts
        self._settings = settings = tools.settings
        self._offset_ms = now_ms - 1000 * tools.clock()
        self._ends_ms = now_ms + settings.slice_ms
        self._extend_ms = now_ms + settings.lease_ms / 3
        # Whoever drains a shard helps with the others that its worker serves: a worker of one
        # thread would else let them wait for the end of the slice.
        self._shards = deque(dict.fromkeys((shard, *settings.serves)))
        self._shard_of = {queue_key(shard).encode(): shard for shard in self._shards}
        self._batcher: MicroBatcher[PoppedRequest] = MicroBatcher(
            max_batch_size=settings.max_batch_size, max_wait_ms=settings.max_wait_ms
        )
        self._rows_per_request = self._bytes_per_request = 1.0
        self._n_lately = 0
        # The first copy of a request is answered, those that come while it is in hand are dropped.
        self._in_hand: set[Key] = set()
        self._n_taken: Counter[int] = Counter()
        self._answers: defaultdict[str, list[bytes]] = defaultdict(list)

    def drain_shard(self) -> bool:
        """Work until idle, told to stop or the slice is spent; return True if the lease is gone."""
        while not self._tools.stop():
            if not self._take_turn() and self._finish_lease():
                return True
            if self._now_ms() >= self._ends_ms:
                self._give_back_requests()
                return False
        self._give_back_requests()
        return self._finish_lease()

    def _now_ms(self) -> float:
        return self._offset_ms + 1000 * self._tools.clock()

    def _take_turn(self) -> bool:
        """Send answers, pop, run a batch; return False when nothing has come."""
        is_pop = self._batcher.n_free_rows > 0
        commands = self._list_outgoing_commands()
        if is_pop:
            commands.append(self._make_pop_command())
        replies = self._exchange_commands(commands)
        if is_pop and isinstance(replies[-1], list):
            self._take_requests(*replies[-1])
            self._look_again(n_came=len(replies[-1][1]))
        if not self._batcher:
            # Of requests that were refused when they were read, or dropped.
            return bool(self._answers or self._n_taken)
        batch = self._batcher.take_batch(self._now_ms())
        self._counts["expired"] += len(batch.expired)
        self._in_hand.difference_update(popped.key for popped in batch.expired)
        if batch.run:
            self._answer_batch(batch.run)
        return True

    def _look_again(self, n_came: int) -> None:
        """Pop once more when fewer have come than lately: the others are on their way.

        Clients that were answered together ask again within the time of a round trip. Without it
        the first of them runs alone: a third fewer rows per forward, and 10 % fewer requests.
        """
        if n_came < self._n_lately and self._batcher and self._batcher.n_free_rows:
            (reply,) = self._exchange_commands([self._make_pop_command()])
            if isinstance(reply, list):
                self._take_requests(*reply)
                n_came += len(reply[1])
        # Falls slowly: one thin pop among full ones does not change what is expected.
        self._n_lately = max(n_came, self._n_lately - 1)

    def _make_pop_command(self) -> Reply:
        """Return the pop of as many requests as may fit; it waits if there is nothing in hand."""
        n_fit = (
            self._batcher.n_free_rows / self._rows_per_request,
            MAX_POP_BYTES / self._bytes_per_request,
        )
        n = max(1, min(MAX_POP, *map(int, n_fit)))
        keys = [queue_key(shard) for shard in self._shards]
        self._shards.rotate(-1)  # or the first list that never empties would starve the others
        due_in_ms = self._batcher.due_in_ms(self._now_ms())
        if due_in_ms is None:
            settings = self._settings
            # Not past the time at which the lease is kept, and no longer than a command may block.
            wait_ms = min(settings.linger_ms, settings.lease_ms / 3, 1000 * MAX_BLOCK_S)
            return ("BLMPOP", wait_ms / 1000, len(keys), *keys, "LEFT", "COUNT", n)
        if due_in_ms:
            # A quiet server ends a blocking pop up to 100 ms late.
            self._tools.pause(min(due_in_ms, POLL_MS) / 1000)
        return ("LMPOP", len(keys), *keys, "LEFT", "COUNT", n)

    def _take_requests(self, key: bytes, raws: Sequence[bytes]) -> None:
        """Read what was popped; answer at once what cannot be run."""
        now_ms, shard = self._now_ms(), self._shard_of[key]
        self._n_taken[shard] += len(raws)
        n_rows = sum(self._take_request(raw, shard, now_ms=now_ms) for raw in raws)
        self._rows_per_request = max(1.0, n_rows / len(raws))
        self._bytes_per_request = max(1.0, sum(map(len, raws)) / len(raws))

    def _take_request(self, raw: bytes, shard: int, *, now_ms: float) -> int:
        """Give a request to the batcher; return its rows, 0 where it will not be run."""
        try:
            request = wire.decode_request(raw)
        except wire.MalformedError as error:
            if not self._counts["dropped"]:  # once per slice: players could fill the log
                log.warning("what is no request is dropped: %s", error)
            self._counts["dropped"] += 1
            return 0
        if isinstance(request.block, Fault):
            self._post_answer(request.client, request.request, request.block)
            return 0
        copies = request.client, request.request
        if copies in self._in_hand or self._tools.answered.is_copy(copies, request.asked_ms):
            self._counts["copies"] += 1
            return 0
        self._in_hand.add(copies)
        asked_ms, deadline_ms = request.asked_ms, request.deadline_ms
        popped = PoppedRequest(
            raw, shard, *copies, asked_ms, deadline_ms, request.block, request.n_rows
        )
        self._batcher.add_request(popped, now_ms=now_ms)
        return request.n_rows

    def _answer_batch(self, batch: Sequence[PoppedRequest]) -> None:
        began_ms = self._now_ms()
        answers = self._evaluate_blocks([popped.block for popped in batch])
        for popped, answer in zip(batch, answers, strict=True):
            self._post_answer(popped.client, popped.request, answer)
        ended_ms, keys = self._now_ms(), [popped.key for popped in batch]
        self._tools.answered.note_answers(keys, ended_ms)
        self._in_hand.difference_update(keys)
        self._counts["requests"] += len(batch)
        self._tools.observe(batch, answers, began_ms, ended_ms)

    def _evaluate_blocks(self, blocks: Sequence[BlockRequest]) -> Sequence[Answer]:
        try:
            return self._tools.engine.answer(blocks, keep_alive=self._keep_alive)
        except ConnectionLostError:
            raise  # of keep_alive
        except Exception as error:
            # The engine answers the faults of requests and networks; what it raises leaves the
            # device unusable. Nobody is charged, and another process goes on.
            log.exception("the engine failed on a batch of %d: this worker ends", len(blocks))
            self._counts["engine_errors"] += 1
            self._tools.fail()
            detail = f"{type(error).__name__}: {error}"
            return [Fault(FaultKind.UNAVAILABLE, detail)] * len(blocks)

    def _post_answer(self, client: str, request: int, answer: Answer) -> None:
        if isinstance(answer, Fault):
            self._counts[answer.kind.value] += 1
        self._answers[client].append(wire.encode_answer(request, answer))

    def _list_outgoing_commands(self) -> list[Reply]:
        """Return the commands that send the answers, and keep the lease when it is time.

        They also say how far the lists were taken: so clients know whether theirs still wait.
        """
        keep_ms = self._settings.deadline_ms  # by then its client has given up
        commands: list[Reply] = []
        for client, answers in self._answers.items():
            key = reply_key(client)
            commands += (("RPUSH", key, *answers), ("PEXPIRE", key, keep_ms))
        self._answers.clear()
        commands += [("INCRBY", taken_key(shard), n) for shard, n in self._n_taken.items()]
        self._n_taken.clear()
        if self._now_ms() >= self._extend_ms:
            commands.append(self._make_extend_command())
        return commands

    def _make_extend_command(self) -> Command:
        lease_ms = self._settings.lease_ms
        self._extend_ms = self._now_ms() + lease_ms / 3
        return redis_functions.command_of("inf_extend", self._shard, self._lease, lease_ms)

    def _keep_alive(self) -> None:
        """Keep the lease while something takes long; the engine calls this."""
        if self._now_ms() >= self._extend_ms:
            self._exchange_commands([self._make_extend_command()])

    def _exchange_commands(self, commands: Sequence[Command]) -> list[Reply]:
        replies = self._tools.connection.exchange(commands) if commands else []
        for reply in replies:
            if isinstance(reply, redis.ResponseError):
                # Out of memory, or just restarted: the clients ask again.
                log.warning("the fast store refuses: %s", reply)
                self._counts["store_errors"] += 1
        return replies

    def _finish_lease(self) -> bool:
        """Give the lease up unless something waits; return True when it is gone."""
        (reply,) = self._exchange_commands(
            [redis_functions.command_of("inf_finish", self._shard, self._lease)]
        )
        return bool(reply)

    def _give_back_requests(self) -> None:
        """Send the last answers; give back, in front of all others, what was not run."""
        left: defaultdict[int, list[bytes]] = defaultdict(list)
        # Reversed, because each push to the left stands before the one pushed last.
        for popped in reversed(self._batcher.take_all()):
            left[popped.shard].append(popped.raw)
        for shard, raws in left.items():
            self._n_taken[shard] -= len(raws)
        commands = self._list_outgoing_commands()
        for shard, raws in left.items():
            commands.append(("LPUSH", queue_key(shard), *raws))
        self._exchange_commands(commands)
