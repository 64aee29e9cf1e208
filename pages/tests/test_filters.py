"""The rows that an address asks for, and their order."""

import pytest
from django.test import Client
from redis import Redis

from matches.ledger.tournaments import schedule_tournament
from matches.models import Agent, Leaderboard, Rating, RatingSnapshot
from matches.plans import TournamentPlan
from matches.ratings import snapshots, standings
from matches.tests import boards
from matches.tests.factories import NOW, scheduled
from pages import filters
from pages.filters import View
from pages.tests.test_strength_plots import trained

pytestmark = pytest.mark.django_db
ADDRESS = "/leaderboards/connect-four/"


@pytest.fixture(scope="module")
def arranged(rows_of_module: None) -> int:
    """Return the key of a board that was played on, once for all tests."""
    return boards.played_board().leaderboard_id


@pytest.fixture
def board(arranged: int, broker: Redis) -> Leaderboard:
    """Return a board that was played on."""
    return Leaderboard.objects.get(pk=arranged)


def _names(board: Leaderboard, view: View) -> list[str]:
    return [row["name"] for row in filters.find_rows(board, view, start=0)[0]]


def test_a_row_found_is_the_row_of_the_whole_board(board: Leaderboard) -> None:
    whole = {row["name"]: row for row in standings.load_rows(board.pk)}
    rows, n = filters.find_rows(board, View(q="MCTS"), start=0)
    assert n == 2
    assert rows == [whole[row["name"]] for row in rows]
    assert {row["name"] for row in rows} == {"mcts:20", "mcts:100"}


def test_agents_are_found_by_kind_run_and_tournament(board: Leaderboard) -> None:
    trained(board, (0, 64), run="selfplay")
    few = Agent.objects.filter(name__in=("random", "greedy"))
    other = schedule_tournament(
        TournamentPlan(name="few", n_matches=2), leaderboard=board, agents=list(few)
    )
    assert _names(board, View(kind="mcts", sort="name")) == ["mcts:100", "mcts:20"]
    assert _names(board, View(run="selfplay", sort="name")) == ["selfplay@0", "selfplay@64"]
    assert set(_names(board, View(tournament=str(other.pk)))) == {"random", "greedy"}
    assert _names(board, View(tournament=str(other.pk), kind="mcts")) == []


def test_a_tournament_of_another_board_has_no_agents_here(board: Leaderboard) -> None:
    elsewhere = scheduled(agents=("random", "greedy"), game="connect_four", board="other")
    assert _names(board, View(tournament=str(elsewhere.pk))) == []


def test_filters_and_sort_in_force_are_said_with_a_way_to_drop_each(
    client: Client, board: Leaderboard
) -> None:
    def read_chips(query: str) -> str:
        page = " ".join(client.get(ADDRESS + query).content.decode().split())
        return page.split('aria-label="Filters and sort in force">')[1].split("</ul>")[0]

    chips = read_chips("?q=mcts&kind=mcts&sort=-forfeits")
    assert '<span class="quiet">Name has</span> mcts <a href="?' not in chips, "a whole address"
    assert f'href="{ADDRESS}?kind=mcts&amp;sort=-forfeits" aria-label="Without name has' in chips
    assert '<span class="quiet">Kind</span> Monte-Carlo tree search' in chips
    assert '<span class="quiet">Sorted by</span> forfeits, lowest first' in chips
    assert f'href="{ADDRESS}?q=mcts&amp;kind=mcts" aria-label="Without sorted by' in chips
    assert "name, A to Z" in read_chips("?sort=name")
    assert "name, Z to A" in read_chips("?sort=-name")
    assert "Name has" in read_chips("?q=zzz"), "where nothing is found, too"


@pytest.mark.parametrize("sort", filters.SORTS)
def test_every_order_and_its_reverse_hold_all_agents(board: Leaderboard, sort: str) -> None:
    there, back = _names(board, View(sort=sort)), _names(board, View(sort=f"-{sort}"))
    assert set(there) == set(back) == set(boards.SEARCHERS)
    assert there != back or sort in ("trend", "matches", "score")  # equal for all


def test_equal_values_stand_by_rank(board: Leaderboard) -> None:
    Rating.objects.update(n_forfeits=0)
    by_rank = [row["name"] for row in standings.load_rows(board.pk)]
    assert _names(board, View(sort="forfeits")) == by_rank


def test_who_has_no_trend_comes_last(board: Leaderboard) -> None:
    snapshots.take_due(now=NOW)
    trained(board, (0,))
    Rating.objects.filter(agent__name="greedy").update(mu=60)
    assert RatingSnapshot.objects.exists()
    names = _names(board, View(sort="trend"))
    assert (names[0], names[-1]) == ("greedy", "selfplay@0")
    whole = standings.load_rows(board.pk)
    by_name = sorted(whole, key=lambda row: row["name"])
    for sort, rows in (("rating", whole), ("name", by_name)):
        assert filters.find_rows(board, View(sort=sort), start=0)[0] == rows, "with trends"


def test_a_view_is_its_address(board: Leaderboard, client: Client) -> None:
    view = View(q="a b", kind="mcts", sort="-name")
    assert view.make_query() == "?q=a+b&kind=mcts&sort=-name"
    assert view.make_query(3, sort="rating") == "?q=a+b&kind=mcts&page=3"
    page = client.get(ADDRESS + view.make_query()).content.decode()
    assert 'value="a b"' in page
    assert '<option value="mcts" selected>' in page
    assert "No agent of this board is like that" in page


def test_headings_lead_to_their_order_and_say_which_is_in_force(
    board: Leaderboard, client: Client
) -> None:
    page = client.get(f"{ADDRESS}?sort=matches").content.decode()
    assert 'aria-sort="descending"' in page
    assert f'href="{ADDRESS}?sort=-matches"' in page
    assert f'href="{ADDRESS}?sort=name"' in page


def test_a_longer_result_has_pages(
    board: Leaderboard, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filters, "TOP", 3)
    monkeypatch.setattr("pages.boardpages.TOP", 3)
    first = client.get(f"{ADDRESS}?sort=name").content.decode()
    assert f'href="{ADDRESS}?sort=name&amp;page=2"' in first
    last = client.get(f"{ADDRESS}?sort=name&page=3").content.decode()
    assert last.count("<tr ") - first.count("<tr ") == 1 - 3
    assert client.get(f"{ADDRESS}?sort=name&page=4").status_code == 404


@pytest.mark.parametrize(
    "query", ["sort=speed", "sort=--name", "tournament=x", "tournament=1e3", "tournament=-1"]
)
def test_what_cannot_be_asked_is_not_found(board: Leaderboard, client: Client, query: str) -> None:
    assert client.get(f"{ADDRESS}?{query}").status_code == 404


@pytest.mark.parametrize(
    "query", ["q=%00", "q=%25_'\"<", "kind=none", "run=%F0%9F%98%80", "tournament=999999999999"]
)
def test_strange_words_find_nothing(board: Leaderboard, client: Client, query: str) -> None:
    page = client.get(f"{ADDRESS}?{query}")
    assert page.status_code == 200
    assert "No agent of this board is like that" in page.content.decode()
