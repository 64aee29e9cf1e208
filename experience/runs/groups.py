"""The group by which a run reads the stream of its game: there while the run goes on."""

import logging
from typing import Any

from django.conf import settings
from redis import Redis
from redis.exceptions import RedisError, ResponseError

from experience.errors import StreamError
from experience.models import TrainingRun
from experience.stream import MISSING, TIMEOUTS, learn_group, stream_key

log = logging.getLogger(__name__)


def make_group(run: TrainingRun) -> None:
    """Let the run read what comes from now on; a group that is there stays. Raises StreamError.

    Each slice reads under a name of its own: those that hold nothing any more are deleted.
    """
    place = (stream_key(run.game), learn_group(run.name))
    try:
        with connect() as client:
            _create_group(client, place)
            for consumer in client.xinfo_consumers(*place):
                if not consumer["pending"]:
                    client.xgroup_delconsumer(*place, consumer["name"])
    except RedisError as error:
        raise StreamError(f"the stream makes no group of run {run}: {error}") from error


def _create_group(client: Any, place: tuple[str, str]) -> None:
    try:
        client.xgroup_create(*place, id="$", mkstream=True)
    except ResponseError as error:
        if "BUSYGROUP" not in str(error):
            raise


def destroy_ended_groups() -> int:
    """Destroy the groups of runs that have ended; return how many. Raises StreamError."""
    still_ended = TrainingRun.objects.exclude(state=TrainingRun.State.RUNNING)
    rows = list(still_ended.filter(has_group=True))
    if not rows:
        return 0
    with connect() as client:
        for run in rows:
            try:
                client.xgroup_destroy(stream_key(run.game), learn_group(run.name))
            except ResponseError as error:  # such as where there is no such stream any more
                log.info("group of run %s is not there: %s", run, error)
            except RedisError as error:
                raise StreamError(f"the stream does not answer: {error}") from error
            # One that was resumed meanwhile gets its group again with its next slice.
            still_ended.filter(pk=run.pk).update(has_group=False)
    return len(rows)


def connect() -> Any:
    """Return a client of the stream. Raises StreamError where this stack has none."""
    if not settings.STREAM_REDIS_URL:
        raise StreamError(MISSING, retry_after_s=60)
    return Redis.from_url(settings.STREAM_REDIS_URL, **TIMEOUTS)
