"""The comparison finds equal games equal, and says where and why others part."""

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena import trajectories
from arena.checkpoints import Seal
from arena.policies.network_policy import NetworkOutput
from arena.seeding import derive
from arena.trajectories import Episode, Step, TrajectorySpec
from benchmarks import comparison
from benchmarks.baseline import Loop, Plan
from benchmarks.comparison import Way, compare_games, find_interval
from benchmarks.networks import Copy
from inference.model import fresh, save_sealed
from launcher.folders import ROOT

FORM = TrajectorySpec("tic_tac_toe", (3, 3, 3), 9)


def _seal(architecture: str) -> Seal:
    return Seal(architecture, {}, FORM.game, FORM.observation_shape, FORM.n_actions)


def _agent(name: str, policy: str, checkpoint: str = "", **parameters: float) -> dict[str, Any]:
    results = {"wins": 0, "draws": 0, "losses": 0}
    seats = {"0": results, "1": results}
    agent = {"name": name, "policy": policy, "parameters": parameters, "seats": seats}
    return {**agent, "checkpoint": checkpoint}


def _manifest(*agents: dict[str, Any]) -> dict[str, Any]:
    rules = {"game": "tic_tac_toe", "game_parameters": {}, "opening_plies": 1}
    return {**rules, "agents": list(agents), "forfeits": 0, "illegal_actions": 0}


PLAIN = _manifest(_agent("luck", "random"), _agent("greed", "greedy"))


def _plans(n: int, names: tuple[str, str] = ("luck", "greed")) -> list[Plan]:
    return [Plan(i, derive("test", i), names if i % 2 else names[::-1]) for i in range(n)]


def _run(folder: Path, manifest: dict[str, Any], episodes: list[Episode]) -> Path:
    shard = folder / "shard-00000.parquet"
    trajectories.write_parquet(shard, [trajectories.build_table(episodes, FORM)], FORM)
    whole = {**manifest, "shards": [{"file": shard.name}]}
    (folder / "manifest.json").write_text(json.dumps(whole))
    return folder


def _way(episodes: list[Episode]) -> Way:
    return Way(trajectories.build_table(episodes, FORM), 1.0)


def test_the_same_seeds_give_the_same_games(tmp_path: Path) -> None:
    episodes, _ = Loop(PLAIN, []).play_all(_plans(20))
    figures = comparison.compare_run(_run(tmp_path, PLAIN, episodes), 2.0, [])
    assert (figures["matches"], figures["identical_games"]) == (20, 1.0)
    assert (figures["schema_equal"], figures["win_rates_agree"]) == (True, True)
    assert figures["illegal_actions_ours"] == figures["illegal_actions_baseline"] == 0
    assert figures["ours_steps_per_s"] == sum(len(episode.steps) for episode in episodes) / 2
    wins = sum(rate["ours"].get("wins", 0) for rate in figures["win_rates"])
    losses = sum(rate["ours"].get("losses", 0) for rate in figures["win_rates"])
    assert wins == losses > 0
    assert "identical games" in comparison.format_page(figures)


def test_forfeited_matches_are_not_played_again(tmp_path: Path) -> None:
    episodes, _ = Loop(PLAIN, []).play_all(_plans(4))
    episodes[2] = episodes[2]._replace(steps=episodes[2].steps[:1], returns=None)
    figures = comparison.compare_run(_run(tmp_path, PLAIN, episodes), 0.0, [])
    assert (figures["matches"], figures["identical_games"]) == (3, 1.0)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_network_is_played_again_by_its_own_copy(tmp_path: Path, temperature: float) -> None:
    path = tmp_path / "net.safetensors"
    seal = _seal("mlp")
    digest = save_sealed(fresh(seal, seed=1), path, seal)
    assert digest == sha256(path.read_bytes()).hexdigest()
    agents = (_agent("net", "network", digest, temperature=temperature), _agent("luck", "random"))
    manifest, plans = _manifest(*agents), _plans(6, ("net", "luck"))
    loop = Loop(manifest, [path])
    episodes, _ = loop.play_all(plans)
    step = next(s for s in episodes[1].steps if s.seat == 0)
    assert (step.checkpoint, step.logits is not None) == (digest, True)
    figures = comparison.compare_run(_run(tmp_path, manifest, episodes), 0.0, [path])
    assert (figures["identical_games"], figures["largest_logit_difference"]) == (1.0, 0.0)


def test_a_copy_answers_row_by_row(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    seal = _seal("gru")
    save_sealed(fresh(seal, seed=1), path, seal)
    copy = Copy(path)
    rows = np.random.default_rng(0).standard_normal((3, 3, 3, 3), dtype=np.float32)
    states = np.zeros((3, copy.state_size), np.float32)
    block = copy.result(copy.submit(rows, states))
    alone = copy.submit(rows[1:2], states[1:2])
    assert [part.shape for part in block] == [(3, 9), (3,), (3, copy.state_size)]
    assert all(np.array_equal(a[1:2], b) for a, b in zip(block, alone, strict=True))
    assert isinstance(block, NetworkOutput)


def test_a_checkpoint_that_is_missing_is_named() -> None:
    manifest = _manifest(_agent("net", "network", "c" * 64), _agent("luck", "random"))
    with pytest.raises(FileNotFoundError, match=r"cccc.*--checkpoints"):
        Loop(manifest, [])


def _step(action: int, logits: list[float] | None, cell: float = 0.0) -> Step:
    row = None if logits is None else np.array(logits, np.float32)
    mask = np.ones(9, np.bool_)
    return Step(0, np.full((3, 3, 3), cell, np.float32), mask, action, logits=row)


def _game(*steps: Step) -> Way:
    return _way([Episode(0, 1, steps, (1.0, -1.0), ("a", "b"))])


LOGITS = [0.5, 0.5, *[0.0] * 7]
NEARLY = [0.5, 0.50001, *[0.0] * 7]


@pytest.mark.parametrize(
    ("theirs", "n_different"),
    [
        (_game(_step(0, LOGITS)), 0),
        (_game(_step(1, NEARLY)), 1),
        (_game(_step(0, LOGITS), _step(0, LOGITS)), 1),
    ],
)
def test_games_with_other_actions_are_different(theirs: Way, n_different: int) -> None:
    assert compare_games(_game(_step(0, LOGITS)), theirs)[0] == n_different


def test_logits_are_compared_until_the_positions_differ() -> None:
    ours = _game(_step(0, LOGITS), _step(0, LOGITS, 1.0), _step(0, LOGITS))
    theirs = _game(_step(0, NEARLY), _step(0, [9.0] * 9, 2.0), _step(0, [9.0] * 9))
    assert compare_games(ours, theirs)[1] == pytest.approx(1e-5, rel=0.1)


def test_illegal_actions_are_counted() -> None:
    step = _step(3, LOGITS)._replace(legal_mask=np.arange(9) != 3)
    assert _game(step, _step(3, LOGITS)).n_illegal == 1


def test_intervals_are_those_of_clopper_and_pearson() -> None:
    assert find_interval(0, 0) == (0.0, 1.0)
    assert find_interval(0, 10) == pytest.approx((0.0, 0.3085), abs=1e-4)
    assert find_interval(5, 10) == pytest.approx((0.1871, 0.8129), abs=1e-4)
    assert find_interval(10, 10) == pytest.approx((0.6915, 1.0), abs=1e-4)


def test_results_are_counted_once_per_seat() -> None:
    episodes, _ = Loop(PLAIN, []).play_all(_plans(8))
    results = _way(episodes).results
    assert {key: counts.total() for key, counts in results.items()} == {
        (name, seat): 4 for name in ("luck", "greed") for seat in (0, 1)
    }
    assert isinstance(_way(episodes).rows, pa.Table)


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [(["--matches", "1"], "from 2 on"), (["--markdown", "/nowhere/x.md"], "/nowhere")],
)
def test_bad_options_end_with_status_2(
    arguments: list[str], refusal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        comparison.main(arguments)
    assert ended.value.code == 2
    assert refusal in capsys.readouterr().err


def test_a_run_is_compared_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    episodes, _ = Loop(PLAIN, []).play_all(_plans(4))
    run = _run(tmp_path, PLAIN, episodes)
    files = ("--json", str(run / "f.json"), "--markdown", str(run / "f.md"))
    assert comparison.main(["--run", str(run), *files]) == 0
    assert "100.0 %" in capsys.readouterr().out
    assert json.loads((run / "f.json").read_text())["matches"] == 4
    assert "100.0 %" in (run / "f.md").read_text()


@pytest.mark.slow
@pytest.mark.long
def test_what_the_stack_generates_is_what_the_loop_plays(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "comparison"]
    command += ["--matches", "40", "--json", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(path.read_text())
    assert (figures["matches"], figures["identical_games"]) == (40, 1.0)
    assert figures["schema_equal"]
    assert figures["win_rates_agree"]
    assert figures["illegal_actions_ours"] == figures["illegal_actions_baseline"] == 0
