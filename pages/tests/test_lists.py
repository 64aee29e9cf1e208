"""The lists of agents, tournaments and campaigns: filters in the address, pages by key, counts."""

import re
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis import Redis

from matches.models import Agent, Campaign, Checkpoint, Entrant, Leaderboard, Rating, Tournament
from matches.tests import boards, factories
from pages.lists import showing
from pages.tests.reading import read_page

pytestmark = pytest.mark.django_db
LISTS = ("agents", "tournaments", "campaigns")


def _names(page: str) -> list[str]:
    return re.findall(r'rowheader" scope="row"><a href="[^"]+">([^<]+)</a>', page)


def _called(page: str) -> list[str]:
    return re.findall(r'<span class="called">([^<]+)</span>', page)


def _campaign(tournament: Tournament, **fields: object) -> Campaign:
    values = {"question": "best", "max_matches": 100, "chances": [0.7, 0.3], **fields}
    return Campaign.objects.create(tournament=tournament, **values)


def _make_tournaments(n: int, *, board: str = "lists") -> list[Tournament]:
    one = factories.planned(2, board=board)
    agents = list(one.agents.order_by("entrant__position"))
    rows = [
        Tournament(leaderboard=one.leaderboard, name=f"cup {place}", n_matches=4)
        for place in range(n)
    ]
    made = Tournament.objects.bulk_create(rows)
    Entrant.objects.bulk_create(
        Entrant(tournament=row, agent=agent, position=place)
        for row in made
        for place, agent in enumerate(agents)
    )
    return made


@pytest.mark.parametrize("name", LISTS)
def test_an_empty_list_says_what_to_do(client: Client, name: str) -> None:
    page = read_page(client, f"/{name}/")
    assert "./run" in page
    assert _names(page) == []


@pytest.mark.parametrize("name", LISTS)
def test_every_list_and_the_search_stand_in_the_navigation(client: Client, name: str) -> None:
    page = read_page(client, f"/{name}/")
    for other in ("leaderboards", *LISTS, "matches", "compare", "system"):
        assert f'href="/{other}/"' in page
    assert 'action="/search/"' in page


def test_tournaments_go_in_pages_that_keep_the_filter(
    client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(showing, "ROWS_A_PAGE", 3)
    _make_tournaments(5)
    first = read_page(client, "/tournaments/?q=cup")
    (following,) = re.findall(r'rel="next" href="([^"]+)"', first)
    assert "q=cup" in following
    rest = read_page(client, following)
    assert _names(first) + _names(rest) == ["cup 4", "cup 3", "cup 2", "cup 1", "cup 0"]
    assert 'rel="next"' not in rest


def test_tournaments_are_filtered(client: Client, broker: Redis) -> None:
    one, other = _make_tournaments(2)
    Tournament.objects.filter(pk=one.pk).update(state=Tournament.State.DONE, pairing="swiss")
    # Planned while it plays: it runs.
    Tournament.objects.filter(pk=other.pk).update(state=Tournament.State.PLANNING, n_planned=2)
    Tournament.objects.filter(pk=one.pk).update(created_at=datetime(2020, 5, 1, 23, 59, tzinfo=UTC))
    agent = one.agents.first()
    assert agent is not None
    for query, names in (
        ("state=done", ["cup 0"]),
        ("q=cup&state=running", ["cup 1"]),
        ("q=cup&state=planning", []),
        ("q=CUP&state=open", ["cup 1"]),
        ("pairing=swiss", ["cup 0"]),
        ("from=2020-05-01&to=2020-05-01", ["cup 0"]),
        ("to=2020-04-30", []),
        (f"q=cup&agent={agent.pk}", ["cup 1", "cup 0"]),
        (f"q=cup&agent={agent.name}&game={agent.game}", ["cup 1", "cup 0"]),
        ("q=cup&leaderboard=lists", ["cup 1", "cup 0"]),
        ("q=cup&game=chess", []),
    ):
        assert _names(read_page(client, f"/tournaments/?{query}")) == names, query


def test_counts_of_a_tournament_lead_to_what_they_count(client: Client, broker: Redis) -> None:
    tournament = boards.played_board(n_matches=84)
    page = read_page(client, "/tournaments/")
    counted = f"{tournament.n_closed} of {tournament.n_matches}"
    assert f'<a href="/matches/?tournament={tournament.pk}">{counted}</a>' in page
    (entered,) = re.findall(r'<a href="(/agents/\?tournament=\d+)">7</a>', page)
    assert len(_names(read_page(client, entered))) == 7
    (forfeits,) = re.findall(r'<a href="(/matches/[^"]+result=forfeit)">', page)
    assert read_page(client, forfeits).count('scope="row"') == tournament.n_forfeits


def test_counts_of_a_board_lead_to_what_they_count(client: Client, broker: Redis) -> None:
    tournament = boards.played_board(n_matches=84)
    name = tournament.leaderboard.name
    page = read_page(client, f"/leaderboards/{name}/")
    ((agents, n_agents),) = re.findall(r'data-status="n_agents" href="([^"]+)">(\d+)<', page)
    assert len(_names(read_page(client, agents))) == int(n_agents) == 7
    ((matches, n_matches),) = re.findall(r'data-status="n_outcomes" href="([^"]+)">(\d+)<', page)
    assert int(n_matches) == 84
    assert f'href="/tournaments/?leaderboard={name}">All tournaments' in page
    assert len(client.get(f"{matches}&format=csv").getvalue().splitlines()) == 85
    assert _names(read_page(client, f"/tournaments/?leaderboard={name}")) == [tournament.name]
    page = read_page(client, f"/tournaments/{tournament.pk}/")
    assert f'<a href="/agents/?tournament={tournament.pk}">7</a>' in page


def test_counts_of_a_pair_lead_to_their_games(client: Client, broker: Redis) -> None:
    tournament = boards.played_board(n_matches=84)
    one, other = (Agent.objects.get(name=name) for name in ("mcts:100", "random"))
    page = read_page(client, f"/compare/{one.pk}/{other.pk}/")
    links = re.findall(r'<a href="(/matches/\?[^"]+result=\w+)">(\d+)</a>', page)
    assert [link.rpartition("=")[2] for link, _ in links] == ["won", "drawn", "lost"]
    for link, count in links:
        assert f"leaderboard={tournament.leaderboard.name}" in link
        assert read_page(client, link).count('rowheader" scope="row"') == int(count)


def test_agents_are_filtered(client: Client, broker: Redis) -> None:
    tournament = boards.played_board(n_matches=84)
    weights = Checkpoint.objects.create(
        sha256="ab" * 32, game="connect_four", run="self play", step=7, n_bytes=1,
        created_at=factories.NOW, source_name="x", architecture="none",
    )  # fmt: skip
    network = Agent.objects.create(
        name="net@7", game="connect_four", policy="network", checkpoint=weights
    )
    Agent.objects.filter(name="greedy").update(is_retired=True)
    Agent.objects.filter(name="random").update(quarantined_at=factories.NOW)
    for query, names in (
        ("q=ET%407", ["net@7"]),
        ("kind=network", ["net@7"]),
        ("run=self+play", ["net@7"]),
        ("state=retired", ["greedy"]),
        ("state=in+quarantine", ["random"]),
        ("q=mcts&state=playing", ["mcts:100", "mcts:20"]),
        ("game=chess", []),
        ("to=2001-01-01", []),
    ):
        assert _names(read_page(client, f"/agents/?{query}")) == names, query
    on_board = _names(read_page(client, f"/agents/?leaderboard={tournament.leaderboard.name}"))
    assert len(on_board) == 7
    assert network.name not in on_board


def test_on_a_phone_the_filter_is_folded_and_run_and_step_stay(
    client: Client, broker: Redis
) -> None:
    agent = Agent.objects.create(name="net", game="chess", policy="random")
    weights = Checkpoint.objects.create(
        sha256="a" * 64,
        game=agent.game,
        run="first",
        step=2_000,
        n_bytes=1,
        created_at=factories.NOW,
    )
    Agent.objects.filter(pk=agent.pk).update(checkpoint=weights)
    page = " ".join(client.get("/agents/").content.decode().split())
    assert '<details class="fold-on-phone"> <summary>Filter</summary> <form' in page
    assert (
        '<span class="detail trained">run <a href="/agents/?run=first">first</a>, step 2,000'
        in page
    )


def test_each_agent_says_what_it_does(client: Client, broker: Redis) -> None:
    factories.planned(6, board="runs")
    held, retired = (
        Agent.objects.create(name=name, game="chess", policy="random") for name in ("held", "old")
    )
    Agent.objects.filter(pk=held.pk).update(quarantined_at=factories.NOW)
    Agent.objects.filter(pk=retired.pk).update(is_retired=True)
    Agent.objects.create(name="free", game="chess", policy="random")
    page = read_page(client, "/agents/")
    rows = dict(zip(_names(page), page.split('rowheader" scope="row"')[1:], strict=True))
    for name, state in (
        *(("held", "in quarantine"), ("old", "retired")),
        *(("level:10", "playing"), ("free", "idle")),
    ):
        assert f'data-label="state">{state}<' in rows[name]


def test_an_agent_has_the_rating_of_the_board_of_most_of_its_matches(
    client: Client, broker: Redis
) -> None:
    for board, n_matches in (("small", 42), ("large", 84)):
        boards.played_board(board, n_matches=n_matches)
    rating = Rating.objects.get(agent__name="mcts:100", leaderboard__name="large")
    page = read_page(client, "/agents/?q=mcts:100")
    assert f"{rating.low:.2f} to {rating.high:.2f}" in page
    assert 'on <a href="/leaderboards/large/">' in page
    assert "/leaderboards/small/" not in page


def test_the_matches_of_an_agent_are_a_link(client: Client, broker: Redis) -> None:
    boards.played_board(n_matches=84)
    page = read_page(client, "/agents/?q=mcts:100")
    ((link, count),) = re.findall(r'<a href="(/matches/\?agent=[^"]+)">(\d+)</a>', page)
    assert read_page(client, link).count('rowheader" scope="row"') == int(count) > 0


def test_campaigns_say_what_was_asked_and_found(client: Client, broker: Redis) -> None:
    one, other, third = _make_tournaments(3)
    _campaign(one)
    _campaign(other, why="decided", statement="A is the best", probability=0.97,
              decided_at=factories.NOW)  # fmt: skip
    _campaign(third, question="rank_all", why="cancelled", statement="cancelled",
              decided_at=factories.NOW)  # fmt: skip
    page = read_page(client, "/campaigns/")
    assert _called(page) == ["cup 2", "cup 1", "cup 0"]
    assert _names(page)[1:] == ["Which agent is the best?"] * 2
    assert re.search(r"A is the best</td>.*?How sure: </span>97\s%", page, flags=re.DOTALL)
    for query, names in (
        ("state=open", ["cup 0"]),
        ("state=answered", ["cup 1"]),
        ("state=stopped", ["cup 2"]),
        ("state=budget", []),
        ("question=best", ["cup 1", "cup 0"]),
        (f"agent={one.agents.earliest('pk').pk}&q=cup+1", ["cup 1"]),
        ("leaderboard=lists&game=chess", []),
    ):
        assert _called(read_page(client, f"/campaigns/?{query}")) == names, query


def test_the_answer_of_a_campaign_stands_beside_its_tournament(
    client: Client, broker: Redis
) -> None:
    (one,) = _make_tournaments(1)
    Tournament.objects.filter(pk=one.pk).update(state="done", finished_at=factories.NOW)
    _campaign(one, why="decided", statement="A is the best", probability=0.97,
              decided_at=factories.NOW)  # fmt: skip
    page = " ".join(re.sub(r"<[^>]+>", " ", read_page(client, "/tournaments/")).split())
    assert re.search(r"A is the best with a probability of 97\s%", page)


def test_a_list_asks_first_who_won_and_how_sure_that_is(client: Client, broker: Redis) -> None:
    (one,) = _make_tournaments(1)
    _campaign(one)
    for path, first in (
        ("/tournaments/", ["Tournament", "Winner", "State", "Matches ended", "Agents", "Made"]),
        ("/campaigns/", ["Question", "Answer", "How sure", "State", "Matches ended", "Made"]),
    ):
        headings = re.findall(
            r'columnheader" scope="col"[^>]*>(?:<abbr[^>]*>)?([^<]+)',
            read_page(client, path),
        )
        assert headings == first


def test_a_campaign_that_is_over_says_why_it_has_no_answer(client: Client, broker: Redis) -> None:
    played, spent = _make_tournaments(2)
    Tournament.objects.filter(pk=played.pk).update(state="done", n_matches=420, n_done=420)
    _campaign(played, max_matches=420)
    Tournament.objects.filter(pk=spent.pk).update(state="done")
    _campaign(spent, max_matches=420, why="out_of_budget: matches", probability=0.7, n_judged=420,
              decided_at=factories.NOW, statement="A is the best")  # fmt: skip
    page = " ".join(re.sub(r"<[^>]+>", " ", read_page(client, "/campaigns/")).split())
    assert "Not decided yet" not in page
    assert "All that is played has ended (420 of at most 420 matches)" in page
    assert "If it does not decide the question, a larger budget or a larger margin could." in page
    assert "waits for its verdict" in page
    assert "Its budget of 420 matches was used up. A larger budget or a larger margin could" in page
    assert "ended by its budget" in page
    page = " ".join(re.sub(r"<[^>]+>", " ", read_page(client, "/tournaments/")).split())
    assert page.count("no verdict yet") == 1
    Campaign.objects.update(why="bad_scores", statement="score 7 is out", probability=None,
                            decided_at=factories.NOW)  # fmt: skip
    page = " ".join(re.sub(r"<[^>]+>", " ", read_page(client, "/tournaments/")).split())
    assert "score 7 is out" not in page
    assert page.count("not decided") == 2


def test_a_campaign_named_by_its_question_alone_shows_no_id(client: Client, broker: Redis) -> None:
    (one,) = _make_tournaments(1)
    Tournament.objects.filter(pk=one.pk).update(name="best")
    _campaign(one)
    page = read_page(client, "/campaigns/")
    assert _called(page) == []
    assert len(_names(page)) == 1


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("state=odd", "state must be one of"),
        ("game=none", "game must be one of"),
        ("leaderboard=none", "there is no leaderboard 'none'"),
        ("before=x", "before must be a number, got 'x'"),
        ("from=yesterday", "from must be a day such as"),
    ],
)
def test_what_cannot_be_asked_is_said_above_the_form(
    client: Client, name: str, query: str, words: str
) -> None:
    page = read_page(client, f"/{name}/?{query}", status=400)
    assert words in page
    assert 'name="q"' in page


def test_a_filter_in_force_has_an_address_without_it(client: Client, broker: Redis) -> None:
    _make_tournaments(1)
    page = read_page(client, "/tournaments/?q=cup&state=open&before=900")
    without = re.findall(r'<a href="([^"]+)" aria-label="Without', page)
    assert without == ["/tournaments/?state=open", "/tournaments/?q=cup"]


def test_queries_do_not_grow_with_rows(
    client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _make_tournaments(12)
    for place, tournament in enumerate(made):
        _campaign(tournament, chances=[0.2, 0.8] if place % 2 else [])
    Leaderboard.objects.update(title="One board")
    counts: dict[str, set[int]] = {name: set() for name in LISTS}
    for size in (2, 12):
        monkeypatch.setattr(showing, "ROWS_A_PAGE", size)
        for name, query in product_of_queries():
            with CaptureQueriesContext(connection) as queries:
                read_page(client, f"/{name}/?{query}")
            counts[name].add(len(queries))
    assert all(len(sizes) == 1 and max(sizes) <= 3 for sizes in counts.values()), counts


def product_of_queries() -> list[tuple[str, str]]:
    return [(name, "from=2001-01-01") for name in LISTS]


def test_no_tournament_has_the_number_0(client: Client) -> None:
    for name in ("agents", "matches"):
        assert "there is no tournament 0" in read_page(client, f"/{name}/?tournament=0", status=400)


def test_an_agent_called_by_a_number_is_found_by_it(client: Client, broker: Redis) -> None:
    agent = Agent.objects.create(name="2048000", game="chess", policy="random")
    assert _names(read_page(client, "/tournaments/?agent=2048000")) == []
    assert "2048000" in read_page(client, f"/compare/?agents=2048000,{agent.pk}")
