"""The functions that the fast store runs for the queue, how they are called, and who may."""

from pathlib import Path
from typing import Final

import redis

from inference.errors import InferenceError
from inference.link import Command, Link, Reply

CODE: Final = (Path(__file__).parent / "functions.lua").read_text()
VERSION: Final = 1
MAX_BYTES: Final = 16 << 20
"""Of one request."""
FULL: Final = -1

_MISSING = "Function not found"


def queue_key(shard: int) -> str:
    """Return the name of the list of requests of a shard."""
    return f"inf:{{{shard}}}:queue"


def leases_key(shard: int) -> str:
    """Return the name of the sorted set of leases of a shard."""
    return f"inf:{{{shard}}}:leases"


def reply_key(client: str) -> str:
    """Return the name of the list of answers of a client."""
    return f"inf:reply:{client}"


def call(function: str, shard: int, *arguments: str | bytes | int) -> Command:
    """Return the command that calls a function for a shard."""
    return ("FCALL", function, 2, queue_key(shard), leases_key(shard), *arguments)


class MissingError(InferenceError):
    """The fast store does not have the functions, as after its restart."""


def checked(reply: Reply) -> Reply:
    """Return what a function says, or raise what it is: MissingError or redis.ResponseError."""
    if isinstance(reply, redis.ResponseError):
        if _MISSING in str(reply):
            raise MissingError(f"the fast store has no functions: {reply}") from reply
        raise reply
    return reply


def run(link: Link, function: str, shard: int, *arguments: str | bytes | int) -> Reply:
    """Return what a function says. Raises MissingError, LinkLostError and redis.ResponseError."""
    return checked(link.ask(*call(function, shard, *arguments)))


def load(link: Link) -> bool:
    """Load the functions unless they, or newer ones, are there; return True when they were not."""
    try:
        if checked(link.ask("FCALL", "inf_version", 0)) >= VERSION:
            return False
    except MissingError:
        pass  # the usual reason to come here
    link.call("FUNCTION", "LOAD", "REPLACE", CODE)
    return True


def acl_rules() -> str:
    """Return what a player's user of the fast store may do, as `ACL SETUSER` takes it.

    Ask, and take its own answers, whose list only it can name. The functions run with the rights
    of their caller: the second and third group are what pushing needs. Reading or removing
    requests, and the functions of drainers (they remove leases), is not among it.
    """
    groups = (
        "(+fcall ~inf:{*}:*)",
        "(+llen +rpush %W~inf:{*}:queue)",
        "(+zadd +zrange +zremrangebyscore ~inf:{*}:leases)",
        "(+blmpop +lmpop ~inf:reply:*)",
    )
    own = "resetchannels -@all +time +ping +hello +auth +select +client|setinfo +client|setname"
    return " ".join((own, *groups))
