"""What a leaderboard shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis import Redis

from matches.models import Rating
from matches.ratings import standings
from matches.ratings.standings import Row
from matches.tests import boards, factories
from matches.tests.factories import NOW, later

number = st.floats(-500, 500).map(lambda value: f"{value:.2f}")


def _rows(limits: list[tuple[str, str]]) -> list[Row]:
    return [{"low": min(pair, key=float), "high": max(pair, key=float)} for pair in limits]  # type: ignore[typeddict-item]


@given(st.lists(st.tuples(number, number), min_size=1))
def test_the_axis_holds_every_interval_in_few_round_steps(limits: list[tuple[str, str]]) -> None:
    rows = _rows(limits)
    axis = standings.fit_axis(rows)
    assert axis["low"] <= min(float(row["low"]) for row in rows) + 1e-9
    assert axis["high"] >= max(float(row["high"]) for row in rows) - 1e-9
    assert 1 <= len(axis["ticks"]) <= 8
    spread = axis["high"] - axis["low"]
    for tick in axis["ticks"]:
        assert -1e-9 <= (tick["at"] - axis["low"]) / spread <= 1 + 1e-9
        assert float(tick["label"]) == pytest.approx(tick["at"])


def test_without_rows_the_axis_is_that_of_the_prior() -> None:
    assert [tick["label"] for tick in standings.fit_axis([])["ticks"]] == [
        "0", "10", "20", "30", "40", "50",
    ]  # fmt: skip


@pytest.mark.django_db
def test_rank_is_by_settled_rating_and_ties_are_by_agent_id(broker: Redis) -> None:
    board = factories.scheduled(agents=("level:1", "level:2", "level:3")).leaderboard
    Rating.objects.filter(agent__name="level:3").update(mu=30, sd=50)
    shown = standings.load_rows(board.pk)
    assert [(row["rank"], row["name"]) for row in shown] == [
        (1, "level:3"),
        (2, "level:1"),
        (3, "level:2"),
    ]
    assert (shown[0]["low"], shown[0]["high"], shown[0]["half"]) == ("-68.00", "128.00", "98.00")


@pytest.mark.django_db
def test_the_counts_of_a_played_board_add_up(broker: Redis) -> None:
    tournament = boards.played_board()
    shown = standings.load_rows(tournament.leaderboard_id)
    assert sum(int(row["matches"]) for row in shown) == 2 * 420
    assert shown[0]["name"].startswith("mcts")
    status = standings.describe_board(tournament.leaderboard, shown, now=later(10))
    (progress,) = status["tournaments"]
    assert (progress["state"], progress["completed"], progress["pending"]) == ("done", "420", "0")
    assert (progress["percent_completed"], status["n_agents"]) == (100.0, "7")


@pytest.mark.django_db
def test_tournaments_under_way_come_before_those_that_have_ended(broker: Redis) -> None:
    tournament = factories.planned(board="mixed")
    board = tournament.leaderboard
    for number_ in range(5):
        tournament.pk, tournament.state, tournament.name = None, "done", f"ended {number_}"
        tournament.save()
    status = standings.describe_board(board, [], now=NOW)
    assert [shown["name"] for shown in status["tournaments"]] == [
        "test", "ended 4", "ended 3", "ended 2",
    ]  # fmt: skip
