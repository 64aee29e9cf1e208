"""The stream of chunks: a server of its own, so that no upload can fill the queues of matches.

Keys: `xp:{game}` a stream, `xpid:{game}:<chunk>` the user that has sent a chunk, for a day, and
`xpquota:<user>:<hour>` how many steps a user has sent within an hour. Groups of a stream: `sink`
and `learn:<run>`. The web server calls XINFO and `xp_add`, which
needs GET, XADD, SET, INCRBY and EXPIRE of its caller's rights, and loads the functions.
"""

from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, cast
from weakref import WeakKeyDictionary

from django.conf import settings
from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError, RedisError, ResponseError

from arena.experience.chunks import Chunk
from arena.experience.wire import write_chunk
from experience.errors import StreamError

FUNCTIONS: Final = (Path(__file__).parent / "functions.lua").read_text()
SINK: Final = "sink"
SEEN_S: Final = 86_400
HOUR_S: Final = 3_600
TIMEOUTS: Final[dict[str, Any]] = {"socket_timeout": 5, "socket_connect_timeout": 2}
MISSING: Final = (
    "this stack has no stream of experience: `./run` starts one and sets STREAM_REDIS_URL; "
    "elsewhere set it to a Valkey or Redis 7.0 or newer of its own"
)

Outcome = Literal["added", "duplicate", "foreign", "quota"]
_clients: "WeakKeyDictionary[AbstractEventLoop, Redis]" = WeakKeyDictionary()


class AddedChunk(NamedTuple):
    """What became of a chunk: it was added, or why not, and how many steps its user has sent."""

    outcome: Outcome
    detail: str


class Sender(NamedTuple):
    """Whose a chunk is, and how many steps they may send within this hour, 0: any number."""

    user: int
    most: int
    hour: int


class GroupLoad(NamedTuple):
    """How far a group is behind: entries that it has not read; of the sink also those it holds.

    reached: the place of the entry that it has read last; empty where it is not known.
    """

    name: str
    n_waiting: int
    reached: str = ""


def stream_key(game: str) -> str:
    """Return the key of a game's stream."""
    return f"xp:{{{game}}}"


def learn_group(run: str) -> str:
    """Return the group by which the trainer of a run reads."""
    return f"learn:{run}"


def get_client() -> Redis:
    """Return the client of the running event loop. Raises StreamError where there is no server."""
    if not settings.STREAM_REDIS_URL:
        raise StreamError(MISSING, retry_after_s=60)
    loop = get_running_loop()
    # A connection belongs to the loop that opened it; under WSGI each request has its own.
    if loop not in _clients:
        _clients[loop] = Redis.from_url(settings.STREAM_REDIS_URL, **TIMEOUTS)
    return _clients[loop]


async def add_chunk(client: Redis, chunk: Chunk, sender: Sender) -> AddedChunk:
    """Put a chunk into its stream unless it has come before or its sender has sent enough.

    When the outcome is "added", the server has it on disk. Raises StreamError.
    """
    keys = (
        stream_key(chunk.game),
        f"xpid:{{{chunk.game}}}:{chunk.chunk_id}",
        f"xpquota:{sender.user}:{sender.hour}",
    )
    limits = (sender.most, SEEN_S, 2 * HOUR_S)
    call = ("FCALL", "xp_add", 3, *keys, write_chunk(chunk), sender.user, len(chunk), *limits)
    try:
        outcome, detail = await _call_function(client, call)
    except OutOfMemoryError as error:
        raise StreamError(
            "the stream is full: the sink does not keep up; send less, or later", retry_after_s=5
        ) from error
    except RedisError as error:
        raise _make_error(error) from error
    return AddedChunk(cast(Outcome, outcome.decode()), detail.decode())


async def read_loads(client: Redis, game: str, groups: Collection[str]) -> list[GroupLoad]:
    """Return how far these groups of a game's stream are behind; one that is not there, by all.

    What the sink has taken and not acknowledged counts, too: it is not in a file yet. A learner
    acknowledges only what its stored state has learned from, seconds later: of its group only what
    it has not read counts, and it reads few in advance. Never the length of the stream: that does
    not fall when entries are acknowledged. Raises StreamError.
    """
    try:
        stream = await client.xinfo_stream(stream_key(game))
        groups_by_name = {
            group["name"].decode(): group for group in await client.xinfo_groups(stream_key(game))
        }
    except ResponseError as error:
        if "no such key" in str(error):
            return [GroupLoad(name, 0) for name in groups]
        raise _make_error(error) from error
    except RedisError as error:
        raise _make_error(error) from error
    return [_measure_load(name, groups_by_name.get(name), stream) for name in groups]


def _measure_load(name: str, group: dict[str, Any] | None, stream: dict[str, Any]) -> GroupLoad:
    # What was trimmed away unread counts in the lag for ever, and after a deletion in what is left
    # the server gives none. Never more waits than is there; nothing where the last was delivered.
    n_there = int(stream["length"])
    if group is None:
        return GroupLoad(name, n_there)
    reached = group["last-delivered-id"]
    lag = 0 if reached == stream["last-generated-id"] else group["lag"]
    n_unread = min(n_there, n_there if lag is None else int(lag))
    n_held = int(group["pending"]) if name == SINK else 0
    return GroupLoad(name, n_unread + n_held, reached.decode())


async def _call_function(client: Any, call: tuple[Any, ...]) -> Any:
    try:
        return await client.execute_command(*call)
    except ResponseError as error:
        if "Function not found" not in str(error):
            raise
    # As on a new server.
    await client.execute_command("FUNCTION", "LOAD", "REPLACE", FUNCTIONS)
    return await client.execute_command(*call)


def _make_error(error: RedisError) -> StreamError:
    return StreamError(f"the stream does not answer: {error}", retry_after_s=5)
