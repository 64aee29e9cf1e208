"""Several agents side by side."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis import Redis

from matches.models import Agent, Leaderboard, Rating
from matches.ratings.rank_ranges import build_ladder, find_rank_ranges
from matches.tests import boards, factories
from pages.plots.strength import draw_runs
from pages.tests.reading import read_page
from pages.tests.test_strength_plots import trained

pytestmark = pytest.mark.django_db


@pytest.fixture
def board(broker: Redis) -> Leaderboard:
    """Return a board that was played on."""
    return boards.played_board().leaderboard


def _ids(n: int) -> list[int]:
    return list(Agent.objects.order_by("pk").values_list("pk", flat=True)[:n])


def test_without_agents_it_says_what_to_do(client: Client) -> None:
    page = read_page(client, "/compare/")
    assert "Name two to 12 agents of one game" in page
    assert 'name="agents"' in page


def test_without_agents_it_begins_with_the_first_of_each_board(
    client: Client, board: Leaderboard
) -> None:
    factories.planned(6, board="not-played")
    (link,) = re.findall(r'href="(/compare/\?agents=[^"]+)"', read_page(client, "/compare/"))
    first = Rating.objects.filter(leaderboard=board).order_by("-mu").values_list("agent", flat=True)
    assert link == f"/compare/?agents={','.join(map(str, first[:4]))}&leaderboard={board.name}"
    assert "4 agents side by side" in read_page(client, link)


def test_agents_are_named_with_commas_repeated_or_by_name(
    client: Client, board: Leaderboard
) -> None:
    one, other = _ids(2)
    # Head and foot of a page have its own address, to which the login and the files lead.
    pages = [
        read_page(client, f"/compare/?{query}")
        .partition('<main id="content"')[2]
        .partition("</main>")[0]
        for query in (
            f"agents={one},{other}",
            f"agents={one}&agents={other}",
            f"agents={one}&agents={one}&agents={other}",
            "agents=random,+greedy",
        )
    ]
    # The links to the files of its tables, too.
    pages = [re.sub(r'<p class="takes".*?</p>', "", page, flags=re.DOTALL) for page in pages]
    assert len(set(pages)) == 1
    assert "2 agents side by side" in pages[0]


def test_every_cell_leads_to_its_pair(client: Client, board: Leaderboard) -> None:
    ids = _ids(4)
    page = read_page(client, f"/compare/?agents={','.join(map(str, ids))}")
    pairs = set(re.findall(r'href="/compare/(\d+)/(\d+)/\?leaderboard=connect-four"', page))
    assert pairs == {(str(a), str(b)) for a in ids for b in ids if a != b}


def test_rows_stand_by_rank_with_their_range(client: Client, board: Leaderboard) -> None:
    ids = _ids(7)
    page = read_page(client, f"/compare/?agents={','.join(map(str, ids))}")
    row_ids = re.findall(r'scope="row"><a href="/agents/(\d+)/"', page)[:7]
    ranked = Rating.objects.order_by("-mu").values_list("agent_id", flat=True)
    assert list(map(int, row_ids)) == list(ranked)
    ranges = find_rank_ranges(board.pk, ids)
    for pk in ids:
        assert f'data-label="rank" class="number">{ranges[pk]}<' in page
    assert page.count('data-label="rank') == len(ids)


def test_a_rank_range_holds_whom_its_interval_touches(board: Leaderboard) -> None:
    ranges = find_rank_ranges(board.pk, _ids(7))
    rows = list(Rating.objects.order_by("-mu"))
    for rank, rating in enumerate(rows, 1):
        ends = {one.pk: (one.mu - 1.96 * one.sd, one.mu + 1.96 * one.sd) for one in rows}
        low, high = ends[rating.pk]
        above = sum(other_low > high for other_low, _ in ends.values())
        below = sum(other_high < low for _, other_high in ends.values())
        assert ranges[rating.agent_id] == (rank, 1 + above, len(rows) - below)
        assert 1 + above <= rank <= len(rows) - below


def test_a_rank_is_in_its_range_also_before_the_board_is_rated_again() -> None:
    ladder = build_ladder([(20.0, 1.0), (25.0, 1.0)])
    assert str(ladder.place(1, 60.0, 0.5)) == "1"
    assert str(ladder.place(2, -60.0, 0.5)) == "2"


def test_a_range_of_one_rank_is_a_number(board: Leaderboard) -> None:
    Rating.objects.update(sd=0.01)
    ranges = find_rank_ranges(board.pk, _ids(7))
    assert sorted(map(str, ranges.values())) == list("1234567")
    assert find_rank_ranges(10**6, [1]) == {}


def test_an_agent_that_is_not_rated_there_stands_last(client: Client, board: Leaderboard) -> None:
    new = Agent.objects.create(name="newcomer", game="connect_four", policy="random")
    page = read_page(client, f"/compare/?agents={new.pk},{_ids(1)[0]},{_ids(2)[1]}")
    assert "not rated on this leaderboard" in page


def test_agents_of_no_board_have_their_games_only(client: Client, broker: Redis) -> None:
    pair = [
        Agent.objects.create(name=name, game="connect_four", policy="random") for name in ("a", "b")
    ]
    page = read_page(client, f"/compare/?agents={pair[0].pk},{pair[1].pk}")
    assert "No leaderboard rates two of them" in page
    assert f'href="/compare/{pair[0].pk}/{pair[1].pk}/"' in page


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("agents=nobody", "there is no agent called 'nobody'"),
        ("agents={chess},{one}", "only agents of one game"),
        ("agents=1,2,3,4,5,6,7,8,9,10,11,12,13", "at most 12 agents"),
        ("agents={one},{other}&leaderboard=none", "no two of these agents are on"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_sentence(
    client: Client, board: Leaderboard, query: str, words: str
) -> None:
    chess = Agent.objects.create(name="stranger", game="chess", policy="random")
    one, other = _ids(2)
    address = "/compare/?" + query.format(one=one, other=other, chess=chess.pk)
    assert words in read_page(client, address, status=400)


def test_runs_share_one_diagram(client: Client, board: Leaderboard) -> None:
    for run, steps in (("alpha", (0, 64, 128)), ("beta", (0, 32, 96)), ("gamma", (5,))):
        trained(board, steps, run=run)
    runs = ("alpha", "beta", "gamma")
    plot = draw_runs(board.pk, runs)
    assert plot is not None
    assert {one.run: len(one.points) for one in plot.series} == {"alpha": 3, "beta": 3, "gamma": 1}
    assert {one.number for one in plot.series} == {1, 2, 3}
    at = {(one.run, point.step): point.x for one in plot.series for point in one.points}
    assert at["alpha", 0] == at["beta", 0] < at["gamma", 5] < at["beta", 32]
    chosen = [
        Agent.objects.get(name=f"{run}@{step}").pk for run, step in (("alpha", 64), ("beta", 96))
    ]
    page = read_page(client, f"/compare/?agents={chosen[0]},{chosen[1]}")
    assert "6 checkpoints of 2 runs" in page
    assert "series-2" in page


def test_a_run_of_one_checkpoint_is_no_diagram(board: Leaderboard) -> None:
    trained(board, (0,), run="short")
    assert draw_runs(board.pk, ["short"]) is None
    assert draw_runs(board.pk, ["none"]) is None


def test_queries_do_not_grow_with_agents_or_matches(client: Client, board: Leaderboard) -> None:
    counts = set()
    for n in (2, 7):
        with CaptureQueriesContext(connection) as queries:
            read_page(client, f"/compare/?agents={','.join(map(str, _ids(n)))}")
        counts.add(len(queries))
    factories.planned(84, agents=boards.SEARCHERS, game="connect_four", board="another")
    assert len(counts) == 1
    assert max(counts) <= 10
