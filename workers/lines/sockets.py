"""A game server at the other end of a line, over a WebSocket."""

from contextlib import ExitStack, suppress
from socket import SHUT_RDWR, SO_SNDTIMEO, SOL_SOCKET
from struct import pack

from websockets.datastructures import HeadersLike
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidStatus,
    InvalidURI,
    PayloadTooBig,
)
from websockets.protocol import State
from websockets.sync.client import ClientConnection, connect

from arena.games.line_messages import MAX_FRAME
from workers.lines.transport import FrameError, LineClosedError, LineSilentError

DIAL_S = 5.0
PING_S = 5.0
# As long may a server leave what it is sent unread.
SEND_S = 20.0
# Codes of a close that is ours, for what came.
_TOO_BIG = 1009
_NO_FRAME = {1002: "what is no WebSocket's", 1007: "a text that is no UTF-8"}


class _StayingConnection(ClientConnection):
    """A connection that is not led elsewhere: nobody has admitted the address of a redirect."""

    def handshake(
        self,
        additional_headers: HeadersLike | None = None,
        user_agent_header: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Shake hands. Raises InvalidHandshake; `connect` follows an InvalidStatus only."""
        try:
            super().handshake(additional_headers, user_agent_header, timeout)
        except InvalidStatus as error:
            raise InvalidHandshake(str(error)) from error


class SocketTransport:
    """Frames over a WebSocket: a text message, and a binary one behind it."""

    def __init__(self, address: str, token: str = "") -> None:
        """Dial the server. Raises LineClosedError saying why nobody answers.

        token: its pass, for the head where that stands between.
        """
        self._address = address.partition("?")[0]
        self._closing = ExitStack()
        try:
            self._socket: ClientConnection = self._closing.enter_context(
                connect(
                    address,
                    create_connection=_StayingConnection,
                    # Not in the address, which logs and errors show.
                    additional_headers={"Authorization": f"Bearer {token}"} if token else None,
                    open_timeout=DIAL_S,
                    close_timeout=1,
                    max_size=MAX_FRAME,
                    compression=None,
                    # Only who is silent is asked: each ping of a thousand idle lines would cost.
                    ping_interval=None,
                    proxy=None,
                )
            )
        # ValueError: of a port or a host that cannot be one.
        except (OSError, InvalidHandshake, InvalidURI, EOFError, ValueError) as error:
            raise LineClosedError(f"{self._address} does not answer: {error}") from error
        # A limit of its own: that of Python would hold for what is read, too.
        limit = pack("ll", int(SEND_S), int(SEND_S % 1 * 1e6))
        # Who has hung up already may have left frames that are to be read, and gets none.
        with suppress(OSError):
            self._socket.socket.setsockopt(SOL_SOCKET, SO_SNDTIMEO, limit)

    def send(self, text: bytes) -> None:
        """Send a text message."""
        try:
            self._socket.send(text.decode())
        except (ConnectionClosed, OSError) as error:
            raise self._make_error(error) from error

    def receive(self, limit_s: float) -> str:
        """Return the next text message."""
        text = self._receive(limit_s)
        if not isinstance(text, str):
            raise FrameError(f"{len(text)} bytes where a text was due")
        return text

    def receive_bytes(self, n: int, limit_s: float) -> bytes:
        """Return the binary message of n bytes that follows a text."""
        raw = self._receive(limit_s)
        if isinstance(raw, str) or len(raw) != n:
            raise FrameError(f"{n} bytes were announced, {len(raw)} came")
        return raw

    def has_message(self) -> bool:
        """Say whether a message has come already; it is taken and gone."""
        # What ended the line instead is met by whoever reads next.
        with suppress(TimeoutError, ConnectionClosed, OSError):
            self._socket.recv(0)
            return True
        return False

    def is_open(self) -> bool:
        """Say whether the server has neither closed the line nor gone."""
        return self._socket.protocol.state is State.OPEN

    def close(self) -> None:
        """Close the connection."""
        with suppress(OSError, ConnectionClosed):
            self._closing.close()

    def hang_up(self, wait_s: float) -> None:
        """End the connection without a farewell; for so long the server may end it first."""
        self._socket.recv_events_thread.join(wait_s)
        with suppress(OSError):
            self._socket.socket.shutdown(SHUT_RDWR)
        self.close()

    def _receive(self, limit_s: float) -> str | bytes:
        try:
            with suppress(TimeoutError):
                return self._socket.recv(limit_s)
            # Whose fault a silence is: the server's if it is there, and answers a ping.
            silence = f"{self._address} has said nothing for {limit_s:.1f} s"
            if not self._socket.ping().wait(PING_S):
                raise LineClosedError(f"{silence}, nor to a ping")
            # What it had said before, this machine may have stood still for: it comes first.
            with suppress(TimeoutError):
                return self._socket.recv(0)
        except (ConnectionClosed, OSError) as error:
            raise self._make_error(error) from error
        raise LineSilentError(silence)

    def _make_error(self, error: Exception) -> Exception:
        if isinstance(error, ConnectionClosed):
            # Ours, as we say of a message that is too large; or the server's own of us.
            close_frame = error.sent
            if isinstance(error.__cause__, PayloadTooBig) or (
                close_frame and close_frame.code == _TOO_BIG
            ):
                return FrameError(f"a message of over {MAX_FRAME} bytes")
            if close_frame and not error.rcvd_then_sent and close_frame.code in _NO_FRAME:
                return FrameError(_NO_FRAME[close_frame.code])
        return LineClosedError(f"{self._address} has closed the line: {error}")
