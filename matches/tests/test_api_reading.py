"""The API without a login: everything can be read, page by page."""

from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.models import Match
from matches.tests import boards, factories
from matches.tests.callers import get_json

pytestmark = pytest.mark.django_db


def test_a_leaderboard_comes_with_its_ratings_the_best_first(client: Client, broker: Redis) -> None:
    boards.played_board()
    board = get_json(client, "leaderboards/connect-four/")
    mus = [rating["mu"] for rating in board["ratings"]]
    assert len(mus) == 7
    assert mus == sorted(mus, reverse=True)
    best = board["ratings"][0]
    assert best["low"] < best["mu"] < best["high"]
    assert board["n_counted"] == 420


def test_matches_are_listed_by_tournament_in_planned_order(client: Client, broker: Redis) -> None:
    tournament = factories.planned(250)
    address, sequences = f"matches/?tournament={tournament.pk}&page_size=100", []
    while address:
        page = get_json(client, address)
        sequences += [match["sequence"] for match in page["results"]]
        address = (page["next"] or "").partition("/api/v1/")[2]
    assert sequences == list(range(1, 251))


def test_a_match_comes_with_attempts_and_outcome(client: Client, broker: Redis) -> None:
    boards.played_board(n_matches=84)
    forfeited = Match.objects.filter(outcome__is_forfeit=True).first()
    assert forfeited is not None
    match = get_json(client, f"matches/{forfeited.pk}/")
    assert match["outcome"]["reason"] == "illegal"
    assert sorted(match["outcome"]["ranks"]) == [0, 1]
    assert [attempt["ending"] for attempt in match["attempts"]] == ["forfeit"]
    assert match["agents"] == forfeited.agent_ids


def test_a_match_that_waits_has_no_outcome(client: Client, broker: Redis) -> None:
    factories.planned()
    match = get_json(client, f"matches/{Match.objects.earliest('pk').pk}/")
    assert (match["state"], match["outcome"], match["attempts"]) == ("pending", None, [])


def test_lists_are_filtered(client: Client, broker: Redis) -> None:
    tournament = factories.planned()
    factories.planned(board="other", game="tic_tac_toe", agents=("random", "greedy"))
    assert len(get_json(client, "agents/?game=tic_tac_toe")["results"]) == 2
    assert len(get_json(client, "leaderboards/?game=skill_game")["results"]) == 1
    (row,) = get_json(client, "tournaments/?leaderboard=board")["results"]
    assert (row["id"], row["state"]) == (tournament.pk, "running")
    states = get_json(client, f"matches/?tournament={tournament.pk}&state=done")
    assert states["results"] == []


def test_a_tournament_names_its_agents(client: Client, broker: Redis) -> None:
    tournament = factories.planned()
    detail = get_json(client, f"tournaments/{tournament.pk}/")
    assert [agent["name"] for agent in detail["agents"]] == list(factories.LEVELS)
    assert "key" not in detail


def test_nodes_are_listed_without_what_identifies_their_process(
    client: Client, broker: Redis
) -> None:
    factories.alive()
    (node,) = get_json(client, "workers/")["results"]
    assert (node["node"], node["slots"]) == ("node-1", 2)
    assert "incarnation" not in node


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("matches/", 400),
        ("matches/?tournament=abc", 400),
        ("matches/?tournament=1.5", 400),
        ("matches/?tournament=99999999999999999999", 400),
        ("matches/?tournament=1&state=lost", 400),
        ("agents/?game=poker", 400),
        ("agents/?cursor=cD1hYmM=", 404),
        ("agents/?cursor=cD05OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk=", 404),
        ("agents/999999999999999999/", 404),
        ("agents/99999999999999999999/", 404),
        ("leaderboards/nowhere/", 404),
    ],
)
def test_what_cannot_be_found_is_no_server_error(client: Client, address: str, status: int) -> None:
    assert client.get(f"/api/v1/{address}").status_code == status


def test_a_missing_filter_is_named(client: Client) -> None:
    (problem,) = client.get("/api/v1/matches/").json()["errors"]
    message = "give one of tournament, leaderboard and agent"
    assert problem == {"field": "tournament", "message": message}


def test_the_schema_and_its_page_are_served_from_here(client: Client) -> None:
    schema = client.get("/api/schema/?format=json").json()
    assert set(schema["paths"]["/api/v1/tournaments/"]) == {"get", "post"}
    page = client.get("/api/docs/").content.decode()
    assert "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js" in page
    assert "cdn" not in page


def test_no_list_asks_more_of_the_database_for_more_rows(
    client: Client, broker: Redis, django_assert_max_num_queries: Any
) -> None:
    tournament = factories.planned(200)
    for address in (
        "agents/",
        "leaderboards/",
        "leaderboards/board/",
        "tournaments/",
        f"tournaments/{tournament.pk}/",
        f"matches/?tournament={tournament.pk}",
        "workers/",
    ):
        # Three for a leaderboard: it, who has played, and below them who has not.
        with django_assert_max_num_queries(3):
            get_json(client, address)
