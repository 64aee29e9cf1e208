"""What `./run bench showdown` makes of what was played; and all of it, small."""

import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pyarrow as pa
import pytest

from arena.games.showdown.installed import is_playable
from benchmarks import showdown
from benchmarks.battling.queue import Generated, is_near_tie, read_winner

ROOT = Path(__file__).parents[1]


def battle(*steps: tuple[int, int, list[float] | None, float, bool]) -> pa.Table:
    """Return a battle of steps: seat, action, logits, reward and whether the seat's part ended."""
    names = ("seat", "action", "logits", "reward", "terminated")
    return pa.table(dict(zip(names, map(list, zip(*steps, strict=True)), strict=True)))


def test_the_winner_is_who_is_rewarded_at_the_end() -> None:
    won = battle((0, 1, None, 0.0, False), (0, 1, None, -1.0, True), (1, 2, None, 1.0, True))
    tied = battle((0, 1, None, 0.0, True), (1, 2, None, 0.0, True))
    assert (read_winner(won), read_winner(tied)) == (1, None)


@pytest.mark.parametrize(("other", "is_near"), [(1.00005, True), (1.5, False)])
def test_a_battle_parts_in_a_near_tie_where_the_logits_are_the_same_but_for_rounding(
    other: float, is_near: bool
) -> None:
    common = (0, 4, [2.0, 1.0], 0.0, False)
    one = battle(common, (0, 0, [1.0, 1.0], 0.0, True))
    two = battle(common, (0, 1, [1.0, other], 0.0, True))
    assert is_near_tie(one, two) == is_near


def test_a_battle_that_parts_without_a_network_is_no_near_tie() -> None:
    one, two = (battle((0, action, None, 0.0, True)) for action in (0, 1))
    assert not is_near_tie(one, two)


def test_the_file_has_what_was_asked_for_and_what_the_network_won(tmp_path: Path) -> None:
    seats = {"0": {"wins": 6, "draws": 1, "losses": 3}, "1": {"wins": 4, "draws": 0, "losses": 6}}
    manifest = {
        "agents": [{"name": "random", "seats": {}}, {"name": "model", "seats": seats}],
        "illegal_actions": 0,
        "forfeits": 0,
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    options = Namespace(
        model=None, opponent="random", battle_format="gen1ou", team_set=None, total_battles=20,
        num_workers=10,
    )  # fmt: skip
    shared = Generated(tmp_path, 4.0, 8.0)
    fields = showdown.write_seed_fields(options, shared, {"ours_steps_per_s": 500.0})
    assert (fields["wins"], fields["draws"], fields["losses"]) == (10, 1, 9)
    assert (fields["win_rate"], fields["battles_per_second"]) == (0.5, 5.0)
    assert (fields["model"], fields["battle_format"]) == ("untrained", "gen1ou")


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("--model", "the file is empty"),
        ("--opponent", "choose"),
        ("--save-dir", "File exists"),
    ],
)
@pytest.mark.skipif(not is_playable(), reason="./run tools install showdown")
def test_what_cannot_be_used_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, why: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit):
        showdown.main(["--save-dir", str(tmp_path), option, str(tmp_path / "file")])
    assert f"error: {option} " in (errors := capsys.readouterr().err)
    assert why in errors


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(not is_playable(), reason="./run tools install showdown")
def test_every_way_plays_the_same_battles(tmp_path: Path) -> None:
    size = ("--total-battles", "20", "--num-workers", "2", "--rounds", "1")
    # A process of its own: it has a database of its own.
    command = [sys.executable, "-m", "benchmarks", "showdown", *size, "--save-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / showdown.RESULTS).read_text())
    assert figures["agreement"]["n_same_winner"] == figures["total_battles"] == 20
    assert figures["loop"]["identical_games"] == 1.0
    assert figures["illegal_actions"] == 0
