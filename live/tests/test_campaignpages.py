"""Campaigns on the pages."""

import re

import pytest
from django.test import Client
from redis import Redis

from matches.models import Campaign
from matches.tests import boards
from matches.tests.test_campaigns import campaign_of, ended, go_on

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _broker(broker: Redis) -> None:
    """Have a broker, and a fast store that knows nothing."""


def _text(client: Client, address: str) -> str:
    """Return the words of a page."""
    response = client.get(address)
    assert response.status_code == 200, address
    plain = re.sub(
        r"<(style|script|title).*?</\1>|<[^>]+>", " ", response.content.decode(), flags=re.S
    )
    return re.sub(r"\s+", " ", plain)


def _page(client: Client, campaign: Campaign) -> str:
    return _text(client, f"/tournaments/{campaign.tournament_id}/")


def test_a_verdict_stands_on_the_page_of_its_tournament(client: Client) -> None:
    campaign = ended(campaign_of())
    page = _page(client, campaign)
    assert "Which agent is the best?" in page
    assert "level:95 is the best" in page
    assert "Decided: it is as sure as was asked for." in page
    assert f"matches played {campaign.n_played}" in page
    assert "Stop this campaign" not in page


def test_one_that_runs_shows_its_forecast_and_budget(client: Client) -> None:
    campaign = campaign_of(error=0.001)
    go_on(campaign, 0, boards.by_strength(forfeits=0))
    page = _page(client, campaign)
    assert "Not decided yet: level:95 is the likeliest to be the best" in page
    assert "Matches to the verdict about" in page
    assert "100 more matches bring the verdict in" in page
    assert "16 of 400 spent" in page
    assert "Stop this campaign" in page
