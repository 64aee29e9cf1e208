"""Pages of the admin where there are very many rows."""

import pytest
from django.test import Client
from redis import Redis

from matches.models import Match
from matches.tests import boards

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["match", "outcome"])
def test_results_are_found_by_their_number_and_sorted_by_nothing_else(
    admin_client: Client, broker: Redis, name: str
) -> None:
    boards.played_board(n_matches=84)
    number = Match.objects.earliest("pk").pk
    for term, n in ((str(number), 1), ("x", 0), ("-1", 0), ("9" * 30, 0), ("²", 0), (" ", 50)):
        page = admin_client.get(f"/admin/matches/{name}/", {"q": term})
        assert page.status_code == 200, term
        assert len(page.context["cl"].result_list) == n, term
    assert "?o=" not in admin_client.get(f"/admin/matches/{name}/").content.decode()
