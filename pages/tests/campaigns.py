"""Campaigns for tests of their pages, and what these say."""

from django.test import Client

from matches.models import Campaign
from matches.tests import boards
from matches.tests.test_campaigns import campaign_of, go_on
from pages.tests.reading import get_words


def read_campaign_page(client: Client, campaign: Campaign) -> str:
    """Return the words of the page of a campaign."""
    return get_words(client, f"/tournaments/{campaign.tournament_id}/")


def start_undecided(**plan: object) -> Campaign:
    """Return a campaign that runs and has results, of too small an error to have a verdict."""
    campaign = campaign_of(**{"error": 0.001, **plan})  # type: ignore[arg-type]
    go_on(campaign, 0, boards.by_strength(forfeits=0))
    return campaign
