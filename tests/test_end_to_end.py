"""The main work on real processes: matches are planned, sent, played, recorded and rated."""

import base64
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from arena.queues import play_queue
from arena.tests.deadly import DEADLY
from launcher.folders import ROOT
from launcher.stack import Stack
from tests.commands import evalsite

pytestmark = pytest.mark.slow


def _evaluate(cluster: Stack, tmp_path: Path, *arguments: str) -> dict[str, Any]:
    """Evaluate on the running cluster; return its JSON with what it printed."""
    path = tmp_path / "report.json"
    done = evalsite(cluster, "evaluate", "--json", str(path), *arguments)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(path.read_text())
    return report | {"printed": done.stdout}


def test_the_test_game_is_rated_in_the_order_of_its_levels(cluster: Stack, tmp_path: Path) -> None:
    report = _evaluate(cluster, tmp_path, "--num-matches", "1000", "--seed", "1")
    assert (report["completed"], report["pending"], report["void"]) == (1000, 0, 0)
    assert report["accuracy_strict"] >= 0.97
    assert sum(rating["games"] for rating in report["ratings"]) == 2 * 1000
    for line in (
        "1000/1000 - Pending: 0, Error: 0, Completed: 1000, Elapsed time: ",
        "Game run in ",
        "Skills computed in ",
        "Accuracy of the ratings: ",
        "node-2: 2 slot(s)",
    ):
        assert line in report["printed"]


def test_platform_faults_are_retried_and_every_match_is_closed(
    cluster: Stack, tmp_path: Path
) -> None:
    report = _evaluate(
        cluster,
        tmp_path,
        *("--num-matches", "300", "--move-s", "0.5", "--seed", "2"),
        *("--error-rate", "0.1", "--invalid-rate", "0.05", "--hang-rate", "0.01"),
    )
    failed = report["failed_attempts"]
    assert (report["pending"], report["forfeits"]) == (0, 0)
    assert report["completed"] + report["void"] == 300
    assert report["void"] == sum(report["errors"].values())
    assert set(failed) == {"error", "invalid", "timeout"}
    assert sum(failed.values()) == report["retried"] + report["void"]
    assert report["accuracy_strict"] >= 0.9


def test_agents_that_fault_are_charged(cluster: Stack, tmp_path: Path) -> None:
    report = _evaluate(
        cluster,
        tmp_path,
        *("--num-matches", "300", "--charge", "agent", "--seed", "3"),
        *("--error-rate", "0.1", "--invalid-rate", "0.1"),
    )
    reasons = report["forfeit_reasons"]
    assert (report["completed"], report["void"], report["retried"]) == (300, 0, 0)
    assert report["forfeits"] == sum(reasons.values()) > 30
    assert reasons["crash"] > 10
    assert reasons["invalid"] + reasons.get("illegal", 0) > 10


def test_team_mates_are_told_apart_and_forfeit_together(cluster: Stack, tmp_path: Path) -> None:
    levels = [f"level:{level}" for level in (5, 20, 40, 60, 80, 95)]
    report = _evaluate(
        cluster,
        tmp_path,
        *("--game", "skill_teams", "--agents", ",".join(levels), "--num-matches", "400"),
        *("--charge", "agent", "--error-rate", "0.06", "--seed", "4"),
    )
    assert (report["completed"], report["pending"], report["void"]) == (400, 0, 0)
    assert report["forfeits"] > 5
    assert sum(rating["games"] for rating in report["ratings"]) == 4 * 400
    assert [rating["agent"] for rating in report["ratings"]] == levels[::-1]


def test_agents_of_one_seat_are_rated_by_score_on_equal_seeds(
    cluster: Stack, tmp_path: Path
) -> None:
    levels = [f"level:{level}" for level in (5, 50, 95)]
    report = _evaluate(
        cluster,
        tmp_path,
        *("--game", "dice_walk", "--agents", ",".join(levels), "--num-matches", "120"),
        *("--pairing", "double_round_robin", "--seed", "5"),
    )
    assert (report["completed"], report["pending"], report["void"]) == (120, 0, 0)
    assert [rating["games"] for rating in report["ratings"]] == [40, 40, 40]
    assert [rating["agent"] for rating in report["ratings"]] == levels[::-1]


def test_real_agents_are_rated_the_same_way(cluster: Stack, tmp_path: Path) -> None:
    agents = ["random", "greedy", "alphabeta:2", "alphabeta:4"]
    report = _evaluate(
        cluster,
        tmp_path,
        *("--game", "connect_four", "--agents", ",".join(agents), "--num-matches", "240"),
        *("--pairing", "double_round_robin"),
    )
    order = [rating["agent"] for rating in report["ratings"]]
    assert order == agents[::-1]
    assert report["accuracy_strict"] is None


def test_it_ends_early_with_what_is_there(cluster: Stack, tmp_path: Path) -> None:
    slow = ("--num-matches", "2000", "--game-parameter", "duration_s=0.05")
    # Nodes report once a second, after what they still have in hand of a cancelled tournament.
    late = _evaluate(cluster, tmp_path, *slow, "--timeout", "8")
    enough = _evaluate(cluster, tmp_path, *slow, "--finish-fraction", "0.01")
    for report in (late, enough):
        assert report["pending"] == 0
        assert 0 < report["completed"] < 2000
        assert report["completed"] + report["cancelled"] == 2000


def _garbage(rng: random.Random) -> bytes:
    """Return what is no report: bytes, JSON of any form, or a report with a part spoiled."""
    kind = rng.random()
    if kind < 0.25:
        return rng.randbytes(rng.randint(0, 200))
    if kind < 0.4:
        return json.dumps(rng.choice([1, "a", None, [], {}, {"body": "x"}])).encode()
    return json.dumps(_spoiled(_message(), rng)).encode()


def _message() -> dict[str, Any]:
    call = [[{"kind": "alive"}], {}, {"callbacks": None}]
    return {
        "body": base64.b64encode(json.dumps(call).encode()).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {"lang": "py", "task": "matches.record", "id": "x", "eta": None},
        "properties": {
            "delivery_info": {"exchange": "", "routing_key": "reports"},
            "body_encoding": "base64",
            "delivery_tag": "x",
        },
    }


def _spoiled(part: Any, rng: random.Random) -> Any:
    if isinstance(part, dict) and part and rng.random() < 0.8:
        key = rng.choice(list(part))
        return {**part, key: _spoiled(part[key], rng)}
    calls = [[[{}], {}, {"chain": [{"task": "matches.tick"}]}], [[], {}, {}], [[{}, {}], {}, {}]]
    encoded = [base64.b64encode(json.dumps(call).encode()).decode() for call in calls]
    return rng.choice([None, True, -1, "", "x", [], {}, 1e308, "application/data", *encoded])


def test_garbage_in_any_queue_ends_nothing(cluster: Stack, tmp_path: Path) -> None:
    rng = random.Random(5)
    before = cluster.pids()
    broker = Redis.from_url(cluster.admin_url("broker"))
    for queue in ("reports", "control", *map(play_queue, ("node-1", "node-2"))):
        broker.lpush(queue, *DEADLY, *[_garbage(rng) for _ in range(100)])
    report = _evaluate(cluster, tmp_path, "--num-matches", "200")
    assert (report["completed"], report["pending"]) == (200, 0)
    assert cluster.pids() == before


def test_a_little_chaos_loses_and_doubles_nothing(tmp_path: Path) -> None:
    path = tmp_path / "chaos.json"
    command = [sys.executable, "-m", "benchmarks", "chaos", "--matches", "120", "--json", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(path.read_text())
    assert (figures["lost"], figures["doubled"], figures["void"]) == (0, 0, 0)
    assert figures["ratings_equal"]
    assert figures["kills"] >= 2
    assert figures["broker_kills"] == 2
