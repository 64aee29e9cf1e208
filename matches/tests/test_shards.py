"""Shards: the same files whatever the pieces, refused while open or when not right."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.db import transaction
from redis import Redis

from arena import trajectories
from arena.messages import Ending, MatchOrderRow, Reason, ResultRow
from arena.trajectories import Episode, TrajectoryError
from matches.artifacts import manifests, shards
from matches.artifacts.episode_returns import EpisodeReturns
from matches.artifacts.shards import ExportError, NotClosedError, Shard
from matches.models import Match, Tournament, TrajectoryPiece
from matches.store import blobs
from matches.tests import factories as make
from matches.tests import pieces

pytestmark = pytest.mark.django_db

LEVELS = ("level:10", "level:50")


@pytest.fixture
def tournament(broker: Redis) -> Tournament:
    return _tournament()


def _tournament(n_matches: int = 10, board: str = "board", **plan: object) -> Tournament:
    make.alive()
    plan = {"agents": LEVELS, "is_rated": False, "keeps_trajectories": True, **plan}
    return make.planned(n_matches, board=board, **plan)


def _write(tournament: Tournament, folder: Path, number: int = 0, *, size: int = 4) -> Shard:
    folder.mkdir(exist_ok=True)
    path = folder / f"shard-{number:05d}.parquet"
    return shards.write_shard(tournament, number, size, path, manifests.read_form(tournament))


def _export(tournament: Tournament, folder: Path, *, size: int = 4) -> list[Shard]:
    n_shards = -(-tournament.n_matches // size)
    return [_write(tournament, folder, number, size=size) for number in range(n_shards)]


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_episodes_are_the_places_of_matches_and_stand_in_order(
    tournament: Tournament, tmp_path: Path
) -> None:
    pieces.play(tournament)
    made = _export(tournament, tmp_path / "out")
    assert [(s.matches, s.rows, s.first_episode, s.last_episode) for s in made] == [
        (4, 8, 0, 3),
        (4, 8, 4, 7),
        (2, 4, 8, 9),
    ]
    rows = trajectories.read_parquet(tmp_path / "out" / "shard-00001.parquet").to_pylist()
    assert [(row["episode"], row["step"]) for row in rows] == [
        (episode, step) for episode in range(4, 8) for step in range(2)
    ]
    planned = list(Match.objects.filter(tournament=tournament).order_by("sequence"))
    assert [row["game_seed"] for row in rows[::2]] == [m.game_seed for m in planned[4:8]]
    assert all(row["agent"] == f"level:{row['action']}" for row in rows)
    assert [row["action"] for row in rows[::2]] == [50, 10, 10, 50]


def test_the_files_do_not_depend_on_pieces_orders_or_the_database(
    tournament: Tournament, tmp_path: Path
) -> None:
    pieces.play(tournament)
    _tournament(3, "between")
    other = _tournament(board="other")
    for n_matches, per_piece in ((1, 1), (6, 5), (3, 2)):
        pieces.play(other, n_matches, per_piece=per_piece)
    _export(tournament, tmp_path / "one")
    _export(other, tmp_path / "two")
    assert _content(tmp_path / "one") == _content(tmp_path / "two")


def test_pieces_that_a_restored_database_does_not_know_are_not_mixed_with_new_matches(
    broker: Redis, tmp_path: Path
) -> None:
    # The database of before gives the same numbers again; the files are still there.
    with transaction.atomic():
        lost = _tournament(seed=1)
        pieces.play(lost)
        _export(lost, tmp_path / "lost")
        transaction.set_rollback(True)
    tournament = _tournament(seed=2)
    pieces.play(tournament)
    _export(tournament, tmp_path / "again")
    paths = sorted((tmp_path / "again").iterdir())
    rows = [row for path in paths for row in trajectories.read_parquet(path).to_pylist()]
    planned = Match.objects.filter(tournament=tournament).order_by("sequence")
    assert [row["game_seed"] for row in rows[::2]] == [match.game_seed for match in planned]
    assert _content(tmp_path / "again") != _content(tmp_path / "lost")


def test_a_shard_waits_for_its_matches(tournament: Tournament, tmp_path: Path) -> None:
    pieces.play(tournament, 5)
    _write(tournament, tmp_path, 0)
    with pytest.raises(NotClosedError, match="shard 1 waits for matches: 4 to 7"):
        _write(tournament, tmp_path, 1)
    early = manifests.build_manifest(tournament, matches_per_shard=4)
    assert (early["is_complete"], early["matches"]) == (False, 4)
    pieces.play(tournament)
    assert _write(tournament, tmp_path, 2).matches == 2
    whole = manifests.build_manifest(tournament, matches_per_shard=4)
    assert (whole["is_complete"], whole["matches"]) == (True, 10)


def test_nothing_is_written_before_all_is_planned(broker: Redis, tmp_path: Path) -> None:
    tournament = make.scheduled(10, agents=LEVELS, is_rated=False, keeps_trajectories=True)
    with pytest.raises(NotClosedError):
        _write(tournament, tmp_path)
    assert not manifests.build_manifest(tournament, matches_per_shard=4)["is_complete"]


def test_few_pieces_stay_in_memory(
    tournament: Tournament, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "MAX_PIECES", 1)
    pieces.play(tournament)
    assert sum(shard.matches for shard in _export(tournament, tmp_path)) == 10


def test_the_manifest_says_what_the_shards_hold(tournament: Tournament, tmp_path: Path) -> None:
    pieces.play(tournament, 8)
    pieces.forfeit(tournament, 2)
    manifest = manifests.build_manifest(tournament, matches_per_shard=4)
    assert (manifest["game"], manifest["seed"], manifest["is_self_play"]) == (
        "skill_game",
        0,
        False,
    )
    assert (manifest["matches"], manifest["is_complete"]) == (10, True)
    assert sum(shard.rows for shard in _export(tournament, tmp_path)) == 16
    assert (manifest["forfeits"], manifest["illegal_actions"]) == (2, 0)
    assert manifest["matches_without_outcome"] == 0
    weak, strong = manifest["agents"]
    assert (weak["name"], weak["parameters"], weak["checkpoint"]) == ("level:10", {"level": 10}, "")
    assert weak["seats"] == {
        "0": {"wins": 1, "draws": 0, "losses": 4},
        "1": {"wins": 0, "draws": 0, "losses": 5},
    }
    assert strong["seats"]["0"]["wins"] == 5
    assert [column["name"] for column in manifest["schema"]][:3] == ["episode", "step", "seat"]
    assert "pyarrow" in manifest["versions"]


def test_a_void_match_leaves_its_number_unused(tournament: Tournament, tmp_path: Path) -> None:
    first = Match.objects.filter(tournament=tournament).order_by("sequence")[:1].get()
    Match.objects.filter(pk=first.pk).update(state=Match.State.VOID)
    pieces.play(tournament)
    made = _export(tournament, tmp_path)
    rows = trajectories.read_parquet(tmp_path / "shard-00000.parquet")
    assert set(rows.column("episode").to_pylist()) == {1, 2, 3}
    manifest = manifests.build_manifest(tournament, matches_per_shard=4)
    assert (made[0].matches, manifest["matches_without_outcome"]) == (3, 1)


def test_draws_are_counted() -> None:
    tally = shards.Tally()
    tally.count_result(["a", "b"], "0,0", is_forfeit=False, reason="", n=3)
    tally.count_result(["a", "b"], "1,0", is_forfeit=False, reason="illegal")
    assert tally.seats == {"a": {0: [0, 3, 1]}, "b": {1: [1, 3, 0]}}
    assert (tally.n_matches, tally.n_illegal) == (4, 1)


def test_a_side_that_wins_alone_did_not_draw() -> None:
    tally = shards.Tally(team_size=2)
    names = ["a", "b", "c", "d"]
    tally.count_result(names, "0,2,0,2", is_forfeit=False, reason="")
    tally.count_result(names, "0,0,0,0", is_forfeit=False, reason="")
    assert tally.seats["a"] == {0: [1, 1, 0]}
    assert tally.seats["d"] == {3: [0, 1, 1]}


def test_of_one_seat_the_manifest_tells_returns_and_nobody_wins(broker: Redis) -> None:
    # Results alone are counted: what trajectories hold is another matter.
    tournament = _tournament(4, agents=("random",), game="dice_walk", keeps_trajectories=False)
    returns = iter((1.0, 4.0, 4.0))

    def play(row: MatchOrderRow) -> ResultRow:
        if (score := next(returns, None)) is None:
            return make.result(row, ending=Ending.FORFEIT, reason=Reason.CRASH, seat=0)
        return msgspec.structs.replace(make.result(row, ranks=[0]), returns=[score])

    make.play_all(broker, play)
    (agent,) = manifests.build_manifest(tournament, matches_per_shard=4)["agents"]
    mean, spread = 3.0, 3**0.5
    assert agent["seats"]["0"] == {
        **{"episodes": 4, "forfeits": 1, "mean_return": mean},
        "return_sd": pytest.approx(spread),
    }


def test_returns_add_up_alike_in_whatever_order_they_come() -> None:
    rows = [(0.1, 3), (1e9, 1), (-0.7, 2), (None, 1), (1e-9, 5)]
    descriptions = []
    for order in (rows, rows[::-1]):
        returns = EpisodeReturns()
        for value, n in order:
            returns.add(value, n)
        descriptions.append(returns.describe())
    assert descriptions[0] == descriptions[1]


def test_one_episode_has_no_spread_and_none_no_mean() -> None:
    returns = EpisodeReturns()
    assert returns.describe()["mean_return"] is None
    returns.add(2.0)
    assert (returns.describe()["mean_return"], returns.describe()["return_sd"]) == (2.0, None)


def test_self_play_fills_both_seats_with_one_agent(broker: Redis) -> None:
    tournament = _tournament(agents=LEVELS[:1])
    pieces.play(tournament)
    manifest = manifests.build_manifest(tournament, matches_per_shard=4)
    (agent,) = manifest["agents"]
    assert manifest["is_self_play"]
    assert {sum(counts.values()) for counts in agent["seats"].values()} == {10}


def test_a_piece_that_is_gone_is_named(tournament: Tournament, tmp_path: Path) -> None:
    pieces.play(tournament)
    piece = TrajectoryPiece.objects.order_by("pk")[0]
    blobs.delete_file(piece.path, storage="trajectories")
    with pytest.raises(ExportError, match=f"{piece.sha256[:12]} are gone: its file was deleted"):
        _write(tournament, tmp_path)
    Tournament.objects.update(trajectory_days=3)
    tournament.refresh_from_db()
    with pytest.raises(ExportError, match="after 3 days"):
        _write(tournament, tmp_path)


def _other_seed(played: Episode) -> Episode:
    return played._replace(game_seed=played.game_seed + 1)


def _other_action(played: Episode) -> Episode:
    return played._replace(steps=[step._replace(action=7) for step in played.steps])


def _other_match(played: Episode) -> Episode:
    return played._replace(number=played.number + 1_000)


def _other_seat(played: Episode) -> Episode:
    return played._replace(
        steps=[step._replace(seat=5) for step in played.steps], returns=(0.0,) * 6
    )


@pytest.mark.parametrize(
    ("spoil", "refusal"),
    [
        (_other_seed, "game seed"),
        (_other_action, "actions"),
        (_other_match, "no rows"),
        (_other_seat, "no seat 5"),
    ],
)
def test_a_piece_that_is_not_what_was_recorded_is_refused(
    tournament: Tournament, tmp_path: Path, spoil: Any, refusal: str
) -> None:
    pieces.play(tournament, spoil=spoil)
    with pytest.raises(ExportError, match=refusal):
        _write(tournament, tmp_path)


def test_a_piece_of_another_game_is_refused(tournament: Tournament, tmp_path: Path) -> None:
    pieces.play(tournament)
    form = trajectories.TrajectorySpec("chess", (2,), 100)
    with pytest.raises(ExportError, match=r"not of .*chess"):
        shards.write_shard(tournament, 0, 4, tmp_path / "shard", form)


def test_what_is_no_parquet_is_refused(
    tournament: Tournament, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: object) -> None:
        raise TrajectoryError("no Parquet")

    pieces.play(tournament)
    monkeypatch.setattr(trajectories, "read_parquet", refuse)
    with pytest.raises(ExportError, match="cannot be used: no Parquet"):
        _write(tournament, tmp_path)
