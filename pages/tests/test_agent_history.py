"""The history of a rating: from a bounded number of snapshots, spread over the whole time."""

import json
import zlib
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.models import Leaderboard, Rating, RatingSnapshot
from matches.tests import boards
from matches.tests.factories import later
from pages.plots import agent_history
from pages.plots.charts import LEFT, RIGHT

pytestmark = pytest.mark.django_db


def _remembered(n: int) -> Rating:
    """Return a rating with so many snapshots, one a minute; mu counts the minutes."""
    boards.planned_board(n_matches=42)
    rating = Rating.objects.earliest("pk")
    RatingSnapshot.objects.bulk_create(
        RatingSnapshot(
            leaderboard=rating.leaderboard,
            taken_at=later(60 * minute),
            n_outcomes=minute,
            table=zlib.compress(json.dumps([[rating.agent_id, minute, 1.0, 0, 0]]).encode()),
        )
        for minute in range(n)
    )
    return rating


def _history(rating: Rating) -> agent_history.History | None:
    return agent_history.draw_agent(Leaderboard.objects.get(), rating.agent_id)


def test_a_long_time_is_covered_by_few_points(
    broker: Redis, django_assert_num_queries: Any
) -> None:
    rating = _remembered(500)
    board = Leaderboard.objects.get()
    with django_assert_num_queries(4):
        history = agent_history.draw_agent(board, rating.agent_id)
    assert history is not None
    minutes = [point.mu for point in history.points]
    assert (minutes[0], minutes[-1], len(minutes)) == (0, 499, agent_history.MAX_POINTS)
    gaps = [after - before for before, after in pairwise(minutes)]
    assert max(gaps) - min(gaps) <= 1


def test_of_large_snapshots_fewer_are_read(broker: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    rating = _remembered(100)
    monkeypatch.setattr(agent_history, "BUDGET_BYTES", 1)
    history = _history(rating)
    assert history is not None
    assert len(history.points) == agent_history.FEWEST


def test_without_a_snapshot_there_is_no_history(broker: Redis) -> None:
    assert _history(_remembered(0)) is None


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_than_three_points_are_told_and_not_drawn(
    broker: Redis, client: Client, n: int
) -> None:
    rating = _remembered(n)
    history = _history(rating)
    assert history is not None
    assert history.drawing.is_early
    assert len(history.points) == n
    page = client.get(f"/agents/{rating.agent_id}/").content.decode()
    assert "Too early to draw" in page
    assert "agent-history-plot" not in page
    assert 'id="agent-history-table"' in page


def test_three_points_span_the_drawing(broker: Redis) -> None:
    history = _history(_remembered(3))
    assert history is not None
    (curve,) = history.drawing.curves
    first, _, last = curve.line.split()
    assert first.startswith(f"{LEFT},")
    assert last.startswith(f"{RIGHT},")


def test_snapshots_before_the_agent_entered_are_left_out(broker: Redis) -> None:
    rating = _remembered(10)
    assert agent_history.draw_agent(Leaderboard.objects.get(), rating.agent_id + 1) is None
