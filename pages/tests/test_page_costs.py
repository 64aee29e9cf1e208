"""No page of an agent, a match or a tournament grows with the matches that were played.

Query plans do not tell (SQLite plans again when bound values are known), so the steps of its
virtual machine are counted.
"""

import pytest
from django.db import connection
from django.test import Client
from redis import Redis

from matches.models import Attempt, Entrant, Match, Outcome, PairCount, Tournament
from matches.ratings import tournament_counts
from matches.tests import factories
from matches.tests.factories import NOW
from pages import agentmatches, paces
from pages.tests.reading import count_page_steps

pytestmark = pytest.mark.django_db
N_FEW, N_MANY = 600, 6_000


def _played(n_matches: int) -> Tournament:
    """Return a tournament with so many matches, outcomes and attempts, some spoilt."""
    tournament = factories.planned(n_matches, board=f"board-{n_matches}", seed=n_matches)
    Match.objects.filter(tournament=tournament).update(state=Match.State.DONE, attempt=1)
    played = list(Match.objects.filter(tournament=tournament))
    Outcome.objects.bulk_create(
        Outcome(match=match, ranks="0,1", attempt=1, actions="10 50", recorded_at=NOW)
        for match in played
    )
    Attempt.objects.bulk_create(
        Attempt(match=match, number=1, ending="done" if place % 9 else "failed", ended_at=NOW)
        for place, match in enumerate(played)
    )
    first, second = Entrant.objects.filter(tournament=tournament)[:2]
    PairCount.objects.create(
        leaderboard=tournament.leaderboard, first=first.agent, second=second.agent, n_draws=1
    )
    return tournament


def _pages(tournament: Tournament) -> dict[str, str]:
    match = Match.objects.filter(tournament=tournament).latest("pk")
    return {
        "agent": f"/agents/{match.agent_ids[0]}/?board={tournament.leaderboard.name}",
        "older matches": f"/agents/{match.agent_ids[0]}/?match={match.pk}&failure={match.pk}",
        "match": f"/matches/{match.pk}/",
        "tournament": f"/tournaments/{tournament.pk}/",
        "later matches": f"/tournaments/{tournament.pk}/?after={match.sequence - 200}",
    }


def test_no_page_grows_with_the_matches_played(
    client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("counts the steps of SQLite")
    # What they read at most is reached by the smaller tournament too.
    monkeypatch.setattr(agentmatches, "N_SEARCHED", 100)
    monkeypatch.setattr(agentmatches, "N_LOOKED", 100)
    monkeypatch.setattr(paces, "N_SEEN", 100)
    monkeypatch.setattr(tournament_counts, "MOST_READ", 100)
    few = {name: count_page_steps(client, page) for name, page in _pages(_played(N_FEW)).items()}
    many = {name: count_page_steps(client, page) for name, page in _pages(_played(N_MANY)).items()}
    grown = {name: (few[name], many[name]) for name in few if many[name] > 1.3 * few[name]}
    assert grown == {}
