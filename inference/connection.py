"""One connection to the fast store: commands out, replies back, without a client object between.

A round trip through redis-py's client costs several times what the server does for it; this is
its connection (login, TLS, Unix sockets) with its own parser and nothing around.
"""

from collections.abc import Sequence
from typing import Any

import hiredis
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from inference.errors import InferenceError

# Text, bytes and numbers.
Command = tuple[Any, ...]
Reply = Any

READ_SIZE = 1 << 20
# How long a reply may take beyond the time for which its command blocks.
ANSWER_LIMIT_S = 10.0
MAX_BLOCK_S = 5.0
LOST = (redis.ConnectionError, redis.TimeoutError, OSError)


class ConnectionLostError(InferenceError):
    """The fast store does not answer: what was sent may or may not have arrived."""


class FastConnection:
    """A connection that opens itself when it is first used, and again after it was lost."""

    def __init__(self, url: str) -> None:
        """url: redis://, rediss:// or unix://."""
        pool = redis.ConnectionPool.from_url(
            url,
            protocol=2,
            socket_timeout=MAX_BLOCK_S + ANSWER_LIMIT_S,
            socket_connect_timeout=ANSWER_LIMIT_S,
            socket_read_size=READ_SIZE,
            # No retries here: only its caller knows whether a command may be sent twice.
            retry=Retry(NoBackoff(), 0),
        )
        self._connection: Any = pool.make_connection()  # hardly typed

    def call(self, *command: str | bytes | float) -> Reply:
        """Return the reply to one command. Raises ConnectionLostError and redis.ResponseError."""
        reply = self.ask(*command)
        if isinstance(reply, redis.ResponseError):
            raise reply
        return reply

    def ask(self, *command: str | bytes | float) -> Reply:
        """Return the reply to one command, also if it is an error. Raises ConnectionLostError."""
        return self.exchange([command])[0]

    def exchange(self, commands: Sequence[Command]) -> list[Reply]:
        """Return one reply per command, in one round trip; errors are among the replies.

        A command may block for MAX_BLOCK_S at most. Raises ConnectionLostError.
        """
        self.send(commands)
        return [self.read() for _ in commands]

    def send(self, commands: Sequence[Command]) -> None:
        """Send commands, whose replies are to be read one by one. Raises ConnectionLostError."""
        packed = [hiredis.pack_command(command) for command in commands]
        try:
            # One write: what is sent in two waits for the delayed acknowledgement of the first.
            self._connection.send_packed_command([b"".join(packed)])
        except LOST as error:
            raise self._give_up(error) from error

    def read(self) -> Reply:
        """Return the next reply, also if it is an error. Raises ConnectionLostError."""
        try:
            return self._connection.read_response()
        except redis.ResponseError as error:
            return error
        except LOST as error:
            raise self._give_up(error) from error

    def close(self) -> None:
        """Close the connection; the next command opens it again."""
        self._connection.disconnect()

    def _give_up(self, error: Exception) -> ConnectionLostError:
        self.close()
        return ConnectionLostError(f"the fast store does not answer: {error}")
