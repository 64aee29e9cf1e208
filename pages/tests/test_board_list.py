"""The list of leaderboards: pinned first, found by name, game and state, in pages by key."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from redis import Redis

from matches.ledger import tournaments
from matches.models import Leaderboard
from matches.tests import boards, factories
from pages.lists import showing

pytestmark = pytest.mark.django_db


def _listed(client: Client, query: str = "") -> list[str]:
    response = client.get(f"/leaderboards/{query}")
    assert response.status_code == 200
    page = response.content.decode()
    return re.findall(r'<a href="/leaderboards/([-\w]+)/">', page)


def _open(*names: str, **options: Any) -> None:
    for name in names:
        tournaments.open_leaderboard(name, game="connect_four", **options)


def test_pinned_boards_come_first_then_the_newest(client: Client) -> None:
    _open("oldest", "older", "newer")
    Leaderboard.objects.filter(name="older").update(is_pinned=True)
    assert _listed(client) == ["older", "newer", "oldest"]


def test_unlisted_boards_stand_where_they_are_asked_for(client: Client) -> None:
    _open("standing")
    _open("single", is_listed=False)
    _open("unrated", is_listed=False, is_rated=False)
    assert _listed(client) == ["standing"]
    assert _listed(client, "?state=unlisted") == ["single"]
    page = client.get("/leaderboards/").content.decode()
    assert '<a href="/leaderboards/?state=unlisted">Unlisted boards' in page


def test_boards_are_found_by_name_title_and_game(client: Client) -> None:
    _open("alpha")
    _open("beta", title="The Alpha of all")
    tournaments.open_leaderboard("chess-alpha", game="chess")
    assert _listed(client, "?q=ALPHA") == ["chess-alpha", "beta", "alpha"]
    assert _listed(client, "?q=alpha&game=chess") == ["chess-alpha"]
    assert "No leaderboard is like that" in client.get("/leaderboards/?q=gamma").content.decode()


def test_boards_are_found_by_whether_they_play(client: Client, broker: Redis) -> None:
    boards.planned_board("plays")
    _open("rests")
    assert _listed(client, "?state=playing") == ["plays"]
    assert _listed(client, "?state=resting") == ["rests"]


def test_pages_follow_each_other_by_key(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(showing, "ROWS_A_PAGE", 2)
    _open("a", "b", "c", "pinned")
    Leaderboard.objects.filter(name="pinned").update(is_pinned=True)
    first = client.get("/leaderboards/?game=connect_four").content.decode()
    following = re.search(r'rel="next" href="([^"]+)"', first)
    assert following is not None
    assert _listed(client, "?game=connect_four") == ["pinned", "c", "b"]
    query = following[1].replace("&amp;", "&").removeprefix("/leaderboards/")
    assert _listed(client, query) == ["a"]


@pytest.mark.parametrize("query", ["?state=closed", "?game=draughts", "?before=-1"])
def test_a_wrong_address_says_what_is_wrong(client: Client, query: str) -> None:
    response = client.get(f"/leaderboards/{query}")
    assert response.status_code == 400
    assert f"{query[1:].split('=')[0]} must be" in response.content.decode()


def test_an_empty_list_says_what_to_do(client: Client) -> None:
    assert "./run open" in client.get("/leaderboards/").content.decode()


def test_it_asks_no_more_for_more_boards(
    client: Client, broker: Redis, django_assert_max_num_queries: Any
) -> None:
    for number in range(6):
        factories.planned(4, board=f"board-{number}")
    with django_assert_max_num_queries(5):
        assert len(_listed(client)) == 6


def test_a_person_pins_lists_and_hides_a_board(client: Client, admin_user: User) -> None:
    _open("single", is_listed=False)
    _open("standing")
    single = Leaderboard.objects.get(name="single")
    change = f"/admin/matches/leaderboard/{single.pk}/change/"
    assert f'href="{change}"' in client.get("/leaderboards/single/").content.decode()
    client.force_login(admin_user)
    response = client.post(change, {"title": "Ours", "is_listed": "on", "is_pinned": "on"})
    assert response.status_code == 302
    assert _listed(client) == ["single", "standing"]
    assert "Unlisted" not in client.get("/leaderboards/single/").content.decode()
    client.post(change, {"title": "Ours"})
    assert _listed(client) == ["standing"]
