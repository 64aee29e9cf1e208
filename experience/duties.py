"""What control does for training and datasets, once a second and after each slice."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from threading import Lock
from time import monotonic

from experience.datasets import building
from experience.errors import StreamError
from experience.runs import groups, ordering, releasing, rounds
from experience.upkeep.running import Upkeep
from matches.errors import BrokerError
from matches.store.failures import do_each

log = logging.getLogger(__name__)


def do_duties(*, now: datetime) -> None:
    """Do every duty once; one that fails keeps none of the others from being done."""
    do_each(_DUTIES, now=now)


def _order_slices(*, now: datetime) -> None:
    try:
        ordering.order_due_slices(now=now)
    except BrokerError as error:
        log.warning("no slice is ordered while the broker is away: %s", error)


def _destroy_ended_groups(*, now: datetime) -> None:
    del now
    try:
        groups.destroy_ended_groups()
    except StreamError as error:
        log.warning("groups of ended runs stay for now: %s", error)


_turn = Lock()


def _build_datasets(*, now: datetime) -> None:
    # Planning a large one takes longer than a tick: the other thread goes on with the rest.
    if _turn.acquire(blocking=False):
        try:
            building.build_datasets(now=now, clock_s=monotonic)
        finally:
            _turn.release()


_upkeep = Upkeep()


def _keep_up(*, now: datetime) -> None:
    try:
        _upkeep.keep_up(groups.connect, now=now)
    except OSError as error:  # a full disk, a storage that is away: in a minute again
        log.error("segments are not joined or deleted now: %s", error)


_DUTIES: Sequence[Callable[..., object]] = (
    # Before the slices: what has been played is ordered at once.
    rounds.advance_rounds,
    _order_slices,
    _destroy_ended_groups,
    releasing.advance_releases,
    _build_datasets,
    _keep_up,
)
