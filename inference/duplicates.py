"""Which requests were answered lately: a copy that was sent before the answer needs no other."""

import threading
from collections.abc import Iterable
from typing import Final

MAX_ANSWERED: Final = 1 << 15
"""Some times the requests that may wait: copies come from the list in which the first one was."""

Key = tuple[str, int]
"""Client and number of a request, whichever copy of it."""


class Answered:
    """What one gpu worker has answered lately; used by several threads."""

    def __init__(self, limit: int = MAX_ANSWERED) -> None:
        """limit: how many requests are remembered, the newest ones."""
        self._limit, self._lock = limit, threading.Lock()
        self._at_ms: dict[Key, float] = {}

    def note(self, keys: Iterable[Key], now_ms: float) -> None:
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
