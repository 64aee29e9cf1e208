"""Training in LLMServe's package: its weights are a checkpoint of the platform's architecture."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from arena.games.llmserve.features import SIZE
from inference.architectures import registry

PACKAGE = Path(__file__).parents[1] / "environments" / "llmserve"
TASK = "static_workload"
PARAMETERS = {"hidden": "128,128", "activation": "tanh"}

pytestmark = pytest.mark.slow


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_a_short_training_says_how_it_goes_and_leaves_weights(tmp_path: Path) -> None:
    done = run("train.py", "--task", TASK, "--steps", 1_440, "--jobs", 2, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{TASK}: the rules score 0." in done.stdout
    assert f"{TASK}: 1440 windows, " in done.stdout
    load_model(tmp_path / f"{TASK}.safetensors")


def test_options_that_cannot_be_end_with_two() -> None:
    done = run("train.py", "--task", TASK, "--steps", 5)
    assert done.returncode == 2
    assert "--steps must be 1440 or more: 5" in done.stderr


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "weights").glob("*.safetensors")), ids=lambda path: path.stem
)
def test_the_platform_decides_by_the_weights_as_the_package_does(path: Path) -> None:
    observations = np.random.default_rng(1).random((64, SIZE), np.float32)
    code = (
        "import sys, numpy as np; from pathlib import Path;"
        "from llmserve_env.network import load_network;"
        "seen = np.random.default_rng(1).random((64, int(sys.argv[2])), np.float32);"
        "print(load_network(Path(sys.argv[1])).logits(seen, 0).argmax(1).tolist())"
    )
    done = run("-c", code, path, SIZE)
    assert done.returncode == 0, done.stderr
    with torch.no_grad():
        logits, *_ = load_model(path)(torch.from_numpy(observations), torch.zeros(64, 0))
    assert done.stdout.strip() == str(logits.argmax(1).tolist())


WORLDS = """
import ablate
from llmserve_env.simulator.agents import Fixed
from llmserve_env.simulator.settings import Settings
from llmserve_env.yardsticks import score_episode

def score(**changed):
    settings = Settings(32, 0.4, 3, 1, False, True)._replace(**changed)
    return score_episode("bursty_workload", Fixed(settings).decide, 1)

usual = score()
for off in ablate.OFF:
    with ablate.switched_off(off):
        deep, small = score(), score(batch_cap=8)
        print(off, score(speculation_depth=0) >= deep, score(batch_cap=256) >= max(deep, small),
              score(tier=2) == score(tier=0), score(is_split=True) == deep)
    assert score() == usual
"""


def test_what_is_switched_off_in_the_node_matters_no_longer() -> None:
    done = run("-c", WORLDS)
    assert done.returncode == 0, done.stderr
    lines = (line.split() for line in done.stdout.splitlines())
    worlds = {off: [answer == "True" for answer in answers] for off, *answers in lines}
    assert worlds == {
        "nothing": [False, False, False, False],
        "drafts": [True, False, False, False],
        "batch": [False, True, False, False],
        "precision": [False, False, True, False],
        "split": [False, False, False, True],
        "loading": [False, False, False, False],
        "all": [True, True, True, True],
    }


@pytest.mark.long
def test_a_policy_gains_nothing_where_no_choice_matters(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    short = ("--steps", 1_440, "--episodes", 2, "--tuning-episodes", 1)
    done = run("ablate.py", "--off", "all", *short, "--json", figures)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(figures.read_text())
    assert row["gap"]["mean"] <= 1e-12
    assert "bursty_workload without all: constant 0." in done.stdout


def load_model(path: Path) -> Any:
    """Return the platform's network with the weights of a file."""
    model = registry.get("mlp").build((SIZE,), 12, PARAMETERS)
    model.load_state_dict(load_file(path))
    return model
