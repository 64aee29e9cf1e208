"""Episodes that plain HTTP calls play, each under the name of its session."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from llmserve_env.errors import EpisodeOrderError
from server.environment import LLMServeEnvironment

MAX_SESSIONS: Final = 256
IDLE_S: Final = 900.0


@dataclass
class Session:
    """An environment; its lock lets one call at a time play on it."""

    environment: LLMServeEnvironment
    used_at: float = 0.0
    lock: Lock = field(default_factory=Lock)


class SessionStore:
    """The sessions by name, the one that was used longest ago first."""

    def __init__(
        self,
        make_environment: Callable[[], LLMServeEnvironment],
        clock: Callable[[], float],
        *,
        max_sessions: int = MAX_SESSIONS,
        idle_s: float = IDLE_S,
    ) -> None:
        """Begin without a session; clock: seconds that only grow."""
        self._make_environment = make_environment
        self._clock = clock
        self._max_sessions = max_sessions
        self._idle_s = idle_s
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """Return how many sessions there are, idle ones left out."""
        with self._lock:
            self._end_idle()
            return len(self._sessions)

    def find(self, name: str) -> Session:
        """Return a session that has begun an episode. Raises EpisodeOrderError."""
        with self._lock:
            self._end_idle()
            if name not in self._sessions:
                raise EpisodeOrderError(
                    f"no episode has begun in session {name}, or it has ended: after "
                    f"{self._idle_s:g} s without a call, or as the oldest of more than "
                    f"{self._max_sessions}. POST /reset begins one"
                )
            return self._touch(name, self._sessions[name])

    def find_or_make(self, name: str) -> Session:
        """Return a session, a new one where there is none: keep it once it has an episode."""
        with self._lock:
            self._end_idle()
            if name in self._sessions:
                return self._sessions[name]
        return Session(self._make_environment())

    def keep(self, name: str, session: Session) -> None:
        """Remember a session, and end the one used longest ago where there are too many."""
        with self._lock:
            self._touch(name, session)
            while len(self._sessions) > self._max_sessions:
                self._sessions.popitem(last=False)

    def _touch(self, name: str, session: Session) -> Session:
        session.used_at = self._clock()
        self._sessions[name] = session
        self._sessions.move_to_end(name)
        return session

    def _end_idle(self) -> None:
        oldest = self._clock() - self._idle_s
        while self._sessions and next(iter(self._sessions.values())).used_at < oldest:
            self._sessions.popitem(last=False)
