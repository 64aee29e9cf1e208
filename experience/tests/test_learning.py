"""Who is held up for whom: uploads wait for a learner only while one is at work."""

import pytest
from redis import Redis

from experience.learning import read_learning
from experience.runs.ordering import LEASE
from experience.runs.recording import extend_lease, record_report
from experience.tests.made import alive, begun, later, ordered, report

pytestmark = pytest.mark.django_db
LEASE_S = LEASE.total_seconds()


def test_uploads_wait_for_a_learner_only_while_it_is_heard(stream_server: Redis) -> None:
    run = ordered(begun())
    assert read_learning("cart_pole", now=later(0)).groups == ()
    assert record_report(report(run, version=3), now=later(1))
    assert read_learning("cart_pole", now=later(LEASE_S)).groups == ("learn:poles",)
    assert extend_lease(alive(run), now=later(5))
    assert read_learning("cart_pole", now=later(LEASE_S + 4)).groups == ("learn:poles",)
    silent = read_learning("cart_pole", now=later(LEASE_S + 5))
    assert (silent.groups, silent.latest_version) == ((), 3)
    assert read_learning("mountain_car", now=later(1)).groups == ()
