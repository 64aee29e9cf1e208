"""What pages say of results that were played elsewhere."""

import pytest
from django.test import Client

from matches.ledger.imported import striking
from matches.models import Agent, ImportBatch, Leaderboard, Match, Rating
from matches.ratings import rater
from matches.tests import factories as make
from matches.tests.imported import ANNA, imported_batch

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(db: None) -> ImportBatch:
    """Return an import of three results, rated."""
    made = imported_batch()
    rater.rate_all(now=make.NOW)
    return made


def _get(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200, address
    return " ".join(response.content.decode().split())


def test_the_board_shows_its_agents_and_how_many_results_were_imported(
    client: Client, batch: ImportBatch
) -> None:
    page = _get(client, "/leaderboards/elsewhere/")
    assert "of these imported" in page
    for form in ("csv", "parquet", "pgn"):
        address = f"/api/v1/leaderboards/elsewhere/results/?form={form}"
        assert f'href="{address}"' in page
        assert client.get(address).status_code == 200
    assert [name in page for name in ("ada", "bob", "cyd")] == [True] * 3
    assert "games.csv" in page
    striking.strike_import(batch, actor=ANNA, reason="wrong", now=make.NOW)
    assert "of these imported" not in _get(client, "/leaderboards/elsewhere/")


def test_the_page_of_an_import_says_where_it_comes_from(client: Client, batch: ImportBatch) -> None:
    page = _get(client, f"/tournaments/{batch.tournament_id}/")
    assert "Imported results" in page
    assert "games.csv, by anna" in page
    assert ("Pairing" in page, "Seed" in page, "Won by" in page) == (False, False, False)
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
    assert "none: played elsewhere" in page
    assert ("To play it again" in page, "Attempts that have ended" in page) == (False, False)
    striking.strike_import(batch, actor=ANNA, reason="the wrong file", now=make.NOW)
    assert "the wrong file" in _get(client, f"/matches/{match.pk}/")


def test_pages_of_an_imported_agent_say_that_nothing_here_plays_it(
    client: Client, batch: ImportBatch
) -> None:
    ada, bob = Agent.objects.filter(name__in=("ada", "bob")).order_by("name")
    assert "known by its results alone" in _get(client, f"/agents/{ada.pk}/")
    for address in (
        f"/compare/{ada.pk}/{bob.pk}/?board=elsewhere",
        "/agents/",
        "/agents/?q=ada",
        "/tournaments/",
        "/matches/?leaderboard=elsewhere",
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
    page = _get(admin_client, address)
    assert "3 results of games.csv count no more on elsewhere" in page
