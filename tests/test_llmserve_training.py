"""Training in LLMServe's package: its weights are a checkpoint of the platform's architecture."""

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


def load_model(path: Path) -> Any:
    """Return the platform's network with the weights of a file."""
    model = registry.get("mlp").build((SIZE,), 12, PARAMETERS)
    model.load_state_dict(load_file(path))
    return model
