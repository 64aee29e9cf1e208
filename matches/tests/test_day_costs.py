"""Costs by day and the minutes of the system: what was missed is made up for, nothing twice."""

from datetime import timedelta

import pytest
from django.db.models import Sum
from redis import Redis

from arena.messages import Ending, MatchOrderRow, Reason, ResultRow
from matches.ledger import day_costs, recording
from matches.models import DayCost, SystemMinute, Tournament
from matches.operations.system import minutes, pushing
from matches.tests import factories as make
from matches.tests.factories import NOW, later

pytestmark = pytest.mark.django_db
DAY_S = 86_400


def _play(tournament: Tournament, n_matches: int) -> None:
    order = make.ordered(tournament, n_matches)
    make.start(order)
    recording.record_report(make.finished(order), now=NOW)


def test_what_was_played_is_entered_once_on_its_day() -> None:
    make.alive()
    tournament = make.planned(12)
    _play(tournament, 5)
    assert day_costs.book_costs(now=NOW) == 1
    assert day_costs.book_costs(now=later(60)) == 0, "nothing new"
    _play(tournament, 4)
    day_costs.book_costs(now=later(DAY_S))
    tournament.refresh_from_db()
    rows = list(DayCost.objects.order_by("day"))
    assert [(row.day.isoformat(), row.n_matches) for row in rows] == [
        ("2026-01-01", 5),
        ("2026-01-02", 4),
    ]
    assert sum(row.core_s for row in rows) == pytest.approx(tournament.played_s)


def test_what_ended_while_control_was_away_is_entered_on_the_day_of_its_end() -> None:
    make.alive()
    tournament = make.planned(6)
    _play(tournament, 6)
    Tournament.objects.filter(pk=tournament.pk).update(finished_at=NOW)
    day_costs.book_costs(now=later(5 * DAY_S))
    assert DayCost.objects.get().day.isoformat() == "2026-01-01"


def test_attempts_that_failed_cost_as_much_as_others() -> None:
    make.alive()
    tournament = make.planned(6)
    order = make.ordered(tournament, 6)
    make.start(order)
    n_failed = 0

    def fail_first(row: MatchOrderRow) -> ResultRow:
        nonlocal n_failed
        n_failed += 1
        if n_failed <= 2:
            return make.result(row, ending=Ending.FAILED, reason=Reason.CRASH, duration_ms=500)
        return make.first_wins(row)

    recording.record_report(make.finished(order, fail_first), now=NOW)
    day_costs.book_costs(now=NOW)
    tournament.refresh_from_db()
    assert tournament.lost_s == pytest.approx(1.0)
    cost = DayCost.objects.get()
    assert cost.core_s == pytest.approx(tournament.played_s + 1.0)
    assert cost.n_matches == 4
    assert day_costs.book_costs(now=later(60)) == 0, "nothing new"


def test_two_controls_at_once_enter_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    make.alive()
    _play(make.planned(6), 6)
    stale = Tournament.objects.get()
    day_costs.book_costs(now=NOW)
    day_costs._book_tournament(stale, now=NOW)  # read before the other one booked it
    assert DayCost.objects.aggregate(n=Sum("n_matches"))["n"] == 6


def test_a_minute_is_kept_once_it_is_over(broker: Redis) -> None:
    make.alive(slots=3, now=later(30))
    for second in (0, 20, 40):
        pushing.push_sample(now=later(second))
    minutes.keep_minute(now=later(59))
    assert not SystemMinute.objects.exists(), "it is not over, and the one before was not seen"
    for second in (61, 62):
        minutes.keep_minute(now=later(second))
    row = SystemMinute.objects.get()
    assert (row.at, row.n_slots, row.matches_per_s) == (NOW, 3, 0)


def test_minutes_of_yesterday_go(broker: Redis) -> None:
    old = NOW - timedelta(hours=25)
    SystemMinute.objects.create(at=old, matches_per_s=1, n_waiting=0, rows_per_forward=0, n_slots=1)
    pushing.push_sample(now=NOW)
    minutes.keep_minute(now=later(60))
    assert [row.at for row in SystemMinute.objects.all()] == [NOW]


def test_costs_are_entered_while_the_fast_store_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    make.alive()
    _play(make.planned(6), 6)
    nobody = Redis.from_url("redis://127.0.0.1:1/0")
    monkeypatch.setattr("matches.store.fast_store.get_client", lambda: nobody)
    minutes.keep_minute(now=NOW)
    assert DayCost.objects.get().n_matches == 6
