"""Snapshots of ratings: all of an hour, ever fewer of what is longer ago."""

from collections import Counter
from datetime import timedelta

import pytest

from matches.ledger.tournaments import open_leaderboard
from matches.models import Leaderboard, RatingSnapshot
from matches.ratings import snapshots
from matches.store import snapshot_tables
from matches.tests.factories import NOW

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


def board_with(n_minutes: int, *, every: int = 1) -> Leaderboard:
    """Return a board with snapshots up to NOW, of so many minutes."""
    board = open_leaderboard("board", game="skill_game")
    RatingSnapshot.objects.bulk_create(
        (
            RatingSnapshot(
                leaderboard=board,
                taken_at=NOW - minute * MINUTE,
                n_outcomes=n_minutes - minute,
                results_hash=f"{minute:064}",
                table=snapshot_tables.pack_rows([(1, float(minute), 1.0, 25.0, 1.0)]),
            )
            for minute in range(0, n_minutes, every)
        ),
        batch_size=1_000,
    )
    board.rated_at = NOW
    return board


def thinned(board: Leaderboard) -> list[int]:
    """Return the ages in minutes that stay, the newest first."""
    while snapshots.thin_snapshots(board, now=NOW):
        pass
    taken = RatingSnapshot.objects.order_by("-taken_at").values_list("taken_at", flat=True)
    return [round((NOW - at) / MINUTE) for at in taken]


def test_all_of_an_hour_stay_then_one_in_ten_minutes_then_one_an_hour_then_one_a_day() -> None:
    ages = thinned(board_with(50 * 24 * 60, every=5))
    assert ages[:12] == list(range(0, 60, 5))
    n_in = Counter(
        "day" if age < 24 * 60 else "month" if age < 30 * 24 * 60 else "ever"
        for age in ages
        if age >= 60
    )
    assert n_in["day"] == pytest.approx(23 * 6, abs=1)
    assert n_in["month"] == pytest.approx(29 * 24, abs=1)
    assert n_in["ever"] == pytest.approx(20, abs=1)


def test_of_each_stretch_the_last_stays_and_thinning_again_deletes_nothing() -> None:
    board = board_with(3 * 60)
    ages = thinned(board)
    behind = [age for age in ages if age > 60]
    assert all((NOW - age * MINUTE).minute % 10 == 9 for age in behind[1:])
    assert snapshots.thin_snapshots(board, now=NOW) == 0


def test_a_call_looks_at_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "N_AT_ONCE", 50)
    board = board_with(5 * 60)
    assert 0 < snapshots.thin_snapshots(board, now=NOW) < 50


def test_a_trend_is_that_of_an_hour_before_all_the_same() -> None:
    board = board_with(5 * 60)
    before = dict(snapshots.read_mu_before(board, None))
    assert before == {1: 60.0}
    thinned(board)
    snapshots._read_mu.cache_clear()
    assert dict(snapshots.read_mu_before(board, None)) == before
