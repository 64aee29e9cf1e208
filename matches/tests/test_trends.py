"""What a board says that its ratings were before."""

from datetime import timedelta

import pytest
from redis import Redis

from matches.models import Leaderboard, Rating, RatingSnapshot
from matches.models.choices import SeasonMode
from matches.ratings import seasons, snapshots, standings
from matches.store import snapshot_tables
from matches.store.auditing import Actor
from matches.tests import factories
from matches.tests.factories import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def board(broker: Redis) -> Leaderboard:
    """Return a board whose ratings were kept two hours, one hour and half an hour ago."""
    board = factories.planned().leaderboard
    Rating.objects.update(n_matches=40)
    for minutes, mu in ((120, 20), (70, 21), (30, 22)):
        Rating.objects.update(mu=mu)
        at = NOW - timedelta(minutes=minutes)
        Leaderboard.objects.update(rated_at=at, results_hash=str(minutes))
        assert snapshots.take_due(now=at) == 1
    Rating.objects.update(mu=25)
    Leaderboard.objects.update(rated_at=NOW)
    return board


def _trends(board: Leaderboard) -> set[str]:
    return {row["trend"] for row in standings.load_rows(board.pk)}


def test_a_rating_is_compared_with_that_of_an_hour_ago(board: Leaderboard) -> None:
    assert _trends(board) == {"+4.00"}


def test_a_young_board_has_a_trend_once_there_are_enough_matches(board: Leaderboard) -> None:
    RatingSnapshot.objects.filter(results_hash__in=("120", "70")).delete()
    enough = snapshots.ENOUGH_OUTCOMES * Rating.objects.count()
    RatingSnapshot.objects.update(n_outcomes=enough - 1)
    assert _trends(board) == {""}
    RatingSnapshot.objects.update(n_outcomes=enough)
    assert _trends(board) == {"+3.00"}


def test_a_season_in_which_all_began_anew_compares_with_none_before_it(board: Leaderboard) -> None:
    RatingSnapshot.objects.update(n_outcomes=snapshots.ENOUGH_OUTCOMES * Rating.objects.count())
    Leaderboard.objects.update(ratings_reset_at=NOW - timedelta(minutes=40))
    assert _trends(board) == {"+3.00"}
    Leaderboard.objects.update(ratings_reset_at=NOW - timedelta(minutes=10))
    assert _trends(board) == {""}


def test_a_season_that_carries_results_on_keeps_the_trends(board: Leaderboard) -> None:
    Leaderboard.objects.update(
        ratings_reset_at=NOW - timedelta(minutes=90), n_settled=1, n_counted=1
    )
    carry = SeasonMode.CARRY
    seasons.begin(board, "second", mode=carry, actor=Actor("somebody"), now=NOW)
    assert _trends(board) == {"+4.00"}


def test_an_agent_without_a_match_has_no_trend(board: Leaderboard) -> None:
    Rating.objects.update(n_matches=0)
    assert _trends(board) == {""}


def test_an_agent_that_is_new_has_no_trend(board: Leaderboard) -> None:
    newest = RatingSnapshot.objects.get(results_hash="70")
    kept = snapshots.read_rows(newest)[1:]
    RatingSnapshot.objects.filter(pk=newest.pk).update(
        table=snapshot_tables.pack_rows(kept), results_hash="other"
    )
    assert _trends(board) == {"", "+4.00"}


def test_what_did_not_change_has_no_sign_and_a_loss_has_one(board: Leaderboard) -> None:
    assert standings.format_change(21.004, 20.996) == "0.00"
    assert standings.format_change(21.0, 21.5) == "-0.50"


def test_without_a_rating_or_snapshot_there_is_no_trend(board: Leaderboard) -> None:
    RatingSnapshot.objects.all().delete()
    assert _trends(board) == {""}
    board.rated_at = None
    assert snapshots.read_mu_before(board, None) == snapshots.NOTHING


def test_for_the_rows_of_a_page_no_other_agent_is_unpacked(
    board: Leaderboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = dict(snapshots.read_mu_before(board, None))
    monkeypatch.setattr(snapshot_tables, "unpack_rows", None)
    agents = list(whole)[:2]
    assert snapshots.read_mu_before(board, agents) == {agent: whole[agent] for agent in agents}
    assert _trends(board) == {"+4.00"}
    assert snapshots.read_mu_before(board, ()) == snapshots.NOTHING
