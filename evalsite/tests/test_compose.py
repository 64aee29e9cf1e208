import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from arena.faststore import player_rights
from evalsite.addresses import Ports
from evalsite.brokers import INFERENCE_USER, KEPT, NOT_KEPT
from evalsite.folders import ROOT, SECRETS
from evalsite.plan import Plan

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
PLAN = Plan(
    var=Path("/var/lib/evalsite"),
    ports=Ports(),
    host="0.0.0.0",
    flower_host="0.0.0.0",
    slots=1,
    gpus=1,
    settings={"EVALSITE_CAPABILITIES": "cpu,torch"},
)


def words_of(service: str) -> list[str]:
    return shlex.split(SERVICES[service]["command"])


@pytest.mark.parametrize(
    ("service", "program"),
    [(name, name) for name in ("recorder", "control", "beat", "web", "flower")]
    + [("play", "node-1"), ("gpu", "gpu-1")],
)
def test_a_container_runs_the_command_of_the_supervisor(service: str, program: str) -> None:
    chosen = [
        each
        for each in PLAN.task_programs(dict.fromkeys(SECRETS, "x"), generations={})
        if each.name == program
    ]
    command = [word.replace(f"{program}@", f"{service}@") for word in chosen[0].command]
    assert words_of(service) == ["python", *command[1:]]


@pytest.mark.parametrize(("service", "options"), [("broker", KEPT), ("fast", NOT_KEPT)])
def test_a_server_runs_with_the_same_options(service: str, options: tuple[str, ...]) -> None:
    command = SERVICES[service]["command"]
    for option in (*options, 'save ""', "maxmemory-policy noeviction", "requirepass $"):
        assert f"--{option}" in command


def test_the_fast_store_lets_players_do_what_ours_lets_them() -> None:
    login, _, rights = SERVICES["fast"]["command"].partition("--user ")[2].partition("} ")
    assert login.startswith(f"{INFERENCE_USER} on >$")
    assert rights == player_rights("*", n_shards=1)


def test_a_play_node_gets_no_database_and_no_secret_key() -> None:
    assert set(SERVICES["play"]["environment"]) == {
        "REDIS_URL",
        "EVALSITE_CAPABILITIES",
        "EVALSITE_INFERENCE_URL",
        "EVALSITE_NODE",
        "EVALSITE_SITE_URL",
        "EVALSITE_SLOTS",
        "OPENBLAS_NUM_THREADS",
        "OMP_NUM_THREADS",
    }


def test_no_secret_has_a_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    for name in (*SECRETS, "POSTGRES_PASSWORD"):
        assert f"${{{name}:?set it in .env}}" in text
        assert f"${{{name}:-" not in text


def test_every_published_port_is_on_loopback() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_dependency_is_a_service() -> None:
    for service in SERVICES.values():
        assert set(service.get("depends_on", {})) <= set(SERVICES)
