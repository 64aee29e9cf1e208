"""Rows of agents in snapshots, read without unpacking all of each."""

import zlib
from typing import Any

import pytest

from matches.ledger.tournaments import open_leaderboard
from matches.models import Leaderboard, RatingSnapshot
from matches.store import snapshot_tables
from matches.tests.factories import later

N = 5_000


def _row(agent: int, mu: float) -> list[float]:
    return [agent, mu, 1.0 / 3, mu + 0.1, 2.0 / 7, mu - 1.0 / 7, mu + 1.0]


def _snapshot(agents: range = range(1, N + 1), *, mu: float = 25.0) -> RatingSnapshot:
    return RatingSnapshot(table=snapshot_tables.pack_rows(_row(agent, mu) for agent in agents))


@pytest.mark.parametrize("agent", [1, 2, 10, N // 2, N - 1, N])
@pytest.mark.parametrize("chunk", [7, 1_000, snapshot_tables.CHUNK])
def test_the_row_of_an_agent_is_found_however_it_is_cut(
    agent: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_tables, "CHUNK", chunk)
    shot = _snapshot(range(1, N + 1) if chunk > 7 else range(agent, agent + 3))
    assert snapshot_tables.find_rows(shot, [agent]) == {agent: _row(agent, 25.0)}


def test_several_rows_are_found_in_any_order() -> None:
    assert snapshot_tables.find_rows(_snapshot(), [N, 3, 0, N + 1]) == {
        3: _row(3, 25.0),
        N: _row(N, 25.0),
    }


def test_only_as_much_is_unpacked_as_is_needed() -> None:
    whole = snapshot_tables.pack_rows(_row(agent, 25.0) for agent in range(1, 50_001))
    assert len(zlib.decompress(whole)) > 10 * snapshot_tables.CHUNK
    cut = RatingSnapshot(table=whole[: len(whole) // 2])
    assert snapshot_tables.find_rows(cut, [1]) == {1: _row(1, 25.0)}


def test_the_interval_of_an_early_row_is_about_its_rating() -> None:
    early = RatingSnapshot(table=snapshot_tables.pack_rows([[7, 25.0, 2.0, 25.1, 1.0]]))
    (row,) = snapshot_tables.unpack_rows(early)
    assert row[:5] == [7, 25.0, 2.0, 25.1, 1.0]
    assert row[5:] == pytest.approx([25 - 3.92, 25 + 3.92], abs=1e-3)
    assert snapshot_tables.find_rows(early, [7]) == {7: row}


@pytest.mark.django_db
def test_a_snapshot_is_read_once(django_assert_num_queries: Any) -> None:
    board = open_leaderboard("board", game="skill_game")
    shots = [_taken(board, minute) for minute in range(3)]
    without = list(RatingSnapshot.objects.defer("table").order_by("taken_at"))
    with django_assert_num_queries(1):
        rows = snapshot_tables.read_rows(without, [4, N + 1])
    assert rows == [{4: _row(4, float(minute))} for minute in range(3)]
    with django_assert_num_queries(0):
        assert snapshot_tables.read_rows(without, [4]) == rows
    with django_assert_num_queries(1):
        assert snapshot_tables.read_rows(without[:1], [4, 5]) == [
            {4: _row(4, 0.0), 5: _row(5, 0.0)}
        ]
    assert len(shots) == 3


def _taken(board: Leaderboard, minute: int) -> RatingSnapshot:
    shot = _snapshot(mu=float(minute))
    shot.leaderboard, shot.taken_at, shot.n_outcomes = board, later(60 * minute), minute
    shot.results_hash = f"{minute} of the tests of tables"
    shot.save()
    return shot
