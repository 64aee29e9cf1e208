"""Trajectories: every decision is a row, equal content is equal bytes, odd files are refused."""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arena import trajectories
from arena.games import registry as games
from arena.trajectories import Episode, Step, TrajectoryError, TrajectorySpec

FORM = TrajectorySpec("tic_tac_toe", (3, 3, 3), 9)
NAMES = ("ann", "bob")


def _step(seat: int, action: int, *, is_network: bool = True) -> Step:
    observation = np.full(FORM.observation_shape, action, np.float32)
    mask = np.arange(9) != action - 1
    if not is_network:
        return Step(seat, observation, mask, action)
    logits = np.linspace(-1, 1, 9, dtype=np.float32)
    return Step(seat, observation, mask, action, "c" * 64, logits, -0.5, 0.25)


def _episode(number: int, n_steps: int = 3, returns: tuple[float, ...] | None = (1, -1)) -> Episode:
    steps = [_step(i % 2, i, is_network=i % 2 == 0) for i in range(n_steps)]
    return Episode(number, 100 + number, steps, returns, NAMES)


def _written(tables: list[pa.Table]) -> bytes:
    sink = BytesIO()
    trajectories.write_parquet(sink, tables, FORM)
    return sink.getvalue()


def test_the_form_is_that_of_the_game() -> None:
    assert TrajectorySpec.of_game(games.get("tic_tac_toe").spec) == FORM


def test_every_decision_is_a_row_with_all_that_was_seen_and_said() -> None:
    rows = trajectories.build_table([_episode(4)], FORM).to_pylist()
    assert [(row["episode"], row["step"], row["seat"]) for row in rows] == [
        (4, 0, 0),
        (4, 1, 1),
        (4, 2, 0),
    ]
    assert rows[0]["observation"] == [0.0] * 27
    assert rows[2]["legal_mask"] == [action != 1 for action in range(9)]
    assert rows[2]["action"] == 2
    assert (rows[0]["agent"], rows[1]["agent"], rows[0]["game_seed"]) == ("ann", "bob", 104)
    assert (rows[0]["checkpoint"], rows[1]["checkpoint"]) == ("c" * 64, "")
    assert rows[0]["logits"] == pytest.approx(np.linspace(-1, 1, 9))
    assert (rows[0]["log_prob"], rows[0]["value"]) == (-0.5, 0.25)
    assert (rows[1]["logits"], rows[1]["log_prob"], rows[1]["value"]) == (None, None, None)


def test_each_seat_gets_its_return_with_its_last_decision() -> None:
    rows = trajectories.build_table([_episode(0, 4)], FORM).to_pylist()
    assert [row["reward"] for row in rows] == [0, 0, 1, -1]
    assert [row["terminated"] for row in rows] == [False, False, True, True]
    assert not any(row["truncated"] for row in rows)


def test_an_episode_that_was_cut_off_is_truncated_and_gives_no_reward() -> None:
    rows = trajectories.build_table([_episode(0, 3, returns=None)], FORM).to_pylist()
    assert [row["truncated"] for row in rows] == [False, True, True]
    assert not any(row["terminated"] or row["reward"] for row in rows)


def test_a_piece_leaves_the_names_out() -> None:
    piece = trajectories.encode_episodes([_episode(7)._replace(agents=())], FORM)
    assert trajectories.read_parquet(BytesIO(piece)).column("agent").to_pylist() == ["", "", ""]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    whole = trajectories.build_table([_episode(0), _episode(1, 5), _episode(2, 0)], FORM)
    path = tmp_path / "shard.parquet"
    assert trajectories.write_parquet(path, [whole], FORM) == 8
    assert trajectories.read_parquet(path).equals(whole)
    assert trajectories.read_spec(pq.read_schema(path)) == FORM


def test_nothing_at_all_is_a_file_too() -> None:
    empty = trajectories.read_parquet(BytesIO(trajectories.encode_episodes([], FORM)))
    assert (empty.num_rows, trajectories.split_episodes(empty)) == (0, {})


def test_the_bytes_do_not_depend_on_how_the_rows_were_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trajectories, "GROUP_BYTES", 4 * 153)
    assert FORM.group_rows == 4
    episodes = [_episode(number, 3 + number % 4) for number in range(9)]
    at_once = [trajectories.build_table(episodes, FORM)]
    one_by_one = [trajectories.build_table([episode], FORM) for episode in episodes]
    assert _written(at_once) == _written(one_by_one)
    file = pq.ParquetFile(BytesIO(_written(at_once)))
    assert {file.metadata.row_group(i).num_rows for i in range(file.num_row_groups - 1)} == {4}


def test_a_step_of_another_shape_is_refused() -> None:
    odd = _step(0, 1)._replace(observation=np.zeros(27, np.float32))
    with pytest.raises(TrajectoryError, match=r"\(27,\).*\(3, 3, 3\)"):
        trajectories.build_table([Episode(0, 0, [odd], (0, 0))], FORM)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all" * 10])
def test_what_is_no_parquet_is_refused(content: bytes) -> None:
    with pytest.raises(TrajectoryError):
        trajectories.read_parquet(BytesIO(content))


@pytest.mark.parametrize(
    ("metadata", "refusal"),
    [
        (None, "evalsite"),
        ({"evalsite": "{}"}, "format"),
        ({"evalsite": '{"format": "evalsite trajectories/0"}'}, "trajectories/0"),
        (trajectories.arrow_schema(FORM).metadata, "episode"),
    ],
)
def test_parquet_of_other_columns_is_refused(metadata: Any, refusal: str) -> None:
    sink = BytesIO()
    columns = pa.table({"episode": [1.5]}).replace_schema_metadata(metadata)
    pq.write_table(columns, sink)
    with pytest.raises(TrajectoryError, match=refusal):
        trajectories.read_parquet(sink)


def test_missing_columns_are_refused() -> None:
    whole: Any = trajectories.arrow_schema(FORM)
    few = pa.schema([whole.field(0)], whole.metadata)
    with pytest.raises(TrajectoryError, match="episode"):
        trajectories.read_spec(few)


def test_episodes_are_found_by_their_number() -> None:
    rows = trajectories.build_table([_episode(30, 2), _episode(10, 4)], FORM)
    episodes = trajectories.split_episodes(rows)
    assert {number: episode.num_rows for number, episode in episodes.items()} == {30: 2, 10: 4}
    assert episodes[10].column("step").to_pylist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "order",
    [[0, 2, 1, 3, 4], [1, 2, 3, 4], [0, 3, 4, 1, 2], [1, 0, 2, 3, 4]],
)
def test_rows_that_are_no_whole_episodes_are_refused(order: list[int]) -> None:
    rows = trajectories.build_table([_episode(0, 3), _episode(1, 2)], FORM).take(order)
    with pytest.raises(TrajectoryError, match="must"):
        trajectories.split_episodes(rows)


def test_an_episode_that_comes_twice_is_refused() -> None:
    rows = trajectories.build_table([_episode(0, 2), _episode(1, 2), _episode(0, 2)], FORM)
    with pytest.raises(TrajectoryError, match="stand together"):
        trajectories.split_episodes(rows)


def test_a_piece_becomes_part_of_a_shard_by_new_numbers_and_names() -> None:
    piece = trajectories.build_table([_episode(977)._replace(agents=())], FORM)
    (episode,) = trajectories.split_episodes(piece).values()
    named = trajectories.renumber_episode(episode, 4, dict(enumerate(NAMES)))
    expected = trajectories.build_table([_episode(4)._replace(game_seed=100 + 977)], FORM)
    assert named.equals(expected)


def test_a_seat_that_the_game_does_not_have_is_refused() -> None:
    piece = trajectories.build_table([_episode(977)], FORM)
    with pytest.raises(TrajectoryError, match="seat 1"):
        trajectories.renumber_episode(piece, 4, {0: "ann"})


def test_values_are_read_of_one_episode_and_where_a_network_was_asked() -> None:
    steps = [_step(0, 1), _step(1, 2, is_network=False), _step(0, 1)]
    episodes = [_episode(4), _episode(5)._replace(steps=steps)]
    piece = BytesIO(trajectories.encode_episodes(episodes, FORM))
    assert trajectories.read_values(piece, 5) == {0: steps[0].value, 2: steps[2].value}
    assert trajectories.read_values(piece, 6) == {}
    with pytest.raises(TrajectoryError, match="no file of trajectories"):
        trajectories.read_values(BytesIO(b"no parquet"), 5)
