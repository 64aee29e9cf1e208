"""A disk that is nearly full: nothing is sent, everybody is told why, and it goes on by itself."""

import pytest
from pytest_django import Settings
from redis import Redis

from matches import control
from matches.ledger import relay
from matches.models import Match
from matches.operations import explain, readiness
from matches.store import selectors
from matches.tests import factories as make

pytestmark = pytest.mark.django_db
ENDLESS_MB = 10**9


def test_orders_wait_while_the_disk_is_nearly_full_and_go_out_when_there_is_room(
    broker: Redis, settings: Settings
) -> None:
    make.planned(10)
    make.alive()
    settings.EVALSITE_DISK_FLOOR_MB = ENDLESS_MB
    assert relay.send_pending_matches(now=make.NOW) == 0
    settings.EVALSITE_DISK_FLOOR_MB = 0
    assert relay.send_pending_matches(now=make.NOW) > 0


def test_nothing_is_planned_while_the_disk_is_nearly_full(
    broker: Redis, settings: Settings
) -> None:
    make.scheduled(10)
    settings.EVALSITE_DISK_FLOOR_MB = ENDLESS_MB
    control.plan_tournaments(now=make.NOW)
    assert not Match.objects.exists()


def test_page_explanation_and_command_line_name_the_disk(broker: Redis, settings: Settings) -> None:
    tournament = make.planned(10)
    make.alive()
    settings.EVALSITE_DISK_FLOOR_MB = ENDLESS_MB
    match = Match.objects.first()
    assert match is not None
    (check,) = [c for c in readiness.run_checks(now=lambda: make.NOW) if c.name == "disk"]
    assert not check.is_ok
    texts = [
        check.detail,
        selectors.describe_missing(tournament, now=make.NOW),
        *explain.of_tournament(tournament, now=make.NOW).waits_for[:1],
        *explain.of_match(match, now=make.NOW).waits_for[:1],
    ]
    for text in texts:
        assert "the disk of the data folder has " in text
        assert "less than 1,000,000,000 MB" in text
