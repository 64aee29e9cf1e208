"""RLlib on a cluster of Ray, in the tool `ray`: a program that gets an order and writes a file.

Its packages are other versions than ours, so nothing of it is imported here.
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from training.engines.base import LearnOrder, LearnResult
from training.errors import TrainingError

ROOT: Final = Path(__file__).resolve().parents[3]
PROGRAM: Final = "training.engines.on_ray"
ADDRESS: Final = "RAY_ADDRESS"
LIMIT_S: Final = 3_600.0
_TOLD: Final = 2_000


class RayEngine:
    """Sends an order to the cluster at RAY_ADDRESS."""

    id = "ray"
    algorithms = ("bc",)

    def learn(self, order: LearnOrder) -> LearnResult:
        """Return what was learned. Raises TrainingError where tool or cluster are missing."""
        python = find_python(os.environ)
        if not os.environ.get(ADDRESS):
            raise TrainingError(
                f"{ADDRESS} is missing: the address of a cluster that `ray start --head` has "
                "begun, such as 127.0.0.1:6379"
            )
        try:
            result = subprocess.run(
                [str(python), "-m", PROGRAM],
                input=msgspec.json.encode(order),
                cwd=ROOT,
                env=make_environment(os.environ),
                capture_output=True,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise TrainingError(f"ray has learned nothing within {LIMIT_S:g} s") from error
        return _read_answer(result)


def find_python(environ: Mapping[str, str]) -> Path:
    """Return the Python of the tool. Raises TrainingError."""
    of_data = Path(environ.get("EVALSITE_VAR") or ROOT / "var") / "tools" / "ray"
    # Of data folders of tests and benchmarks the tools are those of the clone.
    for folder in (of_data, ROOT / "var" / "tools" / "ray"):
        if (folder / "installed").is_file():
            return folder / "bin" / "python"
    raise TrainingError("ray is not installed here: ./run tools install ray")


def make_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a program of the cluster sees: our code, and nothing sent to Ray's makers."""
    return {**environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}


def _read_answer(result: "subprocess.CompletedProcess[bytes]") -> LearnResult:
    if result.returncode:
        raise TrainingError(f"ray has failed: {result.stderr.decode(errors='replace')[-_TOLD:]}")
    try:
        # Ray itself writes lines of its own before ours.
        return msgspec.json.decode(result.stdout.strip().splitlines()[-1], type=LearnResult)
    except (IndexError, msgspec.MsgspecError) as error:
        raise TrainingError(f"ray has answered {result.stdout[-_TOLD:]!r}") from error


ENGINE = RayEngine()
