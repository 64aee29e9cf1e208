"""configs/*.yaml read by the real SkyPilot, without a cloud: `./run tools install skypilot`."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gameservers import reference
from gameservers.head import command as head
from launcher.folders import ROOT
from launcher.tools import MissingToolError, find_tool
from matches.nodes.node_keys import build_head_environment

pytestmark = pytest.mark.long

# What SkyPilot makes of a file, as JSON; a file that is wrong ends it with the reason.
READ = """
import json, sys
import sky
task = sky.Task.from_yaml(sys.argv[1])
read = task.to_yaml_config()
read["offers"] = [dict(one.accelerators or {}) for one in task.resources]
read["spot"] = [one.use_spot for one in task.resources]
print(json.dumps(read, default=str))
"""
CONFIGS = ROOT / "configs"
GPUS = {"A10G", "L4", "L40S", "A100", "A100-80GB"}


def ask_skypilot(file: Path, home: Path) -> subprocess.CompletedProcess[str]:
    try:
        tool = find_tool("skypilot", ROOT / "var")
    except MissingToolError as error:
        pytest.skip(str(error))
    python = str(tool / "bin" / "python")
    environment = {
        "HOME": str(home),
        "PATH": f"{tool / 'bin'}:/usr/bin:/bin",
        "SKYPILOT_DISABLE_USAGE_COLLECTION": "1",
        "LANG": "C.UTF-8",
    }
    command = [python, "-c", READ, str(file)]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def read_task(name: str, home: Path, *, with_gpus: bool = False) -> dict[str, Any]:
    """Return what SkyPilot makes of a file, with its line of accelerators in force if so wished."""
    text = (CONFIGS / name).read_text()
    if with_gpus:
        assert text.count("# accelerators: ") == 1
        text = text.replace("# accelerators: ", "accelerators: ")
    (home / name).write_text(text)
    done = ask_skypilot(home / name, home)
    assert done.returncode == 0, done.stderr
    task: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return task


def test_every_file_is_read_here() -> None:
    assert {file.name for file in CONFIGS.glob("*.yaml")} == {
        "eval_head.yaml",
        "game_server.yaml",
        "game_server_service.yaml",
    }


def test_the_head_is_on_demand_and_takes_the_secrets_that_are_printed_for_it(
    tmp_path: Path,
) -> None:
    task = read_task("eval_head.yaml", tmp_path)
    assert task["spot"] == [False]
    assert task["resources"] == {
        "cpus": "8+",
        "memory": "16+",
        "use_spot": False,
        "ports": ["8080"],
    }
    assert set(build_head_environment()) <= set(task["secrets"])
    assert {"GAME_SERVER_PREFIX", "CHECKPOINT_BUCKET"} <= set(task["envs"])
    words = task["run"].split()
    assert words[:2] == ["exec", ".venv/bin/eval_head"]
    assert head.build_parser().parse_args(words[2:]).port == 8080


@pytest.mark.parametrize("name", ["game_server.yaml", "game_server_service.yaml"])
def test_a_game_server_is_on_spot_machines_and_dials_the_head(name: str, tmp_path: Path) -> None:
    task = read_task(name, tmp_path)
    assert task["spot"] == [True]
    own = task["resources"]
    assert (own["cpus"], own["memory"], own["ports"]) == ("4+", "8+", ["8081"])
    assert {"EVALSITE_SERVE_PASS", "EVALSITE_PASS_KEY"} <= set(task["secrets"])
    last = task["run"].splitlines()[-1].replace('"', "").replace("$host", "0.0.0.0")
    words = last.split()
    assert words[:2] == ["exec", ".venv/bin/game_server"]
    options = reference.build_parser().parse_args(words[2:])
    assert (options.port, options.eval_head_url) == (8081, "$EVAL_HEAD_ENDPOINT")


def test_a_game_server_is_taken_down_when_idle(tmp_path: Path) -> None:
    own = read_task("game_server.yaml", tmp_path)["resources"]
    assert own["autostop"] == {"idle_minutes": 30, "down": True}


def test_a_service_has_one_to_five_replicas_and_a_probe(tmp_path: Path) -> None:
    service = read_task("game_server_service.yaml", tmp_path)["service"]
    assert service["readiness_probe"]["path"] == "/health"
    policy = service["replica_policy"]
    assert (policy["min_replicas"], policy["max_replicas"]) == (1, 5)


@pytest.mark.parametrize("name", sorted(file.name for file in CONFIGS.glob("*.yaml")))
def test_accelerators_are_offered_once_their_line_is_no_comment(name: str, tmp_path: Path) -> None:
    task = read_task(name, tmp_path, with_gpus=True)
    assert {gpu for offer in task["offers"] for gpu in offer} == GPUS


@pytest.mark.parametrize(
    ("name", "right", "wrong", "reason"),
    [
        ("eval_head.yaml", "cpus: 8+", "cpu: 8+", "did you mean 'cpus'"),
        ("game_server.yaml", "use_spot: true", "use_spot: often", "use_spot"),
        ("game_server_service.yaml", "max_replicas: 5", "max_replicas: five", "max_replicas"),
        ("game_server_service.yaml", "secrets:", "secret:", "secret"),
    ],
)
def test_skypilot_refuses_a_wrong_file(
    name: str, right: str, wrong: str, reason: str, tmp_path: Path
) -> None:
    text = (CONFIGS / name).read_text()
    assert text.count(right) == 1
    (tmp_path / name).write_text(text.replace(right, wrong))
    done = ask_skypilot(tmp_path / name, tmp_path)
    assert done.returncode != 0
    assert reason in done.stderr
