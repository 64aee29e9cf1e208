"""The functions that the fast store runs for gpu workers, and how they are called."""

from pathlib import Path
from typing import Final

import redis

from arena.faststore import leases_key, queue_key
from inference.connection import Command, FastConnection, Reply
from inference.errors import InferenceError

CODE: Final = (Path(__file__).parent / "redis_functions.lua").read_text()
# Raised with each change of the code: of workers of two versions the newer one has its way.
VERSION: Final = 2

_MISSING = "Function not found"


def command_of(function: str, shard: int, *arguments: str | bytes | int) -> Command:
    """Return the command that calls a function for a shard."""
    return ("FCALL", function, 2, queue_key(shard), leases_key(shard), *arguments)


class FunctionsMissingError(InferenceError):
    """The fast store does not have the functions, as after its restart."""


def check_reply(reply: Reply) -> Reply:
    """Return the reply of a function. Raises FunctionsMissingError, redis.ResponseError."""
    if isinstance(reply, redis.ResponseError):
        if _MISSING in str(reply):
            raise FunctionsMissingError(f"the fast store has no functions: {reply}") from reply
        raise reply
    return reply


def run_function(
    connection: FastConnection, function: str, shard: int, *arguments: str | bytes | int
) -> Reply:
    """Return the reply of a function.

    Raises FunctionsMissingError, ConnectionLostError and redis.ResponseError.
    """
    return check_reply(connection.ask(*command_of(function, shard, *arguments)))


def load_functions(connection: FastConnection) -> bool:
    """Load the functions unless they, or newer ones, are there; return True when they were not."""
    try:
        if check_reply(connection.ask("FCALL", "inf_version", 0)) >= VERSION:
            return False
    except FunctionsMissingError:
        pass  # the usual reason to come here
    connection.call("FUNCTION", "LOAD", "REPLACE", CODE)
    return True
