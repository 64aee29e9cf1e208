"""Ratings through the API: their order, their history and comparisons of two agents."""

from math import hypot
from statistics import NormalDist

import pytest
from django.db.models import F
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from redis import Redis

from arena.ratings.base import SIGMA, Z95
from matches.models import Leaderboard, Match, Rating, Tournament
from matches.ratings import comparisons, snapshots
from matches.ratings.comparisons import compare_agents, p_above
from matches.ratings.fitting import fit_ratings
from matches.tests import boards, factories
from matches.tests.callers import get_json, get_rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def played(broker: Redis) -> Tournament:
    """Return a finished tournament of seven agents with its ratings."""
    return boards.played_board(n_matches=84)


BOARD = "leaderboards/connect-four"


@pytest.mark.parametrize("page_size", [1, 3, 7, 100])
def test_ratings_are_paged_in_the_order_of_rank(
    client: Client, played: Tournament, page_size: int
) -> None:
    # Ties, as of agents that have not played, must neither be lost nor come twice.
    tied = Rating.objects.order_by("-mu")[2:5]
    Rating.objects.filter(pk__in=[rating.pk for rating in tied]).update(mu=25.0)
    unplayed = Rating.objects.order_by("-mu")[:2]
    Rating.objects.filter(pk__in=[rating.pk for rating in unplayed]).update(n_matches=0)
    rows = get_rows(client, f"{BOARD}/ratings/?page_size={page_size}")
    ranked = Rating.objects.order_by("-mu", "agent_id").values_list("agent_id", flat=True)
    last = sorted(Rating.objects.filter(n_matches=0).values_list("agent_id", flat=True))
    expected = [agent for agent in ranked if agent not in last] + last
    assert [row["agent"]["id"] for row in rows] == expected
    assert [row["rank"] for row in rows] == list(range(1, 8))


@pytest.mark.parametrize(
    "cursor", ["x", "W10", "WzEsMl0", "bnVsbA", "WzEsIE5hTiwgMV0", "WzEsMSwtMV0", "\xff"]
)
def test_a_cursor_that_is_none_is_refused(client: Client, played: Tournament, cursor: str) -> None:
    for address in (f"{BOARD}/ratings/", f"{BOARD}/history/"):
        assert client.get(f"/api/v1/{address}?cursor={cursor}").status_code == 404, address


def test_the_rating_of_one_agent_has_its_rank(client: Client, played: Tournament) -> None:
    for row in get_json(client, f"{BOARD}/ratings/")["results"]:
        assert get_json(client, f"{BOARD}/ratings/{row['agent']['id']}/") == row
    assert client.get(f"/api/v1/{BOARD}/ratings/999/").status_code == 404


def test_the_history_of_a_leaderboard_and_of_an_agent_is_the_newest_first(
    client: Client, played: Tournament
) -> None:
    agent = played.agents.earliest("pk")
    for minutes in range(3):
        Leaderboard.objects.update(rated_at=factories.later(60 * minutes), results_hash=minutes)
        Rating.objects.filter(agent=agent).update(mu=float(minutes))
        snapshots.take_due(now=factories.later(60 * minutes + 1))
    taken = [row["taken_at"] for row in get_rows(client, f"{BOARD}/history/?page_size=2")]
    assert len(taken) == 3
    assert taken == sorted(taken, reverse=True)
    history = get_rows(client, f"{BOARD}/ratings/{agent.pk}/history/?page_size=2")
    assert [point["mu"] for point in history] == [2.0, 1.0, 0.0]
    assert get_rows(client, f"{BOARD}/ratings/999/history/") == []


def test_the_row_of_an_agent_is_found_in_a_snapshot(played: Tournament) -> None:
    snapshots.take_due(now=factories.later(1))
    (snapshot,) = played.leaderboard.ratingsnapshot_set.all()
    rows = snapshots.read_rows(snapshot)
    assert [snapshots.read_row(snapshot, int(row[0])) for row in rows] == rows
    assert snapshots.read_row(snapshot, int(max(row[0] for row in rows)) + 1) is None


def test_two_agents_are_compared(client: Client, played: Tournament) -> None:
    first, second = get_json(client, f"{BOARD}/ratings/")["results"][:2]
    ids = f"first={first['agent']['id']}&second={second['agent']['id']}"
    comparison = get_json(client, f"{BOARD}/comparison/?{ids}")
    assert 0.5 < comparison["p_above"] < 1
    assert sum(comparison["expected"].values()) == pytest.approx(1)
    assert comparison["expected"]["win"] > comparison["expected"]["loss"]
    turned = get_json(
        client,
        f"{BOARD}/comparison/?first={second['agent']['id']}&second={first['agent']['id']}",
    )
    assert turned["p_above"] == pytest.approx(1 - comparison["p_above"])
    head = comparison["head_to_head"]
    assert turned["head_to_head"] == {
        "n_wins": head["n_losses"],
        "n_draws": head["n_draws"],
        "n_losses": head["n_wins"],
    }
    pairs = {first["agent"]["id"], second["agent"]["id"]}
    met = [m for m in Match.objects.all() if set(m.agent_ids) == pairs]
    assert sum(head.values()) == len(met) > 0


def test_an_agent_is_as_good_as_itself(played: Tournament) -> None:
    rating = Rating.objects.select_related("leaderboard").earliest("pk")
    assert p_above(rating, rating) == 0.5
    drawn = rating.leaderboard.current_draw_probability
    assert 0 < drawn != rating.leaderboard.draw_probability
    assert compare_agents(rating, rating).expected.win == pytest.approx((1 - drawn) / 2)


def _two_of(played: Tournament) -> list[Rating]:
    rated = Rating.objects.filter(leaderboard=played.leaderboard_id)
    return list(rated.select_related("leaderboard").order_by("-mu")[:2])


def test_a_comparison_goes_by_the_joint_posterior_of_the_two(played: Tournament) -> None:
    first, second = _two_of(played)
    agents = list(Rating.objects.order_by("pk").values_list("agent_id", flat=True))
    settled = fit_ratings(played.leaderboard, agents)
    expected = settled.superiority(agents.index(first.agent_id), agents.index(second.agent_id))
    assert p_above(first, second) == pytest.approx(expected, abs=1e-6)
    alone = NormalDist().cdf((first.mu - second.mu) / hypot(first.sd, second.sd))
    assert abs(p_above(first, second) - alone) > 1e-4


def test_on_a_large_board_a_comparison_is_nearly_that(
    played: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = _two_of(played)
    whole = p_above(first, second)
    monkeypatch.setattr(comparisons, "MOST_FITTED", 1)
    assert p_above(first, second) == pytest.approx(whole, abs=0.02)
    assert p_above(second, first) == pytest.approx(1 - p_above(first, second))


def test_on_a_large_board_a_doubt_is_kept_until_something_is_rated(
    played: Tournament,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    monkeypatch.setattr(comparisons, "MOST_FITTED", 1)
    ratings = _two_of(played)
    before = p_above(*ratings)
    with django_assert_num_queries(1):  # how many agents the board has
        assert p_above(*ratings) == before
    Rating.objects.update(sd=9.0)
    Leaderboard.objects.update(n_counted=F("n_counted") + 1)
    assert p_above(*_two_of(played)) != before


def test_agents_without_results_are_compared_by_the_prior(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    factories.planned(2, agents=("level:5", "level:95"))
    first, second = Rating.objects.select_related("leaderboard").order_by("pk")
    # By a fit of all: nothing tells them apart.
    fitted = compare_agents(first, second)
    assert fitted.p_above == 0.5
    reach = Z95 * 2**0.5 * SIGMA
    assert (fitted.gap_low, fitted.gap_high) == pytest.approx((-reach, reach))
    # Of a field too large to be fitted: by the ratings that are shown.
    first.mu = 25 + 2**0.5 * SIGMA
    monkeypatch.setattr(comparisons, "MOST_FITTED", 1)
    assert p_above(first, second) == pytest.approx(NormalDist().cdf(1))


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "first"),
        ("first=1", "second"),
        ("first=x&second=1", "first"),
        ("first=1&second=999", "second"),
    ],
)
def test_who_is_not_on_the_leaderboard_is_not_compared(
    client: Client, played: Tournament, query: str, field: str
) -> None:
    first = Rating.objects.earliest("pk").agent_id
    response = client.get(f"/api/v1/{BOARD}/comparison/?{query.replace('=1', f'={first}')}")
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == field
