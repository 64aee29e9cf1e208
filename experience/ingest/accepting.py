"""Takes a chunk: checked, not too much, not before, then on the stream server's disk."""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from rest_framework.exceptions import Throttled

from arena.errors import ChunkError, UnknownNameError
from arena.experience.checking import check_chunk
from arena.experience.chunks import Chunk
from arena.experience.wire import Form, read_chunk, read_game
from arena.games import registry
from experience import stream
from experience.ingest import backpressure
from experience.learning import find_learning
from experience.stream import Sender
from matches.errors import BadInputError, ConflictError


@dataclass(frozen=True)
class AcceptedChunk:
    """What the client of a chunk is told; n_accepted is 0 where the chunk had come before."""

    n_accepted: int
    latest_policy_version: int
    keep_fraction: float


async def accept_chunk(
    content: bytes, form: Form, *, user: int, now_s: float, clock: Callable[[], float]
) -> AcceptedChunk:
    """Put an uploaded chunk into the stream of its game; return what its client is told.

    user: its key. now_s: seconds since 1970, whose hour the quota is counted in. Raises
    BadInputError, ConflictError for another user's chunk, Throttled beyond the quota, StreamError.
    """
    game = _find_game(content, form)
    client = stream.get_client()
    learning = await find_learning(game, clock=clock)
    loads = await backpressure.read_loads(client, game, learning.groups, clock=clock)
    # Before the rest is read: while nothing is taken, an upload shall cost little.
    backpressure.check_loads(loads)
    chunk = _read_checked(content, form, game)
    await _check_version(chunk, clock=clock)
    hour, passed_s = divmod(int(now_s), stream.HOUR_S)
    most: int = settings.EVALSITE_EXPERIENCE_QUOTA
    added = await stream.add_chunk(client, chunk, Sender(user, most, hour))
    if added.outcome == "foreign":
        raise ConflictError(f"chunk {chunk.chunk_id} is another user's: draw a new chunk_id")
    if added.outcome == "quota":
        raise Throttled(
            wait=stream.HOUR_S - passed_s,
            detail=f"{added.detail} of {most} steps are sent this "
            f"hour: {len(chunk)} more are too many.",
        )
    n_accepted = len(chunk) if added.outcome == "added" else 0
    keep_fraction = backpressure.find_keep_fraction(loads)
    return AcceptedChunk(n_accepted, learning.latest_version, keep_fraction)


def _find_game(content: bytes, form: Form) -> str:
    try:
        game = read_game(content, form=form)
        registry.get(game)
    except ChunkError as error:
        raise _make_error(error) from error
    except UnknownNameError as error:
        raise BadInputError("game", str(error)) from error
    return game


def _read_checked(content: bytes, form: Form, game: str) -> Chunk:
    spec = registry.get(game).spec
    try:
        chunk = read_chunk(content, spec=spec, form=form)
        check_chunk(chunk, spec)
    except ChunkError as error:
        raise _make_error(error) from error
    return chunk


async def _check_version(chunk: Chunk, *, clock: Callable[[], float]) -> None:
    version = chunk.policy_version
    learning = await find_learning(chunk.game, clock=clock, least_version=version)
    if version > learning.highest_version:
        problem = (
            f"no run of {chunk.game} has published it, the highest is {learning.highest_version}"
        )
        raise BadInputError("policy_version", f"is {version}: {problem}; -1 is for other policies")


def _make_error(error: ChunkError) -> BadInputError:
    place = error.field or "body"
    return BadInputError(place if error.index is None else f"{place}.{error.index}", error.reason)
