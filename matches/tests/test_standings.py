"""What a leaderboard shows."""

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis import Redis

from matches.board import progress
from matches.models import Rating
from matches.ratings import axes, standings
from matches.ratings.standings import Row
from matches.tests import boards, factories
from matches.tests.factories import NOW, later

number = st.floats(-500, 500).map(lambda value: f"{value:.2f}")


def _rows(limits: list[tuple[str, str]]) -> list[Row]:
    return [{"low": min(pair, key=float), "high": max(pair, key=float)} for pair in limits]  # type: ignore[typeddict-item]


@given(st.lists(st.tuples(number, number), min_size=1))
def test_the_axis_holds_every_rating_in_few_round_steps(limits: list[tuple[str, str]]) -> None:
    rows = _rows(limits)
    axis = axes.fit_axis(rows)
    widths = [float(row["high"]) - float(row["low"]) for row in rows]
    for row, width in zip(rows, widths, strict=True):
        middle = float(row["low"]) + width / 2
        # An interval is drawn whole unless it is much wider than most.
        reach = min(width, axes.CUT * median(widths)) / 2
        assert axis["low"] <= middle - reach + 1e-9
        assert axis["high"] >= middle + reach - 1e-9
    assert 1 <= len(axis["ticks"]) <= 8
    spread = axis["high"] - axis["low"]
    for tick in axis["ticks"]:
        assert -1e-9 <= (tick["at"] - axis["low"]) / spread <= 1 + 1e-9
        assert float(tick["label"]) == pytest.approx(tick["at"])


def test_one_wide_interval_does_not_make_all_others_short() -> None:
    close = [("20.00", "22.00"), ("21.00", "23.00"), ("22.00", "24.00")]
    axis = axes.fit_axis(_rows([*close, ("5.00", "40.00")]))
    assert 18 <= axis["low"] <= 20
    assert 24 <= axis["high"] <= 26


@given(st.floats(1e-12, 1e12))
def test_a_round_step_is_one_two_or_five(finest: float) -> None:
    step = axes.find_round_step(finest)
    assert finest <= step <= 2.5 * finest * (1 + 1e-9)
    assert f"{step:.0e}"[0] in "125"


def test_without_rows_the_axis_is_that_of_the_prior() -> None:
    assert [tick["label"] for tick in axes.fit_axis([])["ticks"]] == [
        "0", "10", "20", "30", "40", "50",
    ]  # fmt: skip


@pytest.mark.django_db
def test_rank_is_by_settled_rating_and_ties_are_by_agent_id(broker: Redis) -> None:
    board = factories.scheduled(agents=("level:1", "level:2", "level:3")).leaderboard
    Rating.objects.update(n_matches=1)
    Rating.objects.filter(agent__name="level:3").update(mu=30, low=-68, high=90)
    rows = standings.load_rows(board.pk)
    assert [(row["rank"], row["name"]) for row in rows] == [
        (1, "level:3"),
        (2, "level:1"),
        (3, "level:2"),
    ]
    assert (rows[0]["mu"], rows[0]["low"], rows[0]["high"]) == ("30.00", "-68.00", "90.00")


@pytest.mark.django_db
def test_the_counts_of_a_played_board_add_up(broker: Redis) -> None:
    tournament = boards.played_board()
    rows = standings.load_rows(tournament.leaderboard_id)
    assert sum(int(row["matches"]) for row in rows) == 2 * 420
    assert rows[0]["name"].startswith("mcts")
    status = progress.describe_board(tournament.leaderboard, rows, now=later(10))
    (shown_tournament,) = status["tournaments"]
    values = [shown_tournament[name] for name in ("state", "completed", "pending")]
    assert values == ["done", "420", "0"]
    assert (shown_tournament["percent_completed"], status["n_agents"]) == (100.0, "7")


@pytest.mark.django_db
def test_tournaments_under_way_come_before_those_that_have_ended(broker: Redis) -> None:
    tournament = factories.planned(board="mixed")
    board = tournament.leaderboard
    for number_ in range(5):
        tournament.pk, tournament.state, tournament.name = None, "done", f"ended {number_}"
        tournament.save()
    status = progress.describe_board(board, [], now=NOW)
    assert [row["name"] for row in status["tournaments"]] == [
        "test", "ended 4", "ended 3", "ended 2",
    ]  # fmt: skip


@pytest.mark.django_db
def test_agents_without_a_match_stand_below_and_have_no_place(broker: Redis) -> None:
    board = factories.scheduled(agents=("level:1", "level:2", "level:3", "level:4")).leaderboard
    Rating.objects.filter(agent__name__in=("level:2", "level:4")).update(n_matches=5)
    Rating.objects.filter(agent__name="level:4").update(mu=20)
    Rating.objects.filter(agent__name="level:3").update(mu=24)
    rows = standings.load_rows(board.pk)
    assert [row["name"] for row in rows] == ["level:2", "level:4", "level:1", "level:3"]
    assert [row["rank"] for row in rows] == [1, 2, 3, 4]
    assert [bool(row["place"]) for row in rows] == [True, True, False, False]
    # Of two that have played: the others take no part of the chances, and set no axis.
    assert [row["best"] for row in rows[2:]] == ["", ""]
    ranks = {rating.agent.name: standings.find_rank(rating) for rating in Rating.objects.all()}
    assert (ranks["level:2"], ranks["level:4"]) == (1, 2)


@pytest.mark.django_db
def test_pages_of_a_board_go_on_with_those_that_have_not_played(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standings, "TOP", 2)
    board = factories.scheduled(agents=[f"level:{n}" for n in range(1, 7)]).leaderboard
    Rating.objects.filter(agent__name__in=("level:3", "level:5", "level:6")).update(n_matches=1)
    pages = [standings.load_rows(board.pk, start=start) for start in (0, 2, 4, 6)]
    names = [[row["name"] for row in page] for page in pages]
    assert names == [["level:3", "level:5"], ["level:6", "level:1"], ["level:2", "level:4"], []]
    assert [row["rank"] for page in pages for row in page] == [1, 2, 3, 4, 5, 6]


@pytest.mark.django_db
def test_a_place_is_the_ranks_that_the_intervals_leave_open(broker: Redis) -> None:
    board = factories.scheduled(agents=("level:1", "level:2", "level:3")).leaderboard
    for name, mu in (("level:1", 40), ("level:2", 25.5), ("level:3", 25)):
        Rating.objects.filter(agent__name=name).update(mu=mu, sd=1, n_matches=50)
    type(board).objects.update(rated_at=NOW, results_hash="of this test")
    assert [row["place"] for row in standings.load_rows(board.pk)] == ["1", "2-3", "2-3"]
