"""The page of a season: ranks that do not change, and what it costs to read."""

import re
from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.models import Leaderboard, Rating, Season
from matches.models.choices import SeasonMode
from matches.ratings import seasons, standings
from matches.store.auditing import Actor
from matches.tests import boards
from matches.tests.factories import NOW
from pages import boardpages
from pages.templatetags.readable import moment

pytestmark = pytest.mark.django_db


@pytest.fixture
def season(broker: Redis) -> Season:
    """Return a season of a board with seven agents."""
    boards.played_board(n_matches=42)
    board = Leaderboard.objects.get()
    return seasons.freeze(board, "autumn", actor=Actor("ada"), reason="New rules.", now=NOW)


def _get(client: Client, season: Season, query: str = "", *, status: int = 200) -> str:
    address = f"/leaderboards/{season.leaderboard.name}/seasons/{season.pk}/{query}"
    response = client.get(address)
    assert response.status_code == status
    return response.content.decode()


def test_it_shows_the_ratings_of_then(client: Client, season: Season) -> None:
    first = season.rows.get(rank=1)
    Rating.objects.update(mu=1)
    page = _get(client, season)
    assert f"<b>{first.mu:.2f}</b>" in page
    assert page.count('data-label="rank"') == 7
    assert "New rules." in page


def test_its_ranks_are_the_ranges_that_its_board_showed(client: Client, season: Season) -> None:
    rows = standings.load_rows(season.leaderboard_id)
    Rating.objects.update(mu=1)
    places = re.findall(r'data-label="rank" class="number">([^<]+)<', _get(client, season))
    assert places == [row["place"] for row in rows]
    assert any("-" in place for place in places)


def test_its_intervals_are_bars_on_one_axis(client: Client, season: Season) -> None:
    page = _get(client, season)
    first = season.rows.get(rank=1)
    bar = f"--low:{first.low:.2f};--high:{first.high:.2f};--mu:{first.mu:.2f}"
    assert f'data-vars="{bar}"' in page
    assert page.count('class="interval-of-agent"') == 7
    low, high = (float(re.findall(rf"--axis-{end}:([\d.]+)", page)[0]) for end in ("low", "high"))
    assert low < first.mu < high
    assert page.count('class="tick"') > 1


def test_its_board_leads_to_it(client: Client, season: Season) -> None:
    page = client.get(f"/leaderboards/{season.leaderboard.name}/").content.decode()
    assert f'href="/leaderboards/{season.leaderboard.name}/seasons/{season.pk}/"' in page


def test_a_board_names_its_season_once_one_has_begun(client: Client, season: Season) -> None:
    board, address = season.leaderboard, f"/leaderboards/{season.leaderboard.name}/"
    assert "<dt>season</dt>" not in client.get(address).content.decode()
    seasons.begin(board, "winter", mode=SeasonMode.CARRY, actor=Actor("ada"), now=NOW)
    page = client.get(address).content.decode()
    assert f"<dd>winter, since {moment(NOW, 'day')}</dd>" in page


def test_pages_follow_by_rank_at_the_same_cost(
    client: Client,
    season: Season,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries: Any,
) -> None:
    for size in (2, 5):
        monkeypatch.setattr(boardpages, "SEASON_ROWS_A_PAGE", size)
        with django_assert_num_queries(3):
            page = _get(client, season, "?after=1")
        assert page.count('data-label="rank"') == size
        assert f'href="?after={1 + size}"' in page


def test_a_season_of_another_board_is_not_found(client: Client, season: Season) -> None:
    assert client.get(f"/leaderboards/other/seasons/{season.pk}/").status_code == 404
    _get(client, season, "?after=x", status=404)
