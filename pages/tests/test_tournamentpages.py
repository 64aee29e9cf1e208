"""The page of a tournament."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.ledger import planning
from matches.ledger.tournaments import cancel_tournament, schedule_tournament
from matches.models import Attempt, Rating, Tournament
from matches.plans import TournamentPlan
from matches.ratings import rater
from matches.store.clock import db_now
from matches.tests import boards, factories
from matches.tests.factories import NOW, later
from pages import crosstables, paces, tournament_results
from pages.tests.reading import get_page

pytestmark = pytest.mark.django_db


def _running(n_ended: int = 60) -> Tournament:
    """Return a tournament of 120 matches of which so many ended at NOW."""
    tournament = boards.planned_board(n_matches=126)
    boards.play_some(tournament, n_ended, boards.by_strength(forfeits=0))
    tournament.refresh_from_db()
    return tournament


def _tabulate(tournament: Tournament, *, is_own: bool = True) -> crosstables.Crosstable:
    results = tournament_results.describe_results(tournament, None)
    table = crosstables.build_crosstable(
        tournament,
        [line.agent for line in results.lines[: crosstables.MAX_ENTRANTS]],
        results.records,
        n_entrants=results.n_entrants,
        is_own=is_own,
    )
    assert table is not None
    return table


def test_the_rest_takes_as_long_as_the_last_minute_says(broker: Redis) -> None:
    pace = paces.measure_pace(_running(), now=later(30))
    assert pace == ("1.0 matches/s", "about 66 s")


def test_an_old_pace_says_nothing(broker: Redis) -> None:
    pace = paces.measure_pace(_running(), now=later(61))
    assert pace == ("", "")


def test_a_high_pace_is_measured_over_less_than_a_minute(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paces, "N_SEEN", 20)
    assert paces.measure_pace(_running(), now=later(2)).rate == "10.0 matches/s"


def test_the_pace_of_another_tournament_is_not_its_own(broker: Redis) -> None:
    _running()
    other = factories.planned(12, board="other")
    other.refresh_from_db()
    assert paces.measure_pace(other, now=later(1)) == ("", "")


@pytest.mark.parametrize("state", ["done", "cancelled", "paused"])
def test_what_does_not_run_has_no_time_left(broker: Redis, state: str) -> None:
    tournament = _running()
    tournament.state = state
    assert paces.measure_pace(tournament, now=later(1)).remaining == ""


def test_the_page_says_how_long_it_still_takes(client: Client, broker: Redis) -> None:
    tournament = _running()
    Attempt.objects.update(ended_at=db_now() - timedelta(seconds=1))
    page = get_page(client, f"/tournaments/{tournament.pk}/")
    ends = re.findall(r"it is done when every match has ended.*", page)
    assert len(ends) == 1
    assert re.search(r"in about \d+ s at the [\d.]+ matches/s of the last minute", ends[0])
    assert "<time" not in ends[0], "of another pace"


def test_the_page_says_one_end_where_no_match_ended_of_late(client: Client, broker: Redis) -> None:
    tournament = _running()
    factories.alive(now=db_now())
    page = get_page(client, f"/tournaments/{tournament.pk}/")
    assert "no match ended within the last minute" in page
    assert page.count("it is done when every match has ended") == 1
    assert "unknown" not in page


def test_both_sides_of_the_crosstable_add_up(broker: Redis) -> None:
    tournament = boards.played_board()
    table = _tabulate(tournament)
    assert (len(table.rows), table.is_cut, table.has_others) == (7, False, False)
    for row in table.rows:
        rating = Rating.objects.get(agent=row.agent.pk)
        met = [cell.record for cell in row.cells if cell.record]
        assert sum(record.wins for record in met) == rating.n_wins
        assert sum(record.n for record in met) == rating.n_matches
        assert [cell.is_self for cell in row.cells].count(True) == 1


def test_the_strongest_stand_first_and_the_rest_is_cut(
    client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crosstables, "MAX_ENTRANTS", 3)
    tournament = boards.played_board()
    page = get_page(client, f"/tournaments/{tournament.pk}/")
    assert "The first 3 of 7 entrants" in page
    results = tournament_results.describe_results(tournament, None)
    assert [row.agent for row in _tabulate(tournament).rows] == [
        line.agent for line in results.lines[:3]
    ]


def test_its_own_matches_are_counted_first_and_all_of_the_board_on_demand(
    client: Client, broker: Redis
) -> None:
    tournament = boards.played_board()
    address = f"/tournaments/{tournament.pk}/"
    words = "other tournaments played on it too"
    assert "All matches of the board" not in get_page(client, address), "they are the same"
    more = schedule_tournament(
        TournamentPlan(name="more", n_matches=42, seed=7),
        leaderboard=tournament.leaderboard,
        agents=list(tournament.agents.all()),
    )
    planning.plan_tournament(more, now=NOW)
    boards.play_some(more, 42, boards.by_strength(2))
    rater.rate(tournament.leaderboard_id, now=later(5))
    own, whole = (_count_cells(client, f"{address}?counts={counts}") for counts in ("own", "board"))
    assert (own, whole) == (2 * 420, 2 * 462)
    assert _count_cells(client, address) == own
    assert _count_cells(client, f"/tournaments/{more.pk}/") == 2 * 42
    assert words not in get_page(client, address)
    page = get_page(client, f"{address}?counts=board")
    assert words in page
    assert f'href="{address}?counts=own#crosstable"' in page


def _count_cells(client: Client, address: str) -> int:
    """Return how many matches the cells of the crosstable hold, each counted from both sides."""
    page = get_page(client, address)
    table = page[page.index('<table class="crosstable"') :].partition("</table>")[0]
    assert table.count('class="cell" href="/compare/') == 7 * 6
    return sum(int(n) for n in re.findall(r"percent of </span>(\d+)</span>", table))


def test_an_unknown_way_to_count_is_named(client: Client, broker: Redis) -> None:
    tournament = factories.planned()
    page = get_page(client, f"/tournaments/{tournament.pk}/?counts=none", status=404)
    assert "counts must be own or board" in page


def test_there_is_no_crosstable_before_a_match_is_counted(client: Client, broker: Redis) -> None:
    tournament = factories.planned()
    assert "Who beat whom" not in get_page(client, f"/tournaments/{tournament.pk}/")


def test_it_links_to_trajectories_where_they_are_kept(client: Client, broker: Redis) -> None:
    tournament = factories.planned()
    address = f"/tournaments/{tournament.pk}/"
    assert "not kept" in get_page(client, address)
    Tournament.objects.update(keeps_trajectories=True, trajectory_days=30)
    assert "kept for 30 days" in get_page(client, address)


def test_queries_do_not_grow_with_rows(
    client: Client, broker: Redis, django_assert_num_queries: Any
) -> None:
    few = boards.played_board("few", n_matches=84)
    many = boards.played_board("many", n_matches=840)
    for tournament in (few, many):
        with django_assert_num_queries(14):
            get_page(client, f"/tournaments/{tournament.pk}/")


def test_a_tournament_cancelled_at_once_has_played_none_of_its_matches(
    client: Client, broker: Redis
) -> None:
    tournament = factories.planned(12)
    cancel_tournament(tournament, now=NOW)
    page = get_page(client, f"/tournaments/{tournament.pk}/")
    assert '<span class="count">0 played, 12 cancelled</span>' in page


def test_what_a_crosstable_counts_is_said_outside_of_the_table_that_scrolls(
    client: Client, broker: Redis
) -> None:
    page = get_page(client, f"/tournaments/{boards.played_board().pk}/")
    table = page[page.index('<table class="crosstable"') :].partition("</table>")[0]
    assert 'aria-describedby="crosstable-about"' in table
    assert "<caption>" not in table
    assert page.index('id="crosstable-about"') < page.index('<table class="crosstable"')
