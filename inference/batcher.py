"""Decides when to run and what to run together: a plain object, time is an argument."""

from collections import deque
from typing import Generic, NamedTuple, Protocol, TypeVar


class WaitingRequest(Protocol):
    """What the batcher must know of a request."""

    @property
    def n_rows(self) -> int:
        """Rows of its block."""
        ...

    @property
    def deadline_ms(self) -> float:
        """When nobody waits for its answer any more."""
        ...


R = TypeVar("R", bound=WaitingRequest)


class Batch(NamedTuple, Generic[R]):
    """What to run now, and what is not worth running any more."""

    run: list[R]
    expired: list[R]


class MicroBatcher(Generic[R]):
    """Requests in the order of their arrival, taken in batches of up to max_batch_size rows.

    A batch is due when it is full or its oldest request has waited for max_wait_ms; with 0 all
    that waits is due at once. A request of more rows than that runs alone.
    """

    def __init__(self, *, max_batch_size: int, max_wait_ms: float) -> None:
        """max_batch_size: rows; max_wait_ms: 0 or more."""
        self._max_rows, self._max_wait_ms = max_batch_size, max_wait_ms
        self._waiting: deque[tuple[float, R]] = deque()
        self._n_rows = 0

    def __len__(self) -> int:
        """Return how many requests wait."""
        return len(self._waiting)

    @property
    def n_free_rows(self) -> int:
        """How many more rows fit into a batch."""
        return max(0, self._max_rows - self._n_rows)

    def add_request(self, request: R, *, now_ms: float) -> None:
        """Take a request."""
        self._waiting.append((now_ms, request))
        self._n_rows += request.n_rows

    def due_in_ms(self, now_ms: float) -> float | None:
        """Return how long to wait before `take`, 0 when a batch is due, None when nothing waits."""
        if not self._waiting:
            return None
        if not self.n_free_rows:
            return 0.0
        return max(0.0, self._waiting[0][0] + self._max_wait_ms - now_ms)

    def take_batch(self, now_ms: float) -> Batch[R]:
        """Return the batch that is due, or an empty one; what is left stays for the next."""
        batch: Batch[R] = Batch([], [])
        if self.due_in_ms(now_ms) != 0:
            return batch
        n_rows = 0
        while self._waiting:
            request = self._waiting[0][1]
            is_expired = request.deadline_ms <= now_ms
            # A request that is larger than a batch runs alone, as the first of it.
            if not is_expired and batch.run and n_rows + request.n_rows > self._max_rows:
                break
            self._waiting.popleft()
            self._n_rows -= request.n_rows
            (batch.expired if is_expired else batch.run).append(request)
            n_rows += 0 if is_expired else request.n_rows
        return batch

    def take_all(self) -> list[R]:
        """Return all that waits, oldest first, and forget it."""
        left = [request for _, request in self._waiting]
        self._waiting.clear()
        self._n_rows = 0
        return left
