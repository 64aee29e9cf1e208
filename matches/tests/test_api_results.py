"""What has come out, through the API: outcomes, attempts, matches, explanations, trajectories."""

import json
from hashlib import sha256
from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.artifacts import trajectories
from matches.models import Match, Order, Tournament
from matches.ratings import snapshots
from matches.store import signing
from matches.store.clock import db_now
from matches.tests import boards, callers, factories
from matches.tests.callers import get_json, get_rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def played(broker: Redis) -> Tournament:
    """Return a finished tournament of seven agents with its ratings."""
    return boards.played_board(n_matches=84)


BOARD = "leaderboards/connect-four"


def test_outcomes_come_in_planned_order_with_their_match(
    client: Client, played: Tournament
) -> None:
    rows = get_rows(client, f"outcomes/?tournament={played.pk}&page_size=50")
    assert [row["sequence"] for row in rows] == list(range(1, 85))
    match = Match.objects.get(pk=rows[0]["match"])
    assert rows[0]["agents"] == match.agent_ids
    assert sorted(rows[0]["ranks"]) in ([0, 1], [0, 0])


def test_a_match_that_is_not_done_has_no_outcome_to_list(client: Client, broker: Redis) -> None:
    tournament = factories.planned()
    assert get_rows(client, f"outcomes/?tournament={tournament.pk}") == []


def test_attempts_are_listed_by_match_and_by_how_they_ended(
    client: Client, played: Tournament
) -> None:
    everything = get_rows(client, "attempts/?page_size=40")
    assert len(everything) == 84
    forfeits = get_rows(client, f"attempts/?ending=forfeit&tournament={played.pk}")
    assert forfeits == [row for row in everything if row["ending"] == "forfeit"]
    assert len(forfeits) == played.n_forfeits > 0
    (of_match,) = get_rows(client, f"attempts/?match={forfeits[0]['match']}")
    assert of_match == forfeits[0]
    assert of_match["tournament"] == played.pk


@pytest.mark.parametrize(
    "query", ["tournament=1", "tournament=1&ending=done", "ending=lost", "tournament=1&ending=lost"]
)
def test_attempts_that_no_index_finds_are_not_listed(
    client: Client, broker: Redis, query: str
) -> None:
    factories.planned()
    response = client.get(f"/api/v1/attempts/?{query}")
    assert response.status_code == 400
    (refusal,) = response.json()["errors"]
    assert refusal["field"] == "ending"


@pytest.mark.parametrize(
    ("query", "refusal"),
    [
        ("attempts/?match=77", "match: there is no match 77"),
        ("attempts/?ending=forfeit&tournament=77", "tournament: there is no tournament 77"),
        ("campaigns/?tournament=77", "tournament: there is no tournament 77"),
        ("matches/?agent=77", "agent: there is no agent 77"),
        ("matches/?tournament=77&state=done", "tournament: there is no tournament 77"),
        ("outcomes/?tournament=77", "tournament: there is no tournament 77"),
    ],
)
def test_the_id_of_no_row_is_refused_once(
    client: Client, db: None, query: str, refusal: str
) -> None:
    response = client.get(f"/api/v1/{query}")
    assert response.status_code == 400
    (refused,) = response.json()["errors"]
    assert f"{refused['field']}: {refused['message']}".startswith(refusal)


@pytest.mark.parametrize("page_size", [1, 5, 1_000])
def test_the_matches_of_an_agent_are_listed_the_newest_first(
    client: Client, played: Tournament, page_size: int
) -> None:
    other = factories.planned(6, board="other")
    agent = played.agents.earliest("pk").pk
    rows = get_rows(client, f"matches/?agent={agent}&page_size={page_size}")
    expected = [m.pk for m in Match.objects.order_by("-pk") if agent in m.agent_ids]
    assert [row["id"] for row in rows] == expected
    within = f"matches/?agent={agent}&tournament="
    assert get_rows(client, f"{within}{played.pk}&page_size={page_size}") == rows
    assert get_rows(client, f"{within}{other.pk}") == []


def test_a_match_of_an_agent_with_itself_is_listed_once(client: Client, broker: Redis) -> None:
    tournament = factories.planned(3, agents=("level:10",), is_rated=False)
    agent = tournament.agents.get().pk
    rows = get_rows(client, f"matches/?agent={agent}&page_size=1")
    assert len(rows) == 3


def test_the_matches_of_a_leaderboard_are_listed_in_planned_order(
    client: Client, played: Tournament
) -> None:
    rows = get_rows(client, "matches/?leaderboard=connect-four&page_size=60")
    assert [row["sequence"] for row in rows] == list(range(1, 85))


@pytest.mark.parametrize("state", Match.State.values)
def test_the_matches_in_a_state_are_listed(client: Client, broker: Redis, state: str) -> None:
    tournament = factories.planned(12)
    open_order = Order.objects.get(uuid=factories.ordered(tournament).order)
    for number, each in enumerate(Match.State.values):
        order = open_order if each in Match.IN_FLIGHT else None
        at = Match.objects.filter(sequence__in=(number + 1, number + 7))
        at.update(state=each, order=order)
    rows = get_rows(client, f"matches/?tournament={tournament.pk}&state={state}")
    number = Match.State.values.index(state)
    assert [row["sequence"] for row in rows] == [number + 1, number + 7]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("leaderboard=b&tournament=1", "leaderboard"),
        ("leaderboard=b&state=done", "state"),
        ("agent=1&state=done", "state"),
        ("agent=0", "agent"),
    ],
)
def test_matches_that_no_index_finds_are_not_listed(
    client: Client, broker: Redis, query: str, field: str
) -> None:
    factories.planned(board="b")
    response = client.get(f"/api/v1/matches/?{query}")
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == field


def test_who_takes_part_is_paged(client: Client, played: Tournament) -> None:
    rows = get_rows(client, f"tournaments/{played.pk}/agents/?page_size=3")
    assert [row["agent"]["name"] for row in rows] == list(boards.SEARCHERS)
    assert [row["position"] for row in rows] == list(range(7))


def test_an_explanation_says_what_something_waits_for(client: Client, broker: Redis) -> None:
    tournament = factories.planned()
    factories.alive()
    match, agent = tournament.matches.earliest("pk"), tournament.agents.earliest("pk")
    for noun, row in (("tournaments", tournament), ("matches", match), ("agents", agent)):
        explanation = get_json(client, f"{noun}/{row.pk}/explanation/")
        assert (explanation["subject"], explanation["id"]) == (
            noun.rstrip("s").replace("matche", "match"),
            row.pk,
        )
        assert explanation["summary"]
    (worker,) = get_json(client, "workers/")["results"]
    assert get_json(client, f"workers/{worker['id']}/explanation/")["subject"] == "worker"


@pytest.fixture
def reader(db: None) -> Client:
    return callers.with_token(callers.token("reader", callers.READER))


def test_pieces_of_trajectories_are_listed_with_links_that_fetch_them(
    reader: Client, client: Client, broker: Redis, settings: Any, tmp_path: Any
) -> None:
    folder = {"location": str(tmp_path / "kept")}
    backend = "django.core.files.storage.FileSystemStorage"
    kept = {"BACKEND": backend, "OPTIONS": folder}
    settings.STORAGES = {**settings.STORAGES, trajectories.STORAGE: kept}
    factories.alive()
    tournament = factories.planned(4, keeps_trajectories=True)
    order = factories.ordered(tournament)
    content = b"rows"
    name = sha256(content).hexdigest()
    put = signing.sign_link("PUT", signing.trajectories_path(order.order), now=db_now())
    path, _, query = put.partition("?")
    assert Client().put(f"{path}/{name}?{query}", content).status_code == 201
    (piece,) = get_rows(reader, f"trajectories/?tournament={tournament.pk}")
    assert (piece["sha256"], piece["n_bytes"]) == (name, 4)
    fetched: Any = client.get(piece["href"])
    assert b"".join(fetched.streaming_content) == content
    manifest = get_json(reader, f"trajectories/manifest/?tournament={tournament.pk}")
    assert (manifest["n_pieces"], manifest["n_bytes"], manifest["game"]) == (1, 4, "skill_game")
    assert "action" in {column["name"] for column in manifest["schema"]}


def test_a_tournament_that_keeps_no_trajectories_has_no_manifest(
    reader: Client, broker: Redis
) -> None:
    tournament = factories.planned()
    for address in (f"?tournament={tournament.pk}", "?tournament=999", ""):
        response = reader.get(f"/api/v1/trajectories/manifest/{address}")
        assert response.status_code == 400
        assert json.loads(response.content)["errors"][0]["field"] == "tournament"
    assert reader.get("/api/v1/trajectories/").status_code == 400


def test_no_list_of_results_asks_more_of_the_database_for_more_rows(
    reader: Client, played: Tournament, django_assert_max_num_queries: Any
) -> None:
    snapshots.take_due(now=factories.later(1))
    agent, other = (a.pk for a in played.agents.order_by("pk")[:2])
    for address, n in {
        f"outcomes/?tournament={played.pk}": 3,
        f"matches/?agent={agent}": 4,
        f"matches/?agent={agent}&tournament={played.pk}": 5,
        f"matches/?tournament={played.pk}&state=done": 3,
        "matches/?leaderboard=connect-four": 2,
        "attempts/": 2,
        f"{BOARD}/ratings/": 3,
        f"{BOARD}/ratings/{agent}/": 5,
        f"{BOARD}/ratings/{agent}/history/": 3,
        f"{BOARD}/history/": 3,
        f"{BOARD}/comparison/?first={agent}&second={other}": 9,
        f"tournaments/{played.pk}/agents/": 3,
        f"trajectories/?tournament={played.pk}": 2,
        "tokens/": 3,
    }.items():
        with django_assert_max_num_queries(n + 1):  # and one that finds the token
            get_json(reader, address)
