from pathlib import Path

import pytest

from arena.credentials import node_secret
from evalsite import programs
from evalsite.addresses import Ports
from evalsite.errors import SetupError
from evalsite.folders import SECRETS
from evalsite.plan import Plan
from evalsite.programs import Program

SECRET_VALUES = {name: f"value-of-{name}" for name in SECRETS}


def planned(plan: Plan) -> dict[str, Program]:
    return {
        program.name: program for program in plan.programs(SECRET_VALUES, generations={"node-2": 3})
    }


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    settings = {"DATABASE_URL": "postgres://secret", "EVALSITE_ALIVE_S": "3"}
    return Plan(var=tmp_path, ports=Ports(), nodes=2, slots=4, settings=settings)


def test_servers_start_first_and_the_monitor_last(plan: Plan) -> None:
    names = list(planned(plan))
    assert names[:2] == ["broker", "fast"]
    assert names[-1] == "flower"
    assert {"recorder", "control", "beat", "web", "node-1", "node-2"} == set(names[2:-1])


def test_a_play_node_knows_addresses_and_nothing_else(plan: Plan) -> None:
    node = planned(plan)["node-2"]
    assert dict(node.environment) == {
        "EVALSITE_CACHE": str(plan.var / "cache"),
        "EVALSITE_CAPABILITIES": "cpu,torch",
        "EVALSITE_INFERENCE_URL": (
            "redis://inference:value-of-EVALSITE_INFERENCE_PASSWORD@127.0.0.1:7380/0"
        ),
        "EVALSITE_SITE_URL": "http://127.0.0.1:8000",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "REDIS_URL": plan.server_url("broker", SECRET_VALUES),
        "EVALSITE_ALIVE_S": "3",
        "EVALSITE_NODE": "node-2",
        "EVALSITE_NODE_KEY": node_secret("value-of-EVALSITE_SECRET_KEY", "reports", "node-2", 3),
        "EVALSITE_SLOTS": "4",
    }


def test_a_play_node_takes_its_own_queue_and_no_other(plan: Plan) -> None:
    for name in ("node-1", "node-2"):
        command = planned(plan)[name].command
        assert command[command.index("-Q") + 1] == f"play.{name}"


def test_a_play_node_without_torch_takes_no_match_that_needs_it(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "find_spec", lambda _: None)
    node = planned(plan)["node-1"]
    assert node.environment["EVALSITE_CAPABILITIES"] == "cpu"


def test_a_server_of_networks_knows_both_servers_and_takes_every_shard(tmp_path: Path) -> None:
    settings = {
        "EVALSITE_SHARDS": "2",
        "EVALSITE_DEVICE": "cuda",
        "EVALSITE_METRICS_PORT": "9100",
    }
    plan = Plan(var=tmp_path, ports=Ports(), gpus=2, settings=settings)
    gpu = planned(plan)["gpu-2"]
    assert gpu.command[gpu.command.index("-Q") + 1] == "gpu,gpu.1"
    assert gpu.environment["FAST_REDIS_URL"] == plan.server_url("fast", SECRET_VALUES)
    assert gpu.environment["EVALSITE_DEVICE"] == "cuda"
    assert gpu.environment["EVALSITE_GPU"] == "gpu-2"
    assert gpu.environment["EVALSITE_METRICS_PORT"] == "9101"


def test_a_wrong_number_of_shards_is_named(tmp_path: Path) -> None:
    plan = Plan(var=tmp_path, ports=Ports(), gpus=1, settings={"EVALSITE_SHARDS": "many"})
    with pytest.raises(SetupError, match="EVALSITE_SHARDS is 'many'"):
        planned(plan)


def test_players_ask_a_foreign_fast_store_only_by_an_address_given_for_them(tmp_path: Path) -> None:
    settings = {"FAST_REDIS_URL": "redis://:secret@elsewhere/0"}
    plan = Plan(var=tmp_path, ports=Ports(), settings=settings)
    assert "EVALSITE_INFERENCE_URL" not in planned(plan)["node-1"].environment


def test_no_command_line_shows_a_secret(plan: Plan) -> None:
    words = [word for program in planned(plan).values() for word in program.command]
    assert not [word for word in words for secret in SECRET_VALUES.values() if secret in word]


def test_every_process_computes_with_one_thread(plan: Plan) -> None:
    without = [
        program.name
        for program in planned(plan).values()
        if program.environment.get("OPENBLAS_NUM_THREADS") != "1"
    ]
    assert without == ["broker", "fast"]


def test_a_server_that_is_given_is_not_started(tmp_path: Path) -> None:
    settings = {"REDIS_URL": "redis://elsewhere/0"}
    plan = Plan(var=tmp_path, ports=Ports(), settings=settings)
    assert plan.own_servers == ["fast"]
    assert "broker" not in planned(plan)
    assert plan.server_url("broker", SECRET_VALUES) == "redis://elsewhere/0"


def test_a_stack_without_pages_opens_no_port_for_them(tmp_path: Path) -> None:
    plan = Plan(var=tmp_path, ports=Ports(), web=False, flower=False)
    assert plan.listening == ["broker", "fast"]
    assert plan.addresses() == {}


def test_a_browser_is_not_sent_to_the_address_of_all_hosts(tmp_path: Path) -> None:
    plan = Plan(var=tmp_path, ports=Ports(web=81), host="0.0.0.0")
    assert plan.addresses()["Board"] == "http://127.0.0.1:81/"
