"""A slice is ordered once, again where nothing comes of it, and not without end."""

from typing import Any

import pytest
from redis import Redis

from arena.queues import TRAIN_QUEUE, TRAINED_QUEUE
from experience.models import TrainingRun
from experience.runs import groups, ordering
from experience.runs.recording import extend_lease, record_report
from experience.stream import learn_group, stream_key
from experience.tests import made
from experience.tests.made import alive, begun, later, ordered, report
from matches import dispatch
from matches.errors import BrokerError

pytestmark = pytest.mark.django_db
LEASE_S = ordering.LEASE.total_seconds()
PAUSE_S = ordering.PAUSE.total_seconds()


def _group_names(server: Redis) -> list[str]:
    rows: Any = server.xinfo_groups(stream_key("cart_pole"))
    return [row["name"].decode() for row in rows]


def test_a_slice_is_ordered_once_with_all_that_it_needs(stream_server: Redis) -> None:
    run = ordered(begun())
    assert ordering.order_due_slices(now=later(1)) == 0
    assert run.order is not None
    assert dispatch.list_waiting_orders(TRAIN_QUEUE) == {run.order.hex}
    order = ordering.make_order(run, now=later(1))
    assert (order.run, order.slice, order.state, order.source) == ("poles", 1, "", "")
    assert (order.observation_shape, order.n_actions) == ([4], 2)
    assert _group_names(stream_server) == [learn_group("poles")]


def test_an_order_that_no_trainer_has_taken_is_not_sent_again(stream_server: Redis) -> None:
    run = ordered(begun())
    assert ordered(run, at_s=LEASE_S + 1).slice == 1
    assert stream_server.llen(TRAIN_QUEUE) == 1


def test_a_slice_that_a_trainer_took_and_lost_is_ordered_anew(stream_server: Redis) -> None:
    run = ordered(begun())
    first = run.order
    stream_server.delete(TRAIN_QUEUE)
    assert ordered(run, at_s=LEASE_S - 1).order == first
    run = ordered(run, at_s=LEASE_S + 1)
    assert run.order != first
    assert (run.slice, run.n_lost) == (2, 1)


def test_what_a_slice_has_read_under_is_deleted_once_it_holds_nothing(
    stream_server: Redis,
) -> None:
    run = ordered(begun())
    place = (stream_key("cart_pole"), learn_group("poles"))
    stream_server.xadd(place[0], {"chunk": "c"})
    for consumer in ("slice-0", "slice-1"):
        stream_server.xreadgroup(place[1], consumer, {place[0]: ">"})
    stream_server.xgroup_createconsumer(*place, "slice-1")
    stream_server.delete(TRAIN_QUEUE)
    assert ordered(run, at_s=LEASE_S + 1).slice == 2
    consumers: Any = stream_server.xinfo_consumers(*place)
    assert [one["name"] for one in consumers] == [b"slice-0"]


def test_a_report_extends_the_lease(stream_server: Redis) -> None:
    run = ordered(begun())
    stream_server.delete(TRAIN_QUEUE)
    assert record_report(report(run), now=later(5))
    assert ordered(run, at_s=LEASE_S + 1).slice == 1
    assert ordered(run, at_s=LEASE_S + 6).slice == 2


def test_a_sign_of_life_extends_the_lease_and_is_no_report(stream_server: Redis) -> None:
    run = ordered(begun())
    stream_server.delete(TRAIN_QUEUE)
    run = ordered(run, at_s=LEASE_S + 1)
    stream_server.delete(TRAIN_QUEUE)
    assert extend_lease(alive(run), now=later(LEASE_S + 6))
    run = ordered(run, at_s=2 * LEASE_S + 5)
    assert (run.slice, run.n_lost, run.trainer) == (2, 1, "train-2")
    assert not extend_lease(alive(run, token="another"), now=later(30))
    assert not extend_lease(alive(run, order="f" * 32), now=later(30))
    assert not extend_lease({**alive(run), "run": "gone"}, now=later(30))
    assert not extend_lease({}, now=later(30))
    run = ordered(run, at_s=2 * LEASE_S + 7 + PAUSE_S)
    assert (run.slice, run.n_lost) == (3, 2)


def test_a_trainer_that_is_heard_at_the_last_moment_keeps_its_slice(stream_server: Redis) -> None:
    run = ordered(begun())
    stream_server.delete(TRAIN_QUEUE)
    assert extend_lease(alive(run), now=later(LEASE_S + 1))
    # Read before that sign was taken.
    assert not ordering._order_slice(run, now=later(LEASE_S + 1))
    assert ordered(run, at_s=LEASE_S + 1).slice == 1


def test_a_sign_that_another_thread_has_just_taken_is_of_no_clock_that_was_set_back(
    stream_server: Redis,
) -> None:
    run = ordered(begun())
    stream_server.delete(TRAIN_QUEUE)
    assert extend_lease(alive(run), now=later(3))
    # This tick began before that sign came.
    assert ordered(run, at_s=1).slice == 1


def test_a_lease_never_ends_just_as_a_trainer_takes_the_order(stream_server: Redis) -> None:
    run = ordered(begun())
    taken_at_s = 3 * LEASE_S
    for at_s in range(1, int(taken_at_s)):
        assert ordered(run, at_s=at_s).slice == 1
    stream_server.delete(TRAIN_QUEUE)
    assert ordered(run, at_s=taken_at_s + LEASE_S / 2 - 1).slice == 1
    assert ordered(run, at_s=taken_at_s + LEASE_S).slice == 2


def test_a_clock_that_was_set_back_holds_no_slice(stream_server: Redis) -> None:
    run = ordered(begun())
    stream_server.delete(TRAIN_QUEUE)
    assert ordered(run, at_s=-3600).slice == 2


def test_nobody_is_silent_while_what_was_said_waits_for_control(stream_server: Redis) -> None:
    run = ordered(begun())
    stream_server.delete(TRAIN_QUEUE)
    stream_server.lpush(TRAINED_QUEUE, b"a report")
    other = begun("others", "mountain_car")
    assert ordered(run, at_s=LEASE_S + 1).slice == 1
    other.refresh_from_db()
    assert other.slice == 1
    stream_server.delete(TRAINED_QUEUE)
    assert ordered(run, at_s=LEASE_S + 1).slice == 2


def test_a_run_whose_slices_end_every_trainer_fails(stream_server: Redis) -> None:
    run, at_s = ordered(begun()), 0.0
    stream_server.delete(TRAIN_QUEUE)
    for pauses in (0, 1, 3, 7, 15):
        assert run.state == TrainingRun.State.RUNNING
        before = run.slice
        # So long after the lease, and not a second before.
        at_s += LEASE_S + pauses * PAUSE_S - 0.5
        assert ordered(run, at_s=at_s).slice == before
        at_s += 1
        ordered(run, at_s=at_s)
        stream_server.delete(TRAIN_QUEUE)
    assert at_s > 300
    assert run.state == TrainingRun.State.FAILED
    assert "5 slices in a row were lost" in run.problem
    assert groups.destroy_ended_groups() == 1
    assert _group_names(stream_server) == []


def test_a_slice_is_taken_back_where_the_broker_is_away(
    stream_server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun()

    def refuse(*_args: object) -> None:
        raise BrokerError("away")

    with monkeypatch.context() as patched:
        patched.setattr(dispatch, "publish_slice", refuse)
        assert ordered(run).order is None
    assert ordered(run, at_s=1).order is not None


def test_no_slice_is_ordered_while_the_stream_is_away(stream_server: Redis, settings: Any) -> None:
    run, url = begun(), settings.STREAM_REDIS_URL
    settings.STREAM_REDIS_URL = "redis://127.0.0.1:1"
    assert ordered(run).order is None
    settings.STREAM_REDIS_URL = url
    assert ordered(run, at_s=1).order is not None


def test_a_run_of_a_game_that_is_gone_fails(stream_server: Redis) -> None:
    run = begun()
    TrainingRun.objects.update(game="gone")
    assert ordered(run).state == TrainingRun.State.FAILED
    assert "gone" in run.problem


def test_a_slice_goes_on_from_the_state_of_the_one_before(stream_server: Redis) -> None:
    run = ordered(begun())
    state = made.put(run, b"state")
    assert record_report(report(run, state=state, is_last=True), now=later(1))
    order = ordering.make_order(ordered(run, at_s=2), now=later(2))
    assert order.state == state
    assert order.source.startswith(f"/files/training/poles/{state}?")
