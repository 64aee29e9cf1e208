"""The list of matches: what the address asks for, in words, in a form and in pages."""

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis import Redis

from matches.models import Agent, Match, Tournament
from matches.tests import boards, factories
from matches.tests.factories import NOW
from pages.tests.reading import get_page

pytestmark = pytest.mark.django_db


@pytest.fixture
def played(broker: Redis) -> Tournament:
    """Return a tournament of 84 matches with wins, draws and forfeits."""
    tournament = boards.planned_board(n_matches=84)
    boards.play_some(tournament, 84, boards.by_strength(forfeits=0.1))
    return tournament


def _listed(page: str) -> list[int]:
    return [int(pk) for pk in re.findall(r'rowheader" scope="row"><a href="/matches/(\d+)/"', page)]


def test_an_empty_site_says_what_to_type(client: Client) -> None:
    page = get_page(client, "/matches/")
    assert "./run evaluate" in page
    assert "No match was planned yet" in page


def test_all_are_listed_in_pages_that_keep_the_filter(client: Client, played: Tournament) -> None:
    first = get_page(client, f"/matches/?tournament={played.pk}&state=done")
    (address,) = re.findall(r'rel="next" href="([^"]+)"', first)
    assert "state=done" in address
    rest = get_page(client, unescape(address))
    assert 'rel="next"' not in rest
    newest = Match.objects.order_by("-pk").values_list("pk", flat=True)
    assert _listed(first) + _listed(rest) == list(newest)


def test_agents_are_named_by_name_or_number(client: Client, played: Tournament) -> None:
    one, other = Agent.objects.order_by("pk")[:2]
    by_number = get_page(client, f"/matches/?agent={one.pk}&agent={other.pk}")
    by_name = get_page(client, f"/matches/?agent={one.name}&agent={other.name}")
    assert _listed(by_number) == _listed(by_name) != []
    assert f'value="{one.name}"' in by_number
    assert f'href="/compare/{one.pk}/{other.pk}/"' in by_number


def test_a_filter_in_force_has_an_address_without_it(client: Client, played: Tournament) -> None:
    one, other = Agent.objects.order_by("pk")[:2]
    page = get_page(client, f"/matches/?agent={one.pk}&agent={other.pk}&result=won&before=9000")
    without = [
        unescape(link) for link in re.findall(r'<a href="([^"]+)" aria-label="Without', page)
    ]
    assert without == [
        f"/matches/?result=won&agent={other.pk}",
        f"/matches/?result=won&agent={one.pk}",
        f"/matches/?agent={one.pk}&agent={other.pk}",
    ]
    for link in without[:2]:
        get_page(client, link)


@pytest.mark.parametrize("result", ["won", "lost", "forfeit"])
def test_what_needs_an_agent_goes_with_the_last_one(
    client: Client, played: Tournament, result: str
) -> None:
    one, other = Agent.objects.order_by("pk")[:2]
    address = f"/matches/?agent={one.pk}&agent={other.pk}&counted=yes&result={result}"
    for _ in range(2):
        # The first chip is that of an agent.
        address = unescape(
            re.findall(r'<a href="([^"]+)" aria-label="Without', get_page(client, address))[0]
        )
    assert ("agent=" in address, "counted=yes" in address) == (False, True)
    assert ("result=" in address) == (result == "forfeit")
    assert _listed(get_page(client, address))


def test_days_nodes_and_seats_stand_in_the_opened_part(client: Client, played: Tournament) -> None:
    day = f"{NOW:%Y-%m-%d}"
    page = get_page(client, f"/matches/?from={day}&to={day}&node={factories.NODE}&seat=0")
    assert len(_listed(page)) == 50
    assert "<details open>" in page
    assert "<details >" in get_page(client, "/matches/?state=done")


def test_nothing_found_says_so(client: Client, played: Tournament) -> None:
    assert "No match is like that" in get_page(client, "/matches/?state=void")
    assert "No match is like that" in get_page(client, "/matches/?game=chess")


def test_what_is_rare_says_how_many_were_looked_at(
    client: Client, played: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matches.store.match_search.N_LOOKED", 30)
    page = get_page(client, "/matches/?reason=crash")
    assert "None of the 30 matches that were looked at is like that" in page
    assert "Look at earlier matches" in page


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("state=odd", "state must be one of open, pending, queued"),
        ("game=none", "game must be one of"),
        ("result=win", "result must be one of won"),
        ("result=won", "name one, too"),
        ("ending=x", "ending must be one of"),
        ("agent=nobody", "there is no agent called"),
        ("agent=99999", "there is no agent called '99999'"),
        ("agent=1&agent=2&agent=3", "by two agents at most"),
        ("agent=1&agent=1", "named twice"),
        ("agent=9999999999999999999", "there is no agent called"),
        ("tournament=x", "tournament must be a number"),
        ("tournament=99999", "there is no tournament 99999"),
        ("leaderboard=none", "there is no leaderboard"),
        ("seat=-1", "seat must be a number"),
        ("before=x", "before must be a number"),
        ("from=yesterday", "from must be a day such as"),
        ("from=0001-01-01", "a day of the years"),
        ("to=9999-12-31", "a day of the years"),
    ],
)
def test_what_cannot_be_asked_is_said_in_the_form(
    client: Client, played: Tournament, query: str, words: str
) -> None:
    one = Agent.objects.earliest("pk").pk
    page = get_page(client, "/matches/?" + query.replace("agent=1", f"agent={one}"), status=400)
    assert words in unescape(page)
    assert 'name="agent"' in page


def test_a_name_in_two_games_asks_for_the_number(client: Client, played: Tournament) -> None:
    Agent.objects.create(name="greedy", game="chess", policy="greedy")
    assert "give the number" in get_page(client, "/matches/?agent=greedy", status=400)
    assert _listed(get_page(client, "/matches/?agent=greedy&game=connect_four"))


@pytest.mark.parametrize("query", ["node=%00", "reason=%27%22%3C", "node=%F0%9F%98%80"])
def test_strange_words_find_nothing(client: Client, played: Tournament, query: str) -> None:
    assert _listed(get_page(client, f"/matches/?{query}")) == []


def test_queries_do_not_grow_with_rows(client: Client, broker: Redis) -> None:
    counts: dict[str, set[int]] = {}
    for name, n_matches in (("few", 84), ("many", 840)):
        tournament = boards.played_board(name, n_matches=n_matches)
        one, other = tournament.agents.order_by("pk")[:2]
        for query in (
            "",
            f"tournament={tournament.pk}",
            f"agent={one.pk}",
            f"agent={one.pk}&agent={other.pk}",
            "result=forfeit",
            f"from={NOW:%Y-%m-%d}",
            f"leaderboard={name}&result=drawn",
            "game=connect_four&state=done",
        ):
            key = re.sub(r"=[^&]*", "", query)
            with CaptureQueriesContext(
                connection,
            ) as queries:
                assert _listed(get_page(client, f"/matches/?{query}"))
            counts.setdefault(key, set()).add(len(queries))
    assert all(len(sizes) == 1 and max(sizes) <= 10 for sizes in counts.values()), counts


def test_the_form_names_every_reason(client: Client) -> None:
    fields: Any = client.get("/matches/").context["more_fields"]
    (reasons,) = (field for field in fields if field.name == "reason")
    assert {"crash", "timeout", "operator"} <= {name for name, _ in reasons.options}


def test_one_match_that_was_looked_at_is_one(
    client: Client, played: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matches.store.match_search.N_LOOKED", 1)
    page = get_page(client, "/matches/?reason=crash")
    assert "None of the 1 match that was looked at is like that" in page
