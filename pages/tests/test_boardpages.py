"""Pages: complete without JavaScript, the same numbers as the sockets, clear about what is not."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.board import broadcast
from matches.ledger import tournaments
from matches.models import Leaderboard, Match, Tournament
from matches.store.clock import db_now
from matches.tests import boards, factories
from pages.tests.reading import get_page

pytestmark = pytest.mark.django_db

FIELD = re.compile(r'data-field="(\w+)"[^>]*>([^<]*)<')


def _shown_rows(page: str) -> list[dict[str, str]]:
    body = page[page.index("<tbody") : page.index("</tbody")]
    return [
        {name: unescape(text) for name, text in FIELD.findall(row)}
        for row in body.split("<tr ")[1:]
    ]


def test_page_and_snapshot_show_the_same_numbers(client: Client, broker: Redis) -> None:
    tournament = boards.played_board()
    page_rows = _shown_rows(get_page(client, "/leaderboards/connect-four/"))
    snapshot = json.loads(broadcast.read_snapshot(tournament.leaderboard_id, now=db_now()))
    snapshot_rows = [{name: str(value) for name, value in row.items()} for row in snapshot["rows"]]
    assert [
        row | {"agent": one["agent"]} for row, one in zip(page_rows, snapshot_rows, strict=True)
    ] == snapshot_rows


def test_a_board_without_agents_says_so(client: Client) -> None:
    tournaments.open_leaderboard("bare", game="chess")
    assert "No agent has entered" in get_page(client, "/leaderboards/bare/")


def test_a_board_without_a_rating_says_what_is_missing(client: Client, broker: Redis) -> None:
    tournament = boards.planned_board()
    page = get_page(client, "/leaderboards/connect-four/")
    assert "No agent is rated yet" in page
    assert "no play node is alive" in page
    assert 'class="scales"' not in page
    Tournament.objects.update(state=Tournament.State.PAUSED)
    page = get_page(client, "/leaderboards/connect-four/")
    assert "what is to be played is paused. Resume it" in page
    assert "no play node is alive" not in page
    Tournament.objects.update(state=Tournament.State.CANCELLED, n_cancelled=tournament.n_matches)
    assert "schedule a tournament</a> to let them play" in get_page(
        client, "/leaderboards/connect-four/"
    )


def test_tournaments_stand_above_the_table_while_they_play(client: Client, broker: Redis) -> None:
    tournament = boards.planned_board()
    for n_matches, is_above in ((42, True), (378, False)):
        boards.play_some(tournament, n_matches, boards.by_strength())
        page = get_page(client, "/leaderboards/connect-four/")
        assert (page.index('id="tournaments"') < page.index('id="board"')) == is_above
        assert page.count('id="tournaments"') == 1


@pytest.mark.parametrize(
    "address",
    [
        "/leaderboards/nowhere/",
        "/leaderboards/board/?page=2",
        "/leaderboards/board/?page=0",
        "/leaderboards/board/?page=x",
        "/leaderboards/board/?page=9999999999999",
        "/tournaments/0/",
        "/tournaments/99999999999999999999999/",
        "/matches/99999999999999999999999/",
    ],
)
def test_what_does_not_exist_is_a_page_of_its_own(
    client: Client, broker: Redis, address: str
) -> None:
    factories.planned()
    assert "There is nothing at this address" in get_page(client, address, status=404)


def test_a_tournament_lists_its_matches_in_pages_by_key(client: Client, broker: Redis) -> None:
    tournament = factories.planned(60)
    first = get_page(client, f"/tournaments/{tournament.pk}/")
    assert len(re.findall(r'<a href="/matches/\d', first)) == 50
    rest = get_page(client, f"/tournaments/{tournament.pk}/?after=50")
    assert len(re.findall(r'<a href="/matches/\d', rest)) == 10
    assert 'rel="next" href="?after=50' in first
    assert 'rel="next"' not in rest
    board = get_page(client, f"/tournaments/{tournament.pk}/?counts=board")
    assert 'rel="next" href="?counts=board&amp;after=50"' in board


def test_a_match_shows_seats_attempts_and_outcome(client: Client, broker: Redis) -> None:
    boards.played_board(n_matches=84)
    forfeited = Match.objects.filter(outcome__is_forfeit=True).first()
    assert forfeited is not None
    forfeited.attempts.update(duration_ms=36_819)
    page = get_page(client, f"/matches/{forfeited.pk}/")
    for words in (
        "by forfeit: an illegal move",
        "node-1",
        "37 s",
        "forfeit",
        str(forfeited.game_seed),
    ):
        assert words in page


def test_a_match_whose_result_was_known_has_no_number_of_attempts(
    client: Client, broker: Redis
) -> None:
    tournament = boards.played_board(n_matches=84)
    first, second = Match.objects.order_by("sequence")[:2]
    Match.objects.filter(pk=second.pk).update(same_as=first, attempt=0)
    assert "<dd>none: known before</dd>" in get_page(client, f"/matches/{second.pk}/")
    row = re.findall(r'data-unit="attempts" class="number[^"]*">([^<]+)<', get_page(
        client, f"/tournaments/{tournament.pk}/"
    ))  # fmt: skip
    assert row[:2] == ["1", "known before"]


def test_a_match_that_waits_has_no_result(client: Client, broker: Redis) -> None:
    factories.planned()
    match = Match.objects.earliest("pk")
    page = get_page(client, f"/matches/{match.pk}/")
    assert "not played" in page
    assert "None has ended yet" in page


def test_names_are_shown_as_text(client: Client, broker: Redis) -> None:
    factories.planned()
    Tournament.objects.update(name="<script>alert(1)</script>")
    assert "<script>alert" not in get_page(
        client, f"/leaderboards/{Leaderboard.objects.get().name}/"
    )


def test_no_page_asks_more_of_the_database_for_more_rows(
    client: Client, broker: Redis, django_assert_max_num_queries: Any
) -> None:
    boards.planned_board(n_matches=84)
    for address, most in (
        ("/leaderboards/connect-four/", 21),
        ("/leaderboards/connect-four/?q=mcts&sort=trend", 15),
    ):
        with django_assert_max_num_queries(most):
            get_page(client, address)


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_pages_only_read(client: Client, method: str) -> None:
    assert getattr(client, method)("/leaderboards/").status_code == 405
