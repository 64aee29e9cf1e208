"""Pushes: what changed, at most twice a second, and nothing is lost by what was left out."""

import json
import logging
from datetime import datetime
from typing import Any

import pytest
from django.core.cache import cache
from pytest_django import Settings
from redis import Redis

from matches.board import broadcast
from matches.ledger import tournaments
from matches.models import Agent, Leaderboard, Rating, Tournament
from matches.ratings import rater
from matches.tests import boards, factories
from matches.tests.factories import NOW, later

pytestmark = pytest.mark.django_db


@pytest.fixture
def board(broker: Redis) -> Leaderboard:
    """Return a board of two agents that have played, which nobody has pushed."""
    board = factories.planned(agents=("level:10", "level:90")).leaderboard
    Rating.objects.update(n_matches=9)
    return board


def _state(board: Leaderboard, *, now: datetime) -> dict[str, Any]:
    return dict(json.loads(broadcast.read_snapshot(board.pk, now=now)))


def _move(board: Leaderboard, agent: str, mu: float) -> None:
    Rating.objects.filter(leaderboard=board, agent__name=agent).update(mu=mu)


def _publish(board: Leaderboard, *, now: datetime) -> broadcast.BoardDelta:
    delta = broadcast.publish(board.pk, now=now)
    assert delta is not None
    return delta


def test_the_first_push_begins_an_epoch_and_lets_viewers_ask(board: Leaderboard) -> None:
    delta = _publish(board, now=NOW)
    assert (delta["sequence"], delta["rows"], delta["removed"]) == (0, [], [])
    assert _state(board, now=NOW)["epoch"] == delta["epoch"]


def test_a_pause_is_pushed_though_nothing_is_rated(board: Leaderboard) -> None:
    broadcast.push_due(now=NOW)
    tournaments.pause_tournament(board.tournaments.get())
    broadcast.push_due(now=later(20))
    pushed = json.loads(cache.get(f"live:board:{board.pk}:state"))
    assert [row["state"] for row in pushed["status"]["tournaments"]] == ["paused"]


def test_only_the_changed_fields_of_changed_rows_are_sent(board: Leaderboard) -> None:
    first = _publish(board, now=NOW)
    _move(board, "level:10", 26.0)
    delta = _publish(board, now=later(1))
    agent, other = Agent.objects.order_by("pk")
    assert delta["rows"] == [
        {"agent": agent.pk, "mu": "26.00", "best": "53.4 %"},
        {"agent": other.pk, "best": "46.6 %"},
    ]
    assert (delta["epoch"], delta["sequence"]) == (first["epoch"], 1)


def test_a_change_too_small_to_be_shown_is_no_change(board: Leaderboard) -> None:
    _publish(board, now=NOW)
    _move(board, "level:10", 25.0004)
    assert broadcast.publish(board.pk, now=later(1)) is None


def test_a_new_rank_is_a_change_of_both_rows(board: Leaderboard) -> None:
    _publish(board, now=NOW)
    _move(board, "level:90", 30)
    rows = _publish(board, now=later(1))["rows"]
    assert [row["rank"] for row in rows] == [1, 2]


def test_a_board_is_pushed_at_most_twice_a_second(board: Leaderboard) -> None:
    _publish(board, now=NOW)
    pushed = 0
    for tenth in range(1, 31):
        _move(board, "level:10", 25 + tenth)
        pushed += broadcast.publish(board.pk, now=later(tenth / 10)) is not None
    assert pushed == 6


def test_what_the_limit_kept_back_is_sent_by_the_next_call_without_ids(board: Leaderboard) -> None:
    Leaderboard.objects.filter(pk=board.pk).update(rated_at=NOW)
    broadcast.push([board.pk], now=NOW)
    _move(board, "level:10", 31)
    broadcast.push([board.pk], now=later(0.2))
    assert _state(board, now=later(0.2))["sequence"] == 0
    broadcast.push_due(now=later(1.2))
    state = _state(board, now=later(1.2))
    assert (state["sequence"], state["rows"][0]["mu"]) == (1, "31.00")


def test_a_board_that_is_being_rated_is_left_to_the_rater(board: Leaderboard) -> None:
    first = _publish(board, now=NOW)
    _move(board, "level:10", 26.0)
    broadcast.push_due(now=later(0.6))
    assert _state(board, now=later(0.6))["sequence"] == first["sequence"]
    broadcast.push([board.pk], now=later(0.6))
    assert _state(board, now=later(0.6))["sequence"] == first["sequence"] + 1


def test_a_new_viewer_compares_nothing_that_control_has_just_compared(
    board: Leaderboard, django_assert_num_queries: Any
) -> None:
    _publish(board, now=NOW)
    with django_assert_num_queries(0):
        _state(board, now=later(0.6))


def test_the_progress_of_a_tournament_is_pushed_without_a_rating(board: Leaderboard) -> None:
    broadcast.push_due(now=NOW)
    Tournament.objects.update(n_void=3)
    broadcast.push_due(now=later(1))
    assert _state(board, now=later(1))["status"]["tournaments"][0]["error"] == "3"


def test_a_cancelled_tournament_is_pushed(board: Leaderboard) -> None:
    broadcast.push_due(now=NOW)
    tournaments.cancel_tournament(Tournament.objects.get(), now=later(1))
    broadcast.push_due(now=later(2))
    assert _state(board, now=later(2))["status"]["tournaments"][0]["state"] == "cancelled"


def test_a_quiet_board_repeats_its_sequence_number(board: Leaderboard) -> None:
    _publish(board, now=NOW)
    assert broadcast.publish(board.pk, now=later(9)) is None
    delta = _publish(board, now=later(10))
    assert (delta["sequence"], delta["rows"]) == (0, [])
    assert broadcast.publish(board.pk, now=later(11)) is None


def test_only_the_top_rows_are_live_and_who_falls_out_is_taken_out(broker: Redis) -> None:
    board = tournaments.open_leaderboard("crowd", game="skill_game")
    agents = Agent.objects.bulk_create(
        Agent(name=f"a{n}", game="skill_game", policy="level") for n in range(202)
    )
    tournaments.enter_agents(board, agents)
    Rating.objects.update(n_matches=9)
    _publish(board, now=NOW)
    _move(board, "a201", 1)
    assert broadcast.publish(board.pk, now=later(1)) is None
    _move(board, "a201", 99)
    delta = _publish(board, now=later(2))
    assert delta["removed"] == [agents[199].pk]
    assert delta["rows"][0] | {"name": "a201", "rank": 1} == delta["rows"][0]


def test_deltas_bring_a_viewer_to_the_state_of_a_reload(broker: Redis) -> None:
    tournament = boards.planned_board(n_matches=84)
    board, play = tournament.leaderboard, boards.by_strength()
    _publish(board, now=NOW)
    viewer = {row["agent"]: row for row in _state(board, now=NOW)["rows"]}
    for second in range(1, 8):
        boards.play_some(tournament, 12, play, now=later(second))
        rater.rate(board.pk, now=later(second))
        delta = _publish(board, now=later(second))
        for row in delta["rows"]:
            viewer[row["agent"]] = viewer.get(row["agent"], {}) | row
    state = _state(board, now=later(8))
    assert viewer == {row["agent"]: row for row in state["rows"]}
    assert state["sequence"] == 7


def test_an_emptied_fast_store_begins_a_new_epoch(board: Leaderboard, broker: Redis) -> None:
    first = _publish(board, now=NOW)
    broker.flushall()
    assert _publish(board, now=later(1))["epoch"] != first["epoch"]


def test_while_another_process_pushes_nothing_is_pushed(board: Leaderboard) -> None:
    cache.add(f"live:board:{board.pk}:lock", 1)
    assert broadcast.publish(board.pk, now=NOW) is None
    state = _state(board, now=NOW)
    assert (state["sequence"], len(state["rows"])) == (0, 2)


def test_a_snapshot_is_compared_with_the_database_only_once_a_second(
    board: Leaderboard, django_assert_num_queries: Any
) -> None:
    _state(board, now=NOW)
    with django_assert_num_queries(0):
        _state(board, now=later(20))


def test_a_fast_store_that_is_away_breaks_nothing(
    board: Leaderboard, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    backend = settings.CACHES["default"]
    settings.CACHES = {"default": {**backend, "LOCATION": "redis://127.0.0.1:1/0"}}
    with caplog.at_level(logging.WARNING):
        broadcast.push([board.pk], now=NOW)
    assert "nothing pushed while the fast store is away" in caplog.text


def test_nodes_are_sent_when_they_change_and_as_a_sign_of_life(board: Leaderboard) -> None:
    broadcast.push_due(now=NOW)
    factories.alive(now=NOW)
    broadcast.push_due(now=later(1))
    assert cache.get("live:nodes") == [_stamp(1), {"nodes": "1", "slots": "2"}]
    broadcast.push_due(now=later(5))
    assert cache.get("live:nodes")[0] == _stamp(1)
    broadcast.push_due(now=later(11))
    assert cache.get("live:nodes")[0] == _stamp(11)


def _stamp(seconds: float) -> str:
    return later(seconds).isoformat().replace("+00:00", "Z")
