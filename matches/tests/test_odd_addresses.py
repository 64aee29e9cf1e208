"""Addresses that hold what no form sends: a page, or a sentence that says what is wrong."""

from urllib.parse import quote

import pytest
from django.test import Client
from redis import Redis

from matches.models import Agent, Match
from matches.tests import boards

pytestmark = pytest.mark.django_db
DAYS = ("from", "to")
# What each address reads of what stands behind it.
READ: dict[str, tuple[str, ...]] = {
    "/leaderboards/": ("q", "game", "state", "before"),
    "/leaderboards/{board}/": ("q", "kind", "run", "tournament", "sort", "scale", "page", "format"),
    "/agents/": ("q", "game", "kind", "run", "state", "leaderboard", "tournament", *DAYS),
    "/agents/{agent}/": ("board", "match", "failure", "opponent", "files", "table", "plot"),
    "/campaigns/": ("q", "game", "state", "question", "agent", "leaderboard", "before", *DAYS),
    "/tournaments/": ("q", "game", "state", "agent", "leaderboard", "pairing", "before", *DAYS),
    "/tournaments/{tournament}/": ("after",),
    "/matches/": (
        *("game", "state", "agent", "result", "reason", "seat", "ending", "before", *DAYS),
        *("tournament", "leaderboard", "node", "format"),
    ),
    "/matches/{match}/": ("step", "seat"),
    "/compare/": ("agents", "leaderboard"),
    "/compare/{agent}/{other}/": ("leaderboard", "before"),
    "/search/": ("q",),
    "/login/": ("next",),
    "/admin/matches/agent/": ("q", "game__exact", "p"),
    "/admin/matches/match/": ("q", "state__exact"),
    "/admin/matches/agent/pick/": ("leaderboard", "agents", "agents-find", "agents-add"),
    "/admin/matches/tournament/add/": ("leaderboard", "agents"),
}
ODD = ("run:\0", "-1", "9" * 30, "1" * 5_000, "9999-12-31", "0001-01-01")


@pytest.mark.parametrize("path", READ)
def test_no_address_is_an_error_of_ours(admin_client: Client, broker: Redis, path: str) -> None:
    tournament = boards.played_board(n_matches=42)
    agent, other = Agent.objects.order_by("pk")[:2]
    address = path.format(
        board=tournament.leaderboard.name,
        tournament=tournament.pk,
        match=Match.objects.earliest("pk").pk,
        agent=agent.pk,
        other=other.pk,
    )
    for name in READ[path]:
        for text in ODD:
            answer = admin_client.get(f"{address}?{name}={quote(text)}")
            assert answer.status_code in {200, 302, 400, 404}, (name, text)
