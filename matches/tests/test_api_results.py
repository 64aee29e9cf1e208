"""What has come out, through the API: ratings, history, comparisons, outcomes, trajectories."""

import json
from hashlib import sha256
from math import hypot
from statistics import NormalDist
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from redis import Redis

from arena.ratings.base import SIGMA, Z95
from matches.artifacts import trajectories
from matches.models import Leaderboard, Match, Order, Rating, Tournament
from matches.ratings import comparisons, snapshots
from matches.ratings.comparisons import compare_agents, p_above
from matches.ratings.fitting import fit_ratings
from matches.store import signing
from matches.store.clock import db_now
from matches.tests import boards, callers, factories

pytestmark = pytest.mark.django_db


def _get(client: Client, address: str) -> Any:
    response = client.get(f"/api/v1/{address}")
    assert response.status_code == 200, response.content
    return response.json()


def _pages(client: Client, address: str) -> list[Any]:
    rows = []
    while address:
        page = _get(client, address)
        rows += page["results"]
        address = (page["next"] or "").partition("/api/v1/")[2]
    return rows


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
    rows = _pages(client, f"{BOARD}/ratings/?page_size={page_size}")
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
    for row in _get(client, f"{BOARD}/ratings/")["results"]:
        assert _get(client, f"{BOARD}/ratings/{row['agent']['id']}/") == row
    assert client.get(f"/api/v1/{BOARD}/ratings/999/").status_code == 404


def test_the_history_of_a_leaderboard_and_of_an_agent_is_the_newest_first(
    client: Client, played: Tournament
) -> None:
    agent = played.agents.earliest("pk")
    for minutes in range(3):
        Leaderboard.objects.update(rated_at=factories.later(60 * minutes), results_hash=minutes)
        Rating.objects.filter(agent=agent).update(mu=float(minutes))
        snapshots.take_due(now=factories.later(60 * minutes + 1))
    taken = [row["taken_at"] for row in _pages(client, f"{BOARD}/history/?page_size=2")]
    assert len(taken) == 3
    assert taken == sorted(taken, reverse=True)
    history = _pages(client, f"{BOARD}/ratings/{agent.pk}/history/?page_size=2")
    assert [point["mu"] for point in history] == [2.0, 1.0, 0.0]
    assert _pages(client, f"{BOARD}/ratings/999/history/") == []


def test_the_row_of_an_agent_is_found_in_a_snapshot(played: Tournament) -> None:
    snapshots.take_due(now=factories.later(1))
    (snapshot,) = played.leaderboard.ratingsnapshot_set.all()
    rows = snapshots.read_rows(snapshot)
    assert [snapshots.read_row(snapshot, int(row[0])) for row in rows] == rows
    assert snapshots.read_row(snapshot, int(max(row[0] for row in rows)) + 1) is None


def test_two_agents_are_compared(client: Client, played: Tournament) -> None:
    first, second = _get(client, f"{BOARD}/ratings/")["results"][:2]
    ids = f"first={first['agent']['id']}&second={second['agent']['id']}"
    comparison = _get(client, f"{BOARD}/comparison/?{ids}")
    assert 0.5 < comparison["p_above"] < 1
    assert sum(comparison["expected"].values()) == pytest.approx(1)
    assert comparison["expected"]["win"] > comparison["expected"]["loss"]
    turned = _get(
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


def test_outcomes_come_in_planned_order_with_their_match(
    client: Client, played: Tournament
) -> None:
    rows = _pages(client, f"outcomes/?tournament={played.pk}&page_size=50")
    assert [row["sequence"] for row in rows] == list(range(1, 85))
    match = Match.objects.get(pk=rows[0]["match"])
    assert rows[0]["agents"] == match.agent_ids
    assert sorted(rows[0]["ranks"]) in ([0, 1], [0, 0])


def test_a_match_that_is_not_done_has_no_outcome_to_list(client: Client, broker: Redis) -> None:
    tournament = factories.planned()
    assert _pages(client, f"outcomes/?tournament={tournament.pk}") == []


def test_attempts_are_listed_by_match_and_by_how_they_ended(
    client: Client, played: Tournament
) -> None:
    everything = _pages(client, "attempts/?page_size=40")
    assert len(everything) == 84
    forfeits = _pages(client, f"attempts/?ending=forfeit&tournament={played.pk}")
    assert forfeits == [row for row in everything if row["ending"] == "forfeit"]
    assert len(forfeits) == played.n_forfeits > 0
    (of_match,) = _pages(client, f"attempts/?match={forfeits[0]['match']}")
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
    rows = _pages(client, f"matches/?agent={agent}&page_size={page_size}")
    expected = [m.pk for m in Match.objects.order_by("-pk") if agent in m.agent_ids]
    assert [row["id"] for row in rows] == expected
    within = f"matches/?agent={agent}&tournament="
    assert _pages(client, f"{within}{played.pk}&page_size={page_size}") == rows
    assert _pages(client, f"{within}{other.pk}") == []


def test_a_match_of_an_agent_with_itself_is_listed_once(client: Client, broker: Redis) -> None:
    tournament = factories.planned(3, agents=("level:10",), is_rated=False)
    agent = tournament.agents.get().pk
    rows = _pages(client, f"matches/?agent={agent}&page_size=1")
    assert len(rows) == 3


def test_the_matches_of_a_leaderboard_are_listed_in_planned_order(
    client: Client, played: Tournament
) -> None:
    rows = _pages(client, "matches/?leaderboard=connect-four&page_size=60")
    assert [row["sequence"] for row in rows] == list(range(1, 85))


@pytest.mark.parametrize("state", Match.State.values)
def test_the_matches_in_a_state_are_listed(client: Client, broker: Redis, state: str) -> None:
    tournament = factories.planned(12)
    open_order = Order.objects.get(uuid=factories.ordered(tournament).order)
    for number, each in enumerate(Match.State.values):
        order = open_order if each in Match.IN_FLIGHT else None
        at = Match.objects.filter(sequence__in=(number + 1, number + 7))
        at.update(state=each, order=order)
    rows = _pages(client, f"matches/?tournament={tournament.pk}&state={state}")
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
    rows = _pages(client, f"tournaments/{played.pk}/agents/?page_size=3")
    assert [row["agent"]["name"] for row in rows] == list(boards.SEARCHERS)
    assert [row["position"] for row in rows] == list(range(7))


def test_an_explanation_says_what_something_waits_for(client: Client, broker: Redis) -> None:
    tournament = factories.planned()
    factories.alive()
    match, agent = tournament.matches.earliest("pk"), tournament.agents.earliest("pk")
    for noun, row in (("tournaments", tournament), ("matches", match), ("agents", agent)):
        explanation = _get(client, f"{noun}/{row.pk}/explanation/")
        assert (explanation["subject"], explanation["id"]) == (
            noun.rstrip("s").replace("matche", "match"),
            row.pk,
        )
        assert explanation["summary"]
    (worker,) = _get(client, "workers/")["results"]
    assert _get(client, f"workers/{worker['id']}/explanation/")["subject"] == "worker"


# Trajectories


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
    (piece,) = _pages(reader, f"trajectories/?tournament={tournament.pk}")
    assert (piece["sha256"], piece["n_bytes"]) == (name, 4)
    fetched: Any = client.get(piece["href"])
    assert b"".join(fetched.streaming_content) == content
    manifest = _get(reader, f"trajectories/manifest/?tournament={tournament.pk}")
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
            _get(reader, address)
