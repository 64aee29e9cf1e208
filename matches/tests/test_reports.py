"""The report of a tournament: its ratings as the API shows each one alone."""

import pytest
from django.test import Client
from redis import Redis

from matches.api.evaluations import EntrantRatingSerializer
from matches.api.ratings import format_ratings, rank_rating
from matches.models import Attempt, Rating
from matches.store import match_sources, selectors
from matches.tests import boards, factories
from matches.tests.factories import later

pytestmark = pytest.mark.django_db


def test_ratings_made_at_once_are_shown_as_one_by_one(broker: Redis) -> None:
    tournament = boards.played_board(n_matches=84)
    ratings = selectors.list_ratings_of_entrants(tournament)
    one_by_one = [
        dict(EntrantRatingSerializer(rank_rating(rank, rating)).data)
        for rank, rating in enumerate(ratings, 1)
    ]
    at_once = format_ratings(ratings, EntrantRatingSerializer.Meta.fields)
    assert [list(row.items()) for row in at_once] == [list(row.items()) for row in one_by_one]


def test_a_report_ranks_those_who_take_part_alone(broker: Redis, client: Client) -> None:
    tournament = boards.played_board(n_matches=84)
    strangers = tournament.agents.order_by("pk")[:1]
    tournament.entrant_set.filter(agent__in=list(strangers)).delete()
    reported = client.get(f"/api/v1/tournaments/{tournament.pk}/report/").json()["ratings"]
    assert [row["rank"] for row in reported] == list(range(1, Rating.objects.count()))
    mus = [row["mu"] for row in reported]
    assert mus == sorted(mus, reverse=True)


def test_failures_of_a_large_tournament_are_counted_as_those_of_a_small_one(
    broker: Redis, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = boards.played_board(n_matches=84)
    elsewhere = factories.planned(12, board="other")
    endings = ("forfeit", "failed", "interrupted", "expired", "failed", "done")
    for number, ending in enumerate(endings, 2):
        for played in (tournament, elsewhere):
            Attempt.objects.create(
                match=played.matches.earliest("sequence"),
                number=number,
                ending=ending,
                reason=f"reason-{ending}",
                detail="why" if ending == "failed" else "",
                ended_at=later(5),
            )
    address = f"/api/v1/tournaments/{tournament.pk}/report/"
    small = client.get(address).json()
    assert small["failed_attempts"] == {"reason-failed": 2}
    assert small["interrupted_attempts"] == {"reason-interrupted": 1, "reason-expired": 1}
    assert small["failure_details"] == {"why": 2}
    monkeypatch.setattr(match_sources, "MANY_MATCHES", 0)
    assert client.get(address).json() == small
