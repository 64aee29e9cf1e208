"""What pages say of results that were played elsewhere."""

from pathlib import Path

import pytest
from django.test import Client

from matches.ledger.imported import importing, striking
from matches.ledger.imported.importing import Sent
from matches.ledger.tournaments import open_leaderboard
from matches.models import Agent, ImportBatch, Leaderboard, Match, Rating
from matches.ratings import rater
from matches.store.auditing import Actor
from matches.tests import factories as make

pytestmark = pytest.mark.django_db
ANNA = Actor("anna")


@pytest.fixture
def batch(tmp_path: Path) -> ImportBatch:
    """Return an import of three results, rated."""
    path = tmp_path / "games.csv"
    path.write_text("white,black,result\nada,bob,1-0\nbob,ada,1/2-1/2\nada,cyd,1-0\n")
    board = open_leaderboard("board", game="connect_four")
    sent = Sent(path, path.name, adds_agents=True)
    made = importing.import_results(board, sent, actor=ANNA, now=make.NOW).batch
    rater.rate(board.pk, now=make.NOW)
    return made


def _get(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200, address
    return " ".join(response.content.decode().split())


def test_the_board_shows_its_agents_and_how_many_results_were_imported(
    client: Client, batch: ImportBatch
) -> None:
    page = _get(client, "/leaderboards/board/")
    assert "of these imported" in page
    assert [name in page for name in ("ada", "bob", "cyd")] == [True] * 3
    assert "games.csv" in page
    striking.strike_import(batch, actor=ANNA, reason="wrong", now=make.NOW)
    assert "of these imported" not in _get(client, "/leaderboards/board/")


def test_the_page_of_an_import_says_where_it_comes_from(client: Client, batch: ImportBatch) -> None:
    page = _get(client, f"/tournaments/{batch.tournament_id}/")
    assert "Imported results" in page
    assert "games.csv, by anna" in page
    assert ("Pairing" in page, "Seed" in page) == (False, False)
    striking.strike_import(batch, actor=ANNA, reason="wrong", now=make.NOW)
    struck = _get(client, f"/tournaments/{batch.tournament_id}/")
    assert "these results count no more" in struck


def test_the_page_of_a_match_names_its_place_in_the_file(
    client: Client, batch: ImportBatch
) -> None:
    match = Match.objects.order_by("sequence")[1]
    page = _get(client, f"/matches/{match.pk}/")
    assert "elsewhere: imported from" in page
    assert "result 2 of it" in page
    assert ("To play it again" in page, "Attempts that have ended" in page) == (False, False)
    striking.strike_import(batch, actor=ANNA, reason="the wrong file", now=make.NOW)
    assert "the wrong file" in _get(client, f"/matches/{match.pk}/")


def test_pages_of_an_imported_agent_say_that_nothing_here_plays_it(
    client: Client, batch: ImportBatch
) -> None:
    ada, bob = Agent.objects.filter(name__in=("ada", "bob")).order_by("name")
    assert "known by its results alone" in _get(client, f"/agents/{ada.pk}/")
    for address in (
        f"/compare/{ada.pk}/{bob.pk}/?board=board",
        "/agents/",
        "/agents/?q=ada",
        "/tournaments/",
        "/matches/?leaderboard=board",
        f"/compare/?agent={ada.pk}&agent={bob.pk}",
    ):
        assert client.get(address).status_code in (200, 302), address
    assert Rating.objects.filter(leaderboard=Leaderboard.objects.get()).count() == 3


def test_an_operator_strikes_an_import_in_the_admin(
    admin_client: Client, batch: ImportBatch
) -> None:
    listed = _get(admin_client, "/admin/matches/importbatch/")
    assert "games.csv" in listed
    _get(admin_client, f"/admin/matches/importbatch/{batch.pk}/change/")
    address = f"/admin/matches/importbatch/ask/strike/?pk={batch.pk}"
    asked = _get(admin_client, address)
    assert "3 results of games.csv count no more on board" in asked
