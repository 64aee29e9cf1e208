"""What learns from the uploads of a game now, and which version of its policy is the latest."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from channels.db import database_sync_to_async
from django.db.models import Max

from arena.experience.chunks import UNKNOWN_VERSION
from experience.models import TrainingRun
from experience.runs.ordering import LEASE
from experience.stream import learn_group
from matches.store.clock import db_now

KEPT_S: Final = 0.5
"""A reading holds so long: uploads are many, and a look into the database is a change of thread."""

WAITED_FOR: Final = timedelta(minutes=10)
"""So long what a run may still learn from stays in the stream while no trainer of it is heard."""


class Learning(NamedTuple):
    """Groups of runs that go on, the latest version of theirs, and the highest of any run.

    groups: with a trainer at work, for which uploads are held up. waiting: without one for some
    minutes; what is uploaded stays in the stream for these, too.
    """

    groups: tuple[str, ...]
    waiting: tuple[str, ...]
    latest_version: int
    highest_version: int


_kept: dict[str, tuple[float, Learning]] = {}


async def find_learning(
    game: str, *, clock: Callable[[], float], least_version: int = UNKNOWN_VERSION
) -> Learning:
    """Return what learns from a game's uploads, read once in KEPT_S.

    least_version: that is said to be there; where what is kept knows none so high, it is read anew.
    """
    until_s, learning = _kept.get(game, (-1.0, _NOTHING))
    if clock() >= until_s or learning.highest_version < least_version:
        learning = await database_sync_to_async(lambda: read_learning(game, now=db_now()))()
        _kept[game] = (clock() + KEPT_S, learning)
    return learning


def read_learning(game: str, *, now: datetime) -> Learning:
    """Return what learns from a game's uploads; without a run that goes on, no group."""
    runs = TrainingRun.objects.filter(game=game)
    learning = list(runs.filter(state=TrainingRun.State.RUNNING, has_group=True))
    highest = runs.aggregate(highest=Max("version"))["highest"]
    silent = {run.name: now - (run.reported_at or run.created_at) for run in learning}
    heard_games = {
        run.name for run in learning if run.reported_at and timedelta(0) <= silent[run.name] < LEASE
    }
    return Learning(
        tuple(learn_group(name) for name in silent if name in heard_games),
        tuple(
            learn_group(name)
            for name, time in silent.items()
            if name not in heard_games and time < WAITED_FOR
        ),
        max((run.version for run in learning), default=UNKNOWN_VERSION),
        UNKNOWN_VERSION if highest is None else highest,
    )


_NOTHING: Final = Learning((), (), UNKNOWN_VERSION, UNKNOWN_VERSION)
