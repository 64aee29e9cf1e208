"""A dataset exported to Minari and read back by Minari itself: every value is the same.

Needs `./run tools install minari`, or EVALSITE_MINARI_PYTHON: an interpreter that has the extra.
"""

import json
import os
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from arena.experience import datasets
from arena.experience.segments import SentChunk, build_table
from arena.experience.tests.made import SPEC, chunk_of
from arena.trajectories import TrajectorySpec
from evalsite_client.cli import datasets as cli
from evalsite_client.cli.main import main
from launcher.errors import SetupError
from launcher.folders import ROOT, var_folder
from launcher.tools import find_tool

FORM = TrajectorySpec.of_game(SPEC)
# Written by Minari's own reader, without anything of ours.
READER = """
import sys, minari, numpy as np
np.savez(sys.argv[2], **{
    f"{number}.{name}": np.asarray(values)
    for number, episode in enumerate(minari.load_dataset(sys.argv[1]).iterate_episodes())
    for name, values in {
        "observations": episode.observations, "actions": episode.actions,
        "rewards": episode.rewards, "terminations": episode.terminations,
        "truncations": episode.truncations, **episode.infos,
    }.items()
})
"""


@pytest.fixture
def downloaded(tmp_path: Path) -> Path:
    """Return a folder as `evalsite datasets download` leaves it, of two shards."""
    folder = tmp_path / "poles"
    folder.mkdir()
    shards = []
    for number in range(2):
        log_probs = np.arange(25, dtype=np.float32) / -100
        log_probs[3::5] = np.nan
        chunk = chunk_of(seed=number, log_probs=log_probs, policy_version=number + 7)
        rows = build_table([SentChunk(1, chunk)], FORM)
        path = folder / f"shard-{number:05}.parquet"
        datasets.write_shard(
            path, [datasets.convert_uploads(rows, FORM, first_episode=2 * number)], FORM
        )
        digest = sha256(path.read_bytes()).hexdigest()
        shards.append({"file": path.name, "sha256": digest})
    manifest = {
        **{"format": datasets.FORMAT, "name": "poles", "game": "cart_pole", "query": {}},
        **{"observation_shape": [4], "n_actions": 2, "shards": shards},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def find_python() -> str:
    """Return an interpreter that has Minari, or skip the test."""
    if (python := os.environ.get("EVALSITE_MINARI_PYTHON")) is not None:
        return python
    try:
        return str(find_tool("minari", var_folder(os.environ)) / "bin" / "python")
    except SetupError as error:
        pytest.skip(str(error))


def export(
    folder: Path, root: Path, dataset_id: str = "poles/all-v0"
) -> "subprocess.CompletedProcess[str]":
    command = ("-m", "evalsite_client", "datasets", "minari", folder, dataset_id)
    return subprocess.run(
        [find_python(), "-W", "ignore", *command, "--out", root],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.slow
def test_minari_reads_back_every_value(downloaded: Path, tmp_path: Path) -> None:
    root, read = tmp_path / "minari", tmp_path / "read.npz"
    written = export(downloaded, root)
    assert written.returncode == 0, written.stderr
    assert written.stdout.startswith("4 episodes in ")
    environment = {**os.environ, "MINARI_DATASETS_PATH": str(root)}
    reader = [find_python(), "-W", "ignore", "-c", READER, "poles/all-v0", str(read)]
    subprocess.run(reader, check=True, env=environment)
    with np.load(read) as values:
        for number, expected in enumerate(list_episodes(downloaded)):
            for name, column in expected.items():
                np.testing.assert_array_equal(values[f"{number}.{name}"], column, name)
    assert "has a dataset 'poles/all-v0' already" in export(downloaded, root).stderr
    (downloaded / "shard-00001.parquet").write_bytes(b"PAR1")
    torn = export(downloaded, tmp_path / "other")
    assert (torn.returncode, "is not whole: download" in torn.stderr) == (2, True)
    assert "is no manifest of a dataset" in export(tmp_path / "nowhere", root).stderr


@pytest.mark.slow
def test_an_export_that_is_cut_off_takes_no_id(downloaded: Path, tmp_path: Path) -> None:
    root, manifest = tmp_path / "minari", downloaded / "manifest.json"
    whole = manifest.read_text()
    written = json.loads(whole)
    (downloaded / "torn.parquet").write_bytes(b"PAR1")
    digest = sha256(b"PAR1").hexdigest()
    written["shards"].append({"file": "torn.parquet", "sha256": digest})
    manifest.write_text(json.dumps(written))
    torn = export(downloaded, root)
    assert (torn.returncode, "torn.parquet cannot be read" in torn.stderr) == (2, True)
    assert list(root.iterdir()) == []
    manifest.write_text(whole)
    assert export(downloaded, root).returncode == 0
    refused = export(downloaded, root, "poles")
    assert (refused.returncode, "it must be name-v0" in refused.stderr) == (2, True)


def list_episodes(folder: Path) -> list[dict[str, Any]]:
    """Return what Minari must have, from the rows of the shards."""
    tables = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    rows = [row for table in tables for row in table.to_pylist()]
    episodes = []
    for number in range(4):
        own = [row for row in rows if row["episode"] == number]
        observations = [row["observation"] for row in own] + [own[-1]["next_observation"]]
        log_probs = [np.nan if row["log_prob"] is None else row["log_prob"] for row in own]
        episodes.append(
            {
                "observations": np.array(observations, np.float32),
                "actions": np.array([row["action"] for row in own]),
                "rewards": np.array([row["reward"] for row in own], np.float32),
                "terminations": np.array([row["terminated"] for row in own]),
                "truncations": np.array([row["truncated"] for row in own]),
                "log_probs": np.array([[np.nan], *([one] for one in log_probs)], np.float32),
                "policy_versions": np.array([[-1], *([row["policy_version"]] for row in own)]),
            }
        )
    return episodes


def test_without_minari_the_command_says_how_to_get_it(
    downloaded: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "find_spec", lambda _: None)
    assert main(["datasets", "minari", str(downloaded), "poles/all-v0"]) == 2
    assert "minari: is not installed here: pip install" in capsys.readouterr().err
