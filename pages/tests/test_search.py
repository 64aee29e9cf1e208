"""The search: names, hashes and numbers, each by what the database finds quickly."""

import re
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis import Redis

from matches.models import Agent, Campaign, Checkpoint, Leaderboard, Match, Tournament
from matches.tests import boards, factories
from pages.lists import search

pytestmark = pytest.mark.django_db


@pytest.fixture
def played(broker: Redis) -> Tournament:
    """Return a tournament of search agents on the leaderboard connect-four."""
    return boards.played_board(n_matches=84)


def _hits(client: Client, text: str) -> dict[str, list[str]]:
    """Return the addresses that a text finds, by kind."""
    response = client.get("/search/", {"q": text})
    assert response.status_code == 200
    page = unescape(response.content.decode())
    parts = re.findall(r'<h2 id="hits-\d+">([^<]+)</h2>(.*?)</section>', page, re.DOTALL)
    return {title: re.findall(r'<li>\s*<a href="([^"]+)"', part) for title, part in parts}


def _store(sha256: str, **fields: object) -> Checkpoint:
    return Checkpoint.objects.create(
        sha256=sha256, game="connect_four", n_bytes=1, created_at=factories.NOW,
        source_name="x", architecture="none", **{"run": "selfplay", **fields},
    )  # fmt: skip


def test_without_a_text_it_says_what_can_be_found(client: Client) -> None:
    for address in ("/search/", "/search/?q=%20"):
        page = client.get(address).content.decode()
        assert "six digits or more of a hash" in page
        assert 'name="q" value=""' in page


def test_what_is_nowhere_is_said_so(client: Client, played: Tournament) -> None:
    page = client.get("/search/", {"q": "<zzz>"}).content.decode()
    assert "Nothing is called <b>&lt;zzz&gt;</b>" in page
    assert 'value="&lt;zzz&gt;"' in page
    assert _hits(client, "<zzz>") == {}


def test_agents_are_found_by_any_part_the_best_first(client: Client, played: Tournament) -> None:
    Agent.objects.create(name="a random one", game="chess", policy="random")
    Agent.objects.create(name="Random walker", game="chess", policy="random")
    named = dict(Agent.objects.values_list("name", "pk"))
    order = ("random", "Random walker", "a random one")
    assert _hits(client, "random")["Agents"] == [f"/agents/{named[name]}/" for name in order]


def test_boards_tournaments_and_campaigns_are_found(client: Client, played: Tournament) -> None:
    Campaign.objects.create(tournament=played, question="best", max_matches=84)
    Leaderboard.objects.update(title="Four in a row")
    assert _hits(client, "in a ro")["Leaderboards"] == ["/leaderboards/connect-four/"]
    hits = _hits(client, played.name)["Tournaments and campaigns"]
    assert hits == [f"/tournaments/{played.pk}/"]
    Leaderboard.objects.update(is_listed=False)
    assert "Leaderboards" in _hits(client, "in a ro")
    Leaderboard.objects.update(is_rated=False)
    assert "Leaderboards" not in _hits(client, "in a ro")


def test_a_number_finds_the_match_of_that_id_and_number(client: Client, played: Tournament) -> None:
    other = factories.planned(30, board="other")
    match = Match.objects.get(leaderboard=other.leaderboard, sequence=30)
    same = Match.objects.get(leaderboard=played.leaderboard, sequence=30)
    hits = _hits(client, "#30")["Matches"]
    assert set(hits) >= {f"/matches/{match.pk}/", f"/matches/{same.pk}/"}
    assert f"/matches/{match.pk}/" in _hits(client, str(match.pk))["Matches"]
    assert (
        f"/agents/{other.agents.earliest('pk').pk}/"
        in _hits(client, str(other.agents.earliest("pk").pk))["Agents"]
    )


def test_a_hash_is_found_by_its_beginning(client: Client, played: Tournament) -> None:
    hashes = ["abcdef" + "0" * 58, "abcdef" + "f" * 58, "abcdee" + "f" * 58]
    for sha256 in hashes:
        _store(sha256)
    agent = Agent.objects.create(
        name="net", game="connect_four", policy="network", checkpoint_id=hashes[0]
    )
    assert _hits(client, "ABCDEF")["Checkpoints"] == [
        f"/agents/{agent.pk}/",
        "/agents/?run=selfplay",
    ]
    assert len(_hits(client, hashes[2])["Checkpoints"]) == 1
    assert "Checkpoints" not in _hits(client, "abcde")


def test_runs_and_nodes_are_found(client: Client, played: Tournament) -> None:
    _store("1" * 64, run="distilled 2")
    _store("2" * 64, run="distilled 2", step=5)
    assert _hits(client, "still")["Runs"] == ["/agents/?run=distilled+2&game=connect_four"]
    assert len(_hits(client, factories.NODE)["Nodes"]) == 1


def test_more_than_fit_lead_to_their_list(
    client: Client, played: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "HITS_A_GROUP", 2)
    page = client.get("/search/?q=a").content.decode()
    assert '<a href="/agents/?q=a">All agents of such a name</a>' in page


@pytest.mark.parametrize(
    "text", ["%00", "'\"--", "%25_", "9" * 30, "\\", "²", "-1", "1e5", "a" * 500]
)
def test_strange_texts_find_nothing_and_break_nothing(client: Client, text: str) -> None:
    assert _hits(client, text) == {}


def test_no_query_reads_all_matches(client: Client, played: Tournament) -> None:
    _store("abcdef" + "0" * 58)
    counts = set()
    for text in ("30", "abcdef00", "123456"):
        with CaptureQueriesContext(connection) as queries:
            client.get("/search/", {"q": text})
        counts.add(len(queries))
        if connection.vendor != "sqlite":
            continue
        for query in queries:
            with connection.cursor() as cursor:
                plan = cursor.execute("EXPLAIN QUERY PLAN " + query["sql"]).fetchall()
            steps = [str(row[-1]) for row in plan]
            for table in ("matches_match", "matches_checkpoint"):
                sole = [step for step in steps if step.startswith(f"SCAN {table}")]
                assert not sole or " LIKE " in query["sql"], query["sql"]
                assert table != "matches_match" or not sole, query["sql"]
    assert max(counts) <= 10


def test_queries_do_not_grow_with_hits(client: Client, played: Tournament) -> None:
    counts = []
    for n_agents in (1, 30):
        Agent.objects.bulk_create(
            Agent(name=f"found {n_agents} {place}", game="chess", policy="random")
            for place in range(n_agents)
        )
        with CaptureQueriesContext(connection) as queries:
            assert _hits(client, "found")["Agents"]
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 8
