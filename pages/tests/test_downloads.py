"""Tables as CSV and Parquet and plots as SVG: of every list in full, of every page as it stands."""

import csv
import re
from collections.abc import AsyncIterator
from io import BytesIO, StringIO
from typing import Any, cast
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from django.db import connection
from django.test import AsyncRequestFactory, Client
from django.test.utils import CaptureQueriesContext
from redis import Redis

from matches.models import Agent, Campaign, Entrant, Tournament
from matches.ratings import seasons
from matches.store import table_files
from matches.store.auditing import Actor
from matches.tests import boards
from matches.tests.factories import NOW
from pages.downloads import files
from pages.downloads.files import Column, Table
from pages.downloads.markup import read_tables, type_table
from pages.downloads.plots import read_plots
from tests.gallery import keep_history

pytestmark = pytest.mark.django_db
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def played(broker: Redis) -> Tournament:
    """Return a tournament of 84 matches."""
    return boards.played_board(n_matches=84)


def _csv(client: Client, path: str) -> list[dict[str, str]]:
    response = client.get(path)
    assert response.status_code == 200, path
    assert response["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(StringIO(response.getvalue().decode())))


def _parquet(client: Client, path: str) -> Any:
    response = client.get(path)
    assert response.status_code == 200, path
    return pq.read_table(BytesIO(response.getvalue()))


@pytest.mark.parametrize("name", ["agents", "tournaments", "matches", "leaderboards", "campaigns"])
def test_a_list_is_one_table_in_both_forms(client: Client, played: Tournament, name: str) -> None:
    page = client.get(f"/{name}/").content.decode()
    assert "100,000 rows at most" in page
    (link,) = re.findall(r'<a href="(\?format=csv)">', page)
    lines, table = _csv(client, f"/{name}/{link}"), _parquet(client, f"/{name}/?format=parquet")
    assert table.num_rows == len(lines)
    if lines:
        assert list(lines[0]) == table.column_names


def test_a_file_has_all_pages_and_keeps_the_filter(
    client: Client, played: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.lists.showing.walk_by_key.__kwdefaults__", {"at_once": 2})
    monkeypatch.setattr("pages.match_list.MATCHES_A_LOOK", 10)
    assert len(_csv(client, "/matches/?format=csv&before=1")) == 84
    names = [line["name"] for line in _csv(client, "/agents/?q=mcts&format=csv")]
    assert names == ["mcts:100", "mcts:20"]
    assert len(_csv(client, "/agents/?format=csv")) == 7
    agent = Agent.objects.get(name="random")
    lines = _csv(client, f"/matches/?agent={agent.pk}&format=csv")
    assert lines
    assert all(str(agent.pk) in line["agents"].split(",") for line in lines)


def test_more_campaigns_than_a_query_takes_are_one_file(client: Client, played: Tournament) -> None:
    board, n = played.leaderboard, 1_100
    Tournament.objects.bulk_create(
        Tournament(leaderboard=board, name=f"many {place}", n_matches=2) for place in range(n)
    )
    Campaign.objects.bulk_create(
        Campaign(tournament=tournament, question="best", max_matches=2, chances=[0.4, 0.6])
        for tournament in Tournament.objects.filter(name__startswith="many")
    )
    Entrant.objects.bulk_create(
        Entrant(tournament=tournament, agent=agent, position=place)
        for tournament in Tournament.objects.filter(name__startswith="many")
        for place, agent in enumerate(played.agents.order_by("pk")[:2])
    )
    lines = _csv(client, "/campaigns/?format=csv")
    assert len(lines) == n
    assert {line["asked"] for line in lines} == {"Which agent is the best?"}


def test_a_file_ends_at_its_limit(
    client: Client, played: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Modules that are imported by the first request would keep the limit for all later tests.
    assert client.get("/health/").status_code == 200
    monkeypatch.setattr(files, "MAX_ROWS", 5)
    assert len(_csv(client, "/matches/?format=csv")) == 5
    assert _parquet(client, "/agents/?format=parquet").num_rows == 5


def test_numbers_and_times_have_their_types(client: Client, played: Tournament) -> None:
    table = _parquet(client, f"/leaderboards/{played.leaderboard.name}/?format=parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert types["rank"] == types["n_matches"] == "int64"
    assert types["mu"] == "double"
    assert table["rank"].to_pylist() == list(range(1, 8))
    assert table["mu"].to_pylist() == sorted(table["mu"].to_pylist(), reverse=True)
    made = _parquet(client, "/tournaments/?format=parquet")["created_at"]
    assert str(made.type) == "timestamp[us, tz=UTC]"


def test_a_filtered_board_keeps_its_ranks(client: Client, played: Tournament) -> None:
    path = f"/leaderboards/{played.leaderboard.name}/"
    whole = {line["name"]: line["rank"] for line in _csv(client, f"{path}?format=csv")}
    part = {line["name"]: line["rank"] for line in _csv(client, f"{path}?q=mcts&format=csv")}
    assert part == {name: rank for name, rank in whole.items() if "mcts" in name}


def test_a_season_is_a_file(client: Client, played: Tournament) -> None:
    season = seasons.freeze(
        played.leaderboard, "autumn", actor=Actor("ada"), reason="It is over.", now=NOW
    )
    path = f"/leaderboards/{played.leaderboard.name}/seasons/{season.pk}/?format=csv"
    assert [line["rank"] for line in _csv(client, path)] == [str(rank) for rank in range(1, 8)]


def test_no_cell_is_taken_for_a_formula(client: Client, broker: Redis) -> None:
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "plain", 'a,"b"', "\N{FULLWIDTH EQUALS SIGN}1"]
    for name in names:
        Agent.objects.create(name=name, game="chess", policy="random")
    written = [line["name"] for line in _csv(client, "/agents/?format=csv")]
    guarded = [
        "'=1+1",
        "'+1",
        "'-1",
        "'@SUM(A1)",
        "'\tx",
        "plain",
        'a,"b"',
        "'\N{FULLWIDTH EQUALS SIGN}1",
    ]
    assert written == [*reversed(guarded)]
    # A number stays one, and Parquet has no formulas.
    assert list(files.write_csv([Column("n", float)], [(-1.5,)])) == [b"n\r\n-1.5\r\n", b""]
    assert next(files.write_csv([Column("=A1", str)], [("\n=1",)])) == b"'=A1\r\n\"'\n=1\"\r\n"
    table = _parquet(client, "/agents/?format=parquet")
    assert table["name"].to_pylist() == [*reversed(names)]


def test_what_cannot_be_listed_is_no_file(client: Client) -> None:
    response = client.get("/matches/?agent=nobody&format=csv")
    assert response.status_code == 400
    assert b"there is no agent called" in response.content


async def test_a_file_is_sent_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "ROWS_A_PIECE", 1)
    request = AsyncRequestFactory().get("/agents/")
    table = Table("numbers", [Column("n", int)], iter([(1,), (2,)]))
    response = files.send_table(request, table, "csv")
    assert response.is_async
    pieces = [piece async for piece in cast(AsyncIterator[bytes], response.streaming_content)]
    assert pieces == [b"n\r\n1\r\n", b"2\r\n", b""]


def test_every_page_lists_its_tables_and_plots(client: Client, played: Tournament) -> None:
    agent = Agent.objects.get(name="mcts:100")
    page = client.get(f"/agents/{agent.pk}/").content.decode()
    assert 'href="?files="' in page
    offered = client.get(f"/agents/{agent.pk}/?files=").content.decode()
    links = re.findall(r'<a href="(\?table=\d+&amp;format=csv)"', offered)
    assert len(links) == len([table for table in read_tables(page) if table.rows]) > 2
    for link in links:
        assert _csv(client, f"/agents/{agent.pk}/{link.replace('&amp;', '&')}")


def test_a_table_is_named_by_the_heading_over_it(client: Client) -> None:
    (plain, headed) = read_tables(
        "<section><h2>Of others</h2></section>"
        "<table><caption>First</caption><tr><td>1</td></tr></table>"
        "<h2>Of <a>ada</a></h2><table><caption>How to read it</caption><tr><td>2</td></tr></table>"
    )
    assert (plain.heading, plain.caption) == ("", "First")
    assert (headed.heading, headed.caption) == ("Of ada", "How to read it")


def test_a_table_of_a_page_has_its_cells(client: Client, played: Tournament) -> None:
    path = f"/tournaments/{played.pk}/"
    tables = read_tables(client.get(path).content.decode())
    place = next(n for n, table in enumerate(tables, 1) if "mcts:100" in str(table.rows))
    table = tables[place - 1]
    assert len(_csv(client, f"{path}?table={place}&format=csv")) == len(table.rows)
    assert _parquet(client, f"{path}?table={place}&format=parquet").num_rows == len(table.rows)


def test_columns_of_numbers_are_numbers() -> None:
    (table,) = read_tables(
        "<table><caption>A <b>b</b></caption><thead><tr><th>Name</th><th>N</th><th>x</th><th></th>"
        "</tr></thead><tr><th>a &amp; b</th><td>1,234</td><td>-1.5</td><td>2</td></tr>"
        "<tr><td colspan=2>none</td><td>&ndash;</td><td>3</td></tr></table>"
    )
    assert table.caption == "A b"
    columns, lines = type_table(table)
    assert [(column.name, column.kind) for column in columns][1:] == [
        ("N", int),
        ("x", float),
        ("column 4", int),
    ]
    assert lines == [["a & b", 1234, -1.5, 2], ["none", None, None, 3]]


def test_names_of_digits_stay_names(client: Client, broker: Redis) -> None:
    texts = ("007", "1" * 30, "1,234,567,890,123,456,789", "\N{ARABIC-INDIC DIGIT ONE}")
    for text in texts:
        (table,) = read_tables(f"<table><tr><td>{text}</td></tr></table>")
        assert type_table(table) == ([Column("column 1", str)], [[text]])
    Agent.objects.create(name="1" * 30, game="chess", policy="random")
    assert _parquet(client, "/agents/?table=1&format=parquet").num_rows == 1


def test_a_plot_with_a_strange_name_is_still_xml() -> None:
    (plot,) = read_plots("<h2>a\x01\x02&amp;\ufffe</h2><svg><text>b\x1f</text></svg>")
    assert "a\ufffd\ufffd&" in str(ElementTree.fromstring(plot.svg).findtext(f"{SVG}title"))


def test_a_board_and_a_season_are_read_piece_by_piece(
    client: Client, played: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = played.leaderboard
    season = seasons.freeze(board, "autumn", actor=Actor("ada"), reason="It is over.", now=NOW)
    for path in ("", f"seasons/{season.pk}/"):
        address = f"/leaderboards/{board.name}/{path}?format=csv"
        whole = _csv(client, address)
        with monkeypatch.context() as patched:
            patched.setattr("pages.board_table.ROWS_A_PIECE", 2)
            with CaptureQueriesContext(connection) as queries:
                assert _csv(client, address) == whole
        rows = [q["sql"] for q in queries if "live_sigma" in q["sql"]]
        assert len(rows) >= 4, "7 rows, 2 at once"
        assert len(whole) == 7


def test_a_plot_stands_alone(client: Client, played: Tournament) -> None:
    keep_history(played.leaderboard)
    path = f"/leaderboards/{played.leaderboard.name}/"
    offered = client.get(f"{path}?files=").content.decode()
    links = re.findall(r'<a href="(\?plot=\d+&amp;format=svg)"', offered)
    assert links
    assert "Upwards the rating, to the right the time (UTC)." in offered
    assert "up: " not in offered
    for link in links:
        response = client.get(path + link.replace("&amp;", "&"))
        assert response["Content-Type"] == "image/svg+xml"
        picture = ElementTree.fromstring(response.content)
        assert picture.tag == f"{SVG}svg"
        assert picture.find(f"{SVG}title").text  # type: ignore[union-attr]
        assert b"var(" not in response.content
        assert b"data-" not in response.content


def test_every_plot_and_large_table_links_its_files_by_their_ids(
    client: Client, played: Tournament
) -> None:
    keep_history(played.leaderboard)
    path = f"/leaderboards/{played.leaderboard.name}/"
    page = client.get(path).content.decode()
    links = re.findall(r'<a href="(\?[^"]*(?:plot|table)=[a-z][^"]*)"', page)
    for name in (
        "plot=history-plot",
        "table=history-table",
        "plot=rates-plot",
        "table=matrix-table",
    ):
        assert any(name in link for link in links)
    for link in links:
        assert client.get(path + link.replace("&amp;", "&")).status_code == 200


def test_measures_and_names_of_a_plot_are_written_into_it() -> None:
    (plot,) = read_plots(
        '<figure><figcaption id="c">Ratings <b>now</b></figcaption><div class="drawing">'
        '<svg width="100%" height="200" aria-labelledby="c"><g data-vars="--at:12.5px">'
        '<line x2="100%"/>'
        '<text onclick="x()">1 &lt; 2</text></g><g hidden><line x1="777"/></g>'
        '<a href="/x/"><circle cx="9%"/></a></svg><div class="names">'
        '<span class="series-2" data-vars="--at:30px">a&amp;b</span></div></div></figure>'
    )
    assert plot.title == "Ratings now"
    ElementTree.fromstring(plot.svg)
    assert (
        '<g transform="translate(0 12.5)"><line x2="100%"></line><text>1 &lt; 2</text>' in plot.svg
    )
    assert '<text x="968" dy="4" class="series-2" y="30">a&amp;b</text>' in plot.svg
    assert not re.search("777|onclick|href", plot.svg)


def test_the_nearest_caption_belongs_to_a_plot_and_its_id_is_its_name() -> None:
    first, second = read_plots(
        "<h2>Rating</h2><svg id=rated height=90></svg><p>3 May</p><figure><figcaption>Queue"
        "</figcaption><svg viewBox='0 0 9 9'/></figure>"
    )
    assert (first.title, second.title) == ("Rating", "Queue")
    assert (first.name, second.name) == ("rated", "")
    assert (first.heading, second.heading) == ("Rating", "Rating")
    assert "May" not in first.svg + second.svg
    assert 'viewBox="0 0 9 9"' in second.svg


def test_what_a_label_says_of_the_page_is_no_part_of_the_title() -> None:
    (plot,) = read_plots('<svg aria-label="Time of each move; the list has the numbers"></svg>')
    assert plot.title == "Time of each move"


def test_lines_of_two_seats_keep_their_colours() -> None:
    (plot,) = read_plots("<svg><polyline class='line-red'/><polyline class='line-blue'/></svg>")
    assert "polyline.line-red{stroke:#b4432f}" in plot.svg
    assert "polyline.line-blue{stroke:#2563b8}" in plot.svg


def test_the_list_of_files_is_named_after_its_page(client: Client, played: Tournament) -> None:
    path = f"/leaderboards/{played.leaderboard.name}/"
    (title,) = re.findall("<title>(.*) · evalsite</title>", client.get(path).content.decode())
    assert f"<h1>Tables and plots of {title}</h1>" in client.get(f"{path}?files=").content.decode()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("table=99&format=csv", "table must be a number from 1 to"),
        ("table=0&format=csv", "table must be a number from 1 to"),
        ("table=x&format=csv", "table must be a number from 1 to"),
        ("table=1&format=xls", "format must be one of csv, parquet, got &#x27;xls&#x27;"),
        ("table=1", "format must be one of csv, parquet"),
        ("plot=1&format=svg", "this page has no plot"),
        ("plot=1&format=png", "format of a plot must be svg"),
    ],
)
def test_what_a_page_does_not_have_is_said(
    client: Client, played: Tournament, query: str, words: str
) -> None:
    response = client.get(f"/matches/?{query}")
    assert response.status_code == 404
    assert words in response.content.decode().replace("Format", "format").replace(
        "Table", "table"
    ).replace("This", "this")


def test_the_admin_and_the_api_are_left_alone(client: Client) -> None:
    for path in ("/api/v1/agents/?files=", "/login/?files=", "/healthz?files="):
        assert b"Tables and plots" not in client.get(path).content


def test_queries_of_a_file_do_not_grow_with_rows(client: Client, broker: Redis) -> None:
    counts: dict[str, set[int]] = {}
    for name, n_matches in (("few", 84), ("many", 840)):
        boards.played_board(name, n_matches=n_matches)
        for path in ("/agents/", "/tournaments/", "/leaderboards/", f"/leaderboards/{name}/"):
            with CaptureQueriesContext(connection) as queries:
                client.get(f"{path}?format=csv").getvalue()
            counts.setdefault(path.replace(name, "x"), set()).add(len(queries))
    assert all(len(sizes) == 1 for sizes in counts.values()), counts
