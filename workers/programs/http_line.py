"""The line to an agent that answers by HTTP: each message is posted, the answer is its body.

The address is of the operator's list; nothing is followed anywhere else.
"""

import time
from collections.abc import Callable
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from io import BufferedReader, RawIOBase
from socket import SocketIO, socket
from typing import Any, cast
from urllib.parse import urlsplit

from arena.errors import AgentDiedError, AgentSilentError, InvalidOutputError
from workers.failures import one_line
from workers.programs.child import MAX_LINE

CONNECT_S = 5.0
AWAY_S, PAUSE_S = 10.0, 0.5
"""So long an address that is away, as one that is started anew, is tried as an order begins."""
_AWAY = (
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)


class _LimitedSocket:
    """A socket whose limit holds for a whole question and its answer, not for each piece of it."""

    def __init__(self, inner: socket, until: float | None, clock: Callable[[], float]) -> None:
        self.inner, self._until, self._clock = inner, until, clock

    def sendall(self, text: bytes) -> None:
        """Send all of a text."""
        self.set_limit()
        self.inner.sendall(text)

    def makefile(self, mode: str) -> BufferedReader:
        """Return what the answer is read from."""
        raw = self.inner.makefile(mode, buffering=0)  # type: ignore[call-overload]
        return BufferedReader(_LimitedReader(self, raw))

    def close(self) -> None:
        """Close it once what is read from it is closed, too."""
        self.inner.close()

    def set_limit(self) -> None:
        """Give the next step what is left of the limit. Raises TimeoutError without any."""
        left_s = None if self._until is None else self._until - self._clock()
        if left_s is not None and left_s <= 0:
            raise TimeoutError("timed out")
        self.inner.settimeout(left_s)


class _LimitedReader(RawIOBase):
    def __init__(self, limited: _LimitedSocket, raw: SocketIO) -> None:
        self._limited, self._raw = limited, raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._limited.set_limit()
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class HttpLine:
    """The line to an address; its connection is kept from one decision to the next."""

    def __init__(
        self,
        address: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """address: http:// or https://, as the list has it."""
        self._clock, self._sleep = clock, sleep
        self._patience_s, self._waits_until = AWAY_S, 0.0
        parts = urlsplit(address)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._host, self._port = parts.hostname or "", parts.port
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._shown = f"{parts.scheme}://{self._host}" + (f":{self._port}" if self._port else "")
        self._connection: HTTPConnection | None = None
        self._unsent = ""

    def open(self) -> None:
        """Forget the connection; the next message opens one.

        The first time that message waits for the address, or for what a proxy finds behind it: no
        match does yet, and without a wait all attempts at one are over within seconds.
        """
        self.close()
        self._waits_until, self._patience_s = self._clock() + self._patience_s, 0.0

    def send(self, text: str) -> None:
        """Keep a message until its answer is waited for."""
        self._unsent = text

    def receive(self, *, within_s: float | None = None) -> str:
        """Return the answer to the message. It is a death when the address does not answer."""
        until = None if within_s is None else self._clock() + within_s
        while True:
            try:
                text = self._ask(until)
            except AgentDiedError as error:
                now, waits_until = self._clock(), self._waits_until
                if error.is_own_doing or now >= min(waits_until, until or waits_until):
                    raise
                self._sleep(PAUSE_S)
            else:
                self._waits_until = 0.0
                return text

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(self, until: float | None) -> str:
        try:
            connection = self._connection = self._connection or self._connect()
            if connection.sock is None:
                # It ends its connection with each answer, as HTTP/1.0 does.
                connection.connect()
            inner = getattr(connection.sock, "inner", connection.sock)
            connection.sock = cast(socket, _LimitedSocket(inner, until, self._clock))
            headers = {"Content-Type": "application/json"}
            connection.request("POST", self._path, body=self._unsent.encode(), headers=headers)
            answer = connection.getresponse()
            body = answer.read(MAX_LINE + 1)
        # ValueError: a chunk of fewer than no bytes. Else it would pass for a fault of the game.
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            why = one_line(str(error) or type(error).__name__, 200)
            kind = AgentSilentError if isinstance(error, TimeoutError) else AgentDiedError
            # Its machine may be gone, or the way to it.
            raise kind(f"{self._shown}: {why}", is_own_doing=False) from error
        if len(body) > MAX_LINE:
            raise InvalidOutputError(f"an answer of more than {MAX_LINE} bytes")
        if answer.status != HTTPStatus.OK:
            excerpt = one_line(body[:200].decode(errors="replace"))
            raise AgentDiedError(
                f"{self._shown} answers {answer.status}: {excerpt}",
                is_own_doing=answer.status not in _AWAY,
            )
        try:
            return body.decode()
        except UnicodeDecodeError:
            raise InvalidOutputError(f"an answer that is no UTF-8: {body[:60]!r}") from None

    def _connect(self) -> HTTPConnection:
        connection = self._kind(self._host, self._port, timeout=CONNECT_S)
        connection.connect()
        return connection
