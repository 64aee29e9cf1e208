"""Orders of slices: control sends each once, and again where nothing comes of it in time."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

from django.conf import settings
from django.db.models import F, Q

from arena.credentials import trainer_key
from arena.errors import ArenaError
from arena.games import registry as games
from arena.queues import TRAIN_QUEUE, TRAINED_QUEUE
from arena.train_messages import DataFile, TrainOrder
from experience.datasets.manifests import sign_shard
from experience.errors import StreamError
from experience.models import TrainingRun
from experience.runs import files, groups, rounds
from experience.runs.ending import fail_run
from matches import dispatch
from matches.errors import BrokerError
from matches.store import signing

log = logging.getLogger(__name__)

LEASE: Final = timedelta(seconds=10)
"""So long a slice may be silent: trainers give a sign of life every two seconds."""
LONGEST_LEASE: Final = timedelta(minutes=1)
"""One that ends later is of a clock that was set back. It may end a little later than LEASE: while
a tick goes on, the other thread takes signs of life, by a clock that was read later."""
PAUSE: Final = timedelta(seconds=10)
"""Before a slice is ordered a third time; then three and seven times as long, and fifteen times
before the run is given up."""
MOST_LOST: Final = 5
"""Slices in a row without any report, after which it is the run that ends trainers."""


def order_due_slices(*, now: datetime) -> int:
    """Order the slices of runs that wait for one or have lost it; return how many."""
    running = TrainingRun.objects.filter(state=TrainingRun.State.RUNNING)
    # Half a lease ahead: so long at least may a trainer be silent once it has taken an order.
    is_ending = Q(leased_until__lt=now + LEASE / 2) | Q(leased_until__gt=now + LONGEST_LEASE)
    runs = list(running.filter(Q(order=None) | is_ending).order_by("pk"))
    untaken = _extend_untaken(runs, now=now)
    due = [
        run
        for run in runs
        if run not in untaken and _is_due(run, now=now) and rounds.is_slice_due(run, now=now)
    ]
    if not due:
        return 0
    if dispatch.read_queue_length(TRAINED_QUEUE):
        # What a trainer has said waits for control itself, which was away or is slow.
        due = [run for run in due if run.order is None]
    return sum(_order_slice(run, now=now) for run in due)


def _extend_untaken(runs: Sequence[TrainingRun], *, now: datetime) -> list[TrainingRun]:
    """Return the runs whose order no trainer has taken, so that no work is lost.

    Their leases are extended, so that they end only some time after the order was taken.
    """
    if all(run.order is None for run in runs):
        return []
    waiting = dispatch.list_waiting_orders(TRAIN_QUEUE)
    untaken = [run for run in runs if run.order is not None and run.order.hex in waiting]
    for run in untaken:
        _take(run, leased_until=now + LEASE)
    return untaken


def _is_due(run: TrainingRun, *, now: datetime) -> bool:
    """Say whether a slice is to be ordered now, or anew.

    The more are lost in a row, the later: while machines or a disk fail, it is not the run.
    """
    if run.order is None or run.leased_until is None:
        return True
    return bool(find_next_order(run) < now or run.leased_until > now + LONGEST_LEASE)


def find_next_order(run: TrainingRun) -> datetime:
    """Return when the slice under way is ordered again, should its trainer stay silent."""
    assert run.leased_until is not None
    next_order: datetime = run.leased_until + PAUSE * (2**run.n_lost - 1)
    return next_order


def _order_slice(run: TrainingRun, *, now: datetime) -> bool:
    n_lost = 0 if run.order is None else run.n_lost + 1
    if n_lost >= MOST_LOST:
        why = run.problem or "look into the logs of trainers"
        fail_run(run, f"{n_lost} slices in a row were lost: {why}", now=now)
        return False
    try:
        if run.has_group:
            groups.make_group(run)
    except StreamError as error:
        log.warning("no slice of run %s is ordered: %s", run, error)
        return False
    order = uuid4()
    is_taken = _take(
        run, order=order, slice=F("slice") + 1, leased_until=now + LEASE, n_lost=n_lost
    )
    if not is_taken:
        return False
    if n_lost:
        # Trainers cannot tell: what is lost with one leaves no word in its log.
        log.warning("slice %d of run %s is silent: ordered anew, no. %d", run.slice, run, n_lost)
    run.refresh_from_db()
    return _publish_order(run, now=now)


def _publish_order(run: TrainingRun, *, now: datetime) -> bool:
    try:
        dispatch.publish_slice(make_order(run, now=now))
    except ArenaError as error:
        fail_run(run, f"its game cannot be played here: {error}", now=now)
        return False
    except BrokerError as error:
        log.warning("a slice of run %s is taken back: %s", run, error)
        _take(run, order=None, leased_until=None)
        return False
    return True


def make_order(run: TrainingRun, *, now: datetime) -> TrainOrder:
    """Return the order of the slice under way. Raises ArenaError where the game is not there."""
    spec = games.get(run.game).spec
    source = files.sign_source(run.name, run.state_sha256, now=now) if run.state_sha256 else ""
    assert run.order is not None
    learns_from_matches = rounds.plays_matches(run)
    return TrainOrder(
        run=run.name,
        order=run.order.hex,
        slice=run.slice,
        token=run.token,
        game=run.game,
        observation_shape=list(spec.observation_shape),
        n_actions=spec.n_actions,
        algorithm=run.algorithm,
        parameters=dict(run.parameters),
        seed=run.seed,
        state=run.state_sha256,
        source=source,
        upload=signing.sign_link("PUT", files.uploads_path(run.name), now=now),
        max_steps=run.max_steps,
        slice_s=run.slice_s,
        version=max(run.version, 0),
        key=trainer_key(settings.SECRET_KEY),
        files=rounds.list_files(run, now=now) if learns_from_matches else list_files(run, now=now),
        checkpoint=rounds.find_player_checkpoint(run) if learns_from_matches else "",
    )


def list_files(run: TrainingRun, *, now: datetime) -> list[DataFile]:
    """Return the shards of a run's dataset, each with a signed link."""
    if run.dataset is None:
        return []
    shards = run.dataset.shards.select_related("dataset")
    return [DataFile(shard.sha256, sign_shard(shard, now=now)) for shard in shards]


def _take(run: TrainingRun, **changes: object) -> bool:
    """Change a run whose slice is still the one that was read: two ticks order a slice once."""
    unchanged = TrainingRun.objects.filter(
        pk=run.pk,
        state=TrainingRun.State.RUNNING,
        slice=run.slice,
        order=run.order,
        token=run.token,
        # A trainer that was heard meanwhile keeps it.
        leased_until=run.leased_until,
    )
    return bool(unchanged.update(**changes))
