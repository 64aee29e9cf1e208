"""The page and the API of a ranking that ended as no order."""

import pytest
from django.core.cache import cache
from django.test import Client
from redis import Redis

from matches.models import Campaign
from matches.tests.test_campaigns import campaign_of, ended
from matches.tests.test_transitivity import CIRCLE, in_a_circle

pytestmark = pytest.mark.django_db(transaction=True)


def test_all_who_beat_one_that_stands_before_them_are_shown(client: Client, broker: Redis) -> None:
    cache.clear()
    campaign = ended(campaign_of("rank_all", agents=CIRCLE), play=in_a_circle)
    assert campaign.why == "no_order"
    answer = client.get(f"/api/v1/campaigns/{campaign.pk}/").json()
    order = [row["agent"]["name"] for row in answer["ranking"]]
    assert order == [agent["name"] for agent in answer["subjects"]]
    # Each beats the next one of the circle: only the last the first the other way round.
    assert order[0] == CIRCLE[(CIRCLE.index(order[-1]) + 1) % len(CIRCLE)]
    [upset] = answer["upsets"]
    assert (upset["agent"]["name"], upset["beats"]["name"]) == (order[-1], order[0])
    address = f"/tournaments/{campaign.tournament_id}/"
    page = client.get(address).content.decode()
    assert f">{order[-1]}</a> beats <a" in page
    assert "The nearest to an order" in page
    Campaign.objects.update(chances=[0.0] * len(CIRCLE))
    cache.clear()
    assert "Nobody is likely to beat all others." in client.get(address).content.decode()
