"""Times in the admin are in UTC, and say so."""

import re

import pytest
from django.test import Client
from redis import Redis

from matches.models import Outcome
from matches.tests import boards

pytestmark = pytest.mark.django_db


def test_every_time_of_a_list_and_of_a_form_says_utc(admin_client: Client, broker: Redis) -> None:
    tournament = boards.played_board(n_matches=42)
    match = Outcome.objects.earliest("pk").match_id
    for address in (
        "/admin/matches/leaderboard/",
        "/admin/matches/outcome/",
        "/admin/matches/order/",
        f"/admin/matches/tournament/{tournament.pk}/change/",
        f"/admin/matches/match/{match}/change/",
    ):
        page = admin_client.get(address).content.decode()
        times = re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?(?: \w+)?", page)
        assert times, f"{address} shows no time"
        assert [time for time in times if not time.endswith(" UTC")] == [], address
