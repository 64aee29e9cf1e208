"""What learns from the uploads of a game now, and which version of its policy is the latest."""

from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from asgiref.sync import sync_to_async
from django.db.models import Max

from arena.experience.chunks import UNKNOWN_VERSION
from experience.models import TrainingRun
from experience.runs.ordering import LEASE
from experience.stream import learn_group
from matches.store.clock import db_now

KEPT_S: Final = 0.5
"""A reading holds so long: uploads are many, and a look into the database is a change of thread."""


class Learning(NamedTuple):
    """Groups of runs with a trainer at work, the latest version of a run that goes on, and of any.

    For a run whose trainer is not heard, uploads wait in the stream: nobody is held up for it.
    """

    groups: tuple[str, ...]
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
        learning = await sync_to_async(lambda: read_learning(game, now=db_now()))()
        _kept[game] = (clock() + KEPT_S, learning)
    return learning


def read_learning(game: str, *, now: datetime) -> Learning:
    """Return what learns from a game's uploads; without a run that goes on, no group."""
    runs = TrainingRun.objects.filter(game=game)
    learning = list(runs.filter(state=TrainingRun.State.RUNNING, has_group=True))
    highest = runs.aggregate(highest=Max("version"))["highest"]
    return Learning(
        tuple(
            learn_group(run.name)
            for run in learning
            if run.reported_at is not None and now - run.reported_at < LEASE
        ),
        max((run.version for run in learning), default=UNKNOWN_VERSION),
        UNKNOWN_VERSION if highest is None else highest,
    )


_NOTHING: Final = Learning((), UNKNOWN_VERSION, UNKNOWN_VERSION)
