"""Requests, what an operator sees, rewards and scores: the same bits in each process and build.

`./run test tests/test_llmserve_builds.py -m long` of evalsite asks other Pythons as well.
"""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fingerprint import take_fingerprint

TESTS = Path(__file__).resolve().parent
SIMULATOR = TESTS.parent / "llmserve_env" / "simulator"
EXPECTED = json.loads((TESTS / "fingerprint.json").read_text())
# What libm and NumPy do on an older processor: other instructions, and other code for exp and log.
OLDER_PROCESSOR = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2,-AVX,-FMA4",
    "NPY_DISABLE_CPU_FEATURES": "AVX512_SKX AVX512CD AVX512F FMA3 AVX2",
}


def test_this_process_comes_to_the_numbers_of_the_others() -> None:
    assert take_fingerprint() == EXPECTED


def test_a_replayed_log_scores_what_its_episode_did() -> None:
    for task in EXPECTED.values():
        for episode in (task["every choice"], task["rules"]):
            assert episode["score"] == episode["replayed"]


@pytest.mark.parametrize("options", [{"PYTHONHASHSEED": "1"}, OLDER_PROCESSOR])
def test_another_process_comes_to_the_same_numbers(options: dict[str, str]) -> None:
    command = [sys.executable, "-O", TESTS / "fingerprint.py"]
    done = subprocess.run(command, env=os.environ | options, capture_output=True, check=True)
    assert json.loads(done.stdout) == EXPECTED


def test_nothing_is_added_by_sum_which_differs_between_releases_of_python() -> None:
    for path in SIMULATOR.glob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text()))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        assert "sum" not in names, f"{path.name}: add_up of simulator/sums.py"
