"""Boards in lists: pinned, unlisted, by the API."""

from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.ledger.tournaments import open_leaderboard
from matches.models import AuditRow, Leaderboard
from matches.tests import callers

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/leaderboards/placed/place/"


@pytest.fixture
def operator(broker: Redis) -> Client:
    open_leaderboard("placed", game="connect_four")
    return callers.with_token(callers.token("anna", callers.OPERATOR))


def place(client: Client, **body: Any) -> Any:
    return client.post(ADDRESS, body, content_type="application/json")


def test_a_board_is_pinned_and_unlisted(operator: Client) -> None:
    answer = place(operator, is_pinned=True, is_listed=False, reason="the one to look at").json()
    assert (answer["is_pinned"], answer["is_listed"]) == (True, False)
    board = Leaderboard.objects.get(name="placed")
    assert (board.is_pinned, board.is_listed) == (True, False)
    noted = AuditRow.objects.get(target_kind="leaderboard", target_id=board.pk)
    assert (noted.action, noted.actor) == ("leaderboard.change", "anna")
    assert noted.touched == {"is_listed": False, "is_pinned": True}
    assert noted.reason == "the one to look at"


def test_what_is_left_out_stays_as_it_is(operator: Client) -> None:
    place(operator, is_listed=False)
    place(operator, is_pinned=True)
    board = Leaderboard.objects.get(name="placed")
    assert (board.is_pinned, board.is_listed) == (True, False)


def test_what_is_so_already_is_not_noted(operator: Client) -> None:
    for _ in range(2):
        assert place(operator, is_pinned=True).status_code == 200
    assert AuditRow.objects.filter(action="leaderboard.change").count() == 1


def test_nothing_to_do_is_refused_with_what_to_say(operator: Client) -> None:
    (error,) = place(operator).json()["errors"]
    assert error == {"field": "is_pinned", "message": error["message"]}
    assert "say is_pinned or is_listed, true or false" in error["message"]
    assert place(operator, is_pinned="perhaps").status_code == 400
