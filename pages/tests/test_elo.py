"""A board in points of Elo: the same order and bars on another scale, kept in the address."""

import json
import re
from html import unescape

import pytest
from django.test import Client
from redis import Redis

from matches.models import Leaderboard
from matches.ratings import axes
from matches.tests import boards
from pages import elo

pytestmark = pytest.mark.django_db


@pytest.fixture
def board(broker: Redis) -> Leaderboard:
    """Return a board that was played."""
    return boards.played_board().leaderboard


def _page(client: Client, query: str) -> str:
    response = client.get(f"/leaderboards/connect-four/{query}")
    assert response.status_code == 200
    return response.content.decode()


def _read_column(page: str, name: str) -> list[str]:
    body = page[page.index("<tbody") : page.index("</tbody")]
    return re.findall(rf'data-field="{name}"[^>]*>([^<]*)<', body)


def test_the_order_is_the_same_and_the_gaps_are_in_proportion(
    client: Client, board: Leaderboard
) -> None:
    ratings, points = _page(client, ""), _page(client, "?scale=elo")
    assert _read_column(ratings, "name") == _read_column(points, "name")
    per = elo.describe_scale(board)["per"]
    assert 40 < per < 50
    for mu, elo_points in zip(_read_column(ratings, "mu"), _read_column(points, "mu"), strict=True):
        assert int(elo_points) == pytest.approx(1500 + per * (float(mu) - 25), abs=0.51)


def test_the_scale_stays_in_the_links_and_the_form(client: Client, board: Leaderboard) -> None:
    page = _page(client, "?scale=elo&q=alpha")
    assert "?q=alpha&amp;sort=name&amp;scale=elo" in page
    assert '<input type="hidden" name="scale" value="elo">' in page
    assert 'href="/leaderboards/connect-four/?q=alpha"' in page
    assert 'href="/leaderboards/connect-four/?scale=elo"' in _page(client, "")


def test_the_script_is_told_the_scale(client: Client, board: Leaderboard) -> None:
    match = re.search(r'data-elo="([^"]+)"', _page(client, "?scale=elo"))
    assert match is not None
    assert json.loads(unescape(match[1])) == elo.describe_scale(board)
    assert "data-elo" not in _page(client, "")


def test_the_axis_has_round_marks_within_its_ends(board: Leaderboard) -> None:
    scale = elo.describe_scale(board)
    for low, high in ((15.0, 35.0), (24.0, 26.5), (-200.0, 300.0)):
        axis = elo.convert_axis(axes.fit_axis_to([low, high]), scale)
        assert 2 <= len(axis["ticks"]) <= elo.MOST_MARKS + 1
        assert all(axis["low"] <= tick["at"] <= axis["high"] for tick in axis["ticks"])
        assert all(tick["at"] % 10 == 0 for tick in axis["ticks"])


def test_another_scale_is_refused(client: Client, board: Leaderboard) -> None:
    response = client.get("/leaderboards/connect-four/?scale=stars")
    assert response.status_code == 404
