"""Who is held up for whom: uploads wait for a learner only while one is at work."""

import pytest
from redis import Redis

from experience.learning import WAITED_FOR, read_learning
from experience.runs.ordering import LEASE
from experience.runs.recording import extend_lease, record_report
from experience.tests.made import alive, begun, later, ordered, report

pytestmark = pytest.mark.django_db
LEASE_S, WAITED_FOR_S = LEASE.total_seconds(), WAITED_FOR.total_seconds()


def test_uploads_wait_for_a_learner_only_while_it_is_heard(stream_server: Redis) -> None:
    run = ordered(begun())
    begun_only = read_learning("cart_pole", now=later(0))
    assert (begun_only.groups, begun_only.waiting) == ((), ("learn:poles",))
    assert record_report(report(run, version=3), now=later(1))
    heard = read_learning("cart_pole", now=later(LEASE_S))
    assert (heard.groups, heard.waiting) == (("learn:poles",), ())
    assert extend_lease(alive(run), now=later(5))
    assert read_learning("cart_pole", now=later(LEASE_S + 4)).groups == ("learn:poles",)
    silent = read_learning("cart_pole", now=later(LEASE_S + 5))
    assert (silent.groups, silent.waiting, silent.latest_version) == ((), ("learn:poles",), 3)
    assert read_learning("cart_pole", now=later(WAITED_FOR_S + 4)).waiting == ("learn:poles",)
    assert read_learning("cart_pole", now=later(WAITED_FOR_S + 5)).waiting == ()
    # A clock that was set back: nobody is heard from later on.
    assert read_learning("cart_pole", now=later(-1)).groups == ()
    assert read_learning("mountain_car", now=later(1)).groups == ()
