"""Ratings over time, matches per second, who beats whom: what is drawn, and what it costs."""

from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis import Redis

from matches.models import Leaderboard, PairCount, RatingSnapshot
from matches.ratings import snapshots, standings
from matches.store.clock import db_now
from matches.store.snapshot_tables import pack_rows
from matches.tests import boards
from matches.tests.factories import NOW
from pages import winrates
from pages.plots import board_history, charts
from pages.plots.charts import LEFT, RIGHT

pytestmark = pytest.mark.django_db


@pytest.fixture
def board(broker: Redis) -> Leaderboard:
    """Return a board that was played on an hour ago and since then."""
    leaderboard = boards.played_board().leaderboard
    keep(leaderboard, 60)
    return Leaderboard.objects.get(pk=leaderboard.pk)


def keep(board: Leaderboard, n: int) -> None:
    """Take a snapshot a minute; every minute counts 120 outcomes more."""
    for minute in range(n):
        at = NOW - timedelta(minutes=n - 1 - minute)
        counts = {"n_settled": 120 * minute, "results_hash": f"{board.pk} {n} {minute}"}
        Leaderboard.objects.filter(pk=board.pk).update(rated_at=at, **counts)
        assert snapshots.take_due(now=at) == 1


def test_curves_go_from_the_first_to_the_last_snapshot(board: Leaderboard) -> None:
    rows = standings.load_rows(board.pk)
    history = board_history.draw_history(board, rows)
    assert history is not None
    names = [row["name"] for row in rows[: board_history.N_AGENTS]]
    assert history.names == names
    assert [*(curve.name for curve in history.drawing.curves), *history.drawing.unsettled] == names
    first, *_, last = history.drawing.curves[0].line.split()
    assert first.startswith(f"{LEFT},")
    assert last.startswith(f"{RIGHT},")
    assert history.table[-1][1][0] == "{mu} ({low} to {high})".format(**rows[0])
    assert history.drawing.times[-1].label == "12:00"


def test_curves_begin_where_the_ratings_were_reset(board: Leaderboard, client: Client) -> None:
    reset_at = NOW - timedelta(minutes=30)
    Leaderboard.objects.filter(pk=board.pk).update(ratings_reset_at=reset_at)
    moments = board_history.read_moments(
        Leaderboard.objects.get(pk=board.pk), [], board_history.space_round, 24, 8, 3_000_000
    )
    assert moments[0].taken_at == NOW - timedelta(minutes=29)
    assert (
        "when a season began all ratings anew"
        in client.get(f"/leaderboards/{board.name}/").content.decode()
    )


def test_what_a_clock_that_was_set_back_left_in_the_future_is_not_drawn(
    board: Leaderboard, client: Client
) -> None:
    before = board_history.draw_history(board, standings.load_rows(board.pk))
    assert before is not None
    now = db_now()
    RatingSnapshot.objects.create(
        leaderboard=board, taken_at=now + timedelta(hours=1), n_outcomes=1, table=pack_rows([])
    )
    drawn = board_history.draw_history(board, standings.load_rows(board.pk))
    assert drawn is not None
    assert drawn.table == before.table
    rates = board_history.draw_rates(board)
    assert rates is not None
    assert rates.bars[-1].title == "11:59 to 12:00: 2.0 matches/s"
    newest = client.get(f"/api/v1/leaderboards/{board.name}/history/").json()["results"][0]
    assert newest["taken_at"] == "2026-01-01T12:00:00Z"


def test_the_page_draws_the_curves(board: Leaderboard, client: Client) -> None:
    drawn = board_history.draw_history(board, standings.load_rows(board.pk))
    assert drawn is not None
    page = client.get(f"/leaderboards/{board.name}/").content.decode()
    assert f'<polyline class="curve series-1" points="{drawn.drawing.curves[0].line}" />' in page


@pytest.mark.parametrize("n", [2, 3, 60, 200])
def test_moments_are_few_however_long_the_history(board: Leaderboard, n: int) -> None:
    moments = board_history.space_round(NOW - timedelta(minutes=n), NOW)
    assert moments == sorted(moments)
    assert len(moments) <= board_history.N_MOMENTS + 1
    assert moments[0] == NOW - timedelta(minutes=n)
    assert moments[-1] == NOW


def test_labels_stand_clear_of_each_other_within_the_drawing() -> None:
    placed = charts.spread_labels([100.0, 101.0, 265.0, 268.0, 269.0], lowest=270)
    assert all(b - a >= charts.LABEL_GAP for a, b in pairwise(placed))
    assert placed[-1] <= 270


def test_rates_come_from_what_snapshots_count(board: Leaderboard) -> None:
    rates = board_history.draw_rates(board)
    assert rates is not None
    assert rates.highest == "2.0"
    assert len(rates.bars) == board_history.N_RATES - 1
    assert rates.bars[-1].title == "11:59 to 12:00: 2.0 matches/s"


def test_a_board_without_history_draws_none(broker: Redis) -> None:
    young = boards.planned_board().leaderboard
    assert board_history.draw_history(young, standings.load_rows(young.pk)) is None
    assert board_history.draw_rates(young) is None


def test_a_name_stands_beside_the_end_of_its_curve(board: Leaderboard) -> None:
    history = board_history.draw_history(board, standings.load_rows(board.pk))
    assert history is not None
    ends = [float(curve.line.split(",")[-1]) for curve in history.drawing.curves]
    labels = [curve.label_at for curve in history.drawing.curves]
    by_end = sorted(range(len(ends)), key=ends.__getitem__)
    assert sorted(labels) == [labels[place] for place in by_end]
    assert all(abs(end - at) < 5 * charts.LABEL_GAP for end, at in zip(ends, labels, strict=True))


def test_scores_mirror_each_other_and_add_up(board: Leaderboard) -> None:
    rows = standings.load_rows(board.pk)
    lines = winrates.build_matrix(board.pk, rows)
    for i, line in enumerate(lines):
        assert line.cells[i] is None
        for j, cell in enumerate(line.cells):
            back = lines[j].cells[i]
            if cell and back and cell.n:
                assert cell.n == back.n
                assert cell.score + back.score == pytest.approx(100, abs=1)
    counted = sum(cell.n for line in lines for cell in line.cells if cell)
    assert counted == 2 * 420


def test_agents_that_did_not_meet_say_so(board: Leaderboard) -> None:
    PairCount.objects.all().delete()
    lines = winrates.build_matrix(board.pk, standings.load_rows(board.pk))
    assert all(cell.title.endswith("not met") for line in lines for cell in line.cells if cell)


def test_the_page_costs_as_many_queries_for_more_history(
    board: Leaderboard, client: Client
) -> None:
    address = f"/leaderboards/{board.name}/"
    page = client.get(address).content.decode()  # reads the snapshots
    for section in ("history", "matrix", "rates"):
        assert f'id="{section}"' in page
    n_before = _queries(client, address)
    RatingSnapshot.objects.all().delete()
    keep(board, 90)
    client.get(address)
    assert _queries(client, address) <= n_before <= 27


def _queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
    return len(queries)
