"""deploy/kubernetes against the schemas of Kubernetes and the one plan: no cluster is needed."""

import json
import re
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import kubernetes_validate
import pytest
import yaml
from django.urls import resolve

from gameservers import reference
from launcher.compose import NODE_PARTS, write_files
from launcher.folders import ROOT, SECRETS, read_variables
from launcher.tests.test_compose import NOW, PLAN, SERVICES, words_of
from matches.api.system import SystemSerializer, SystemView

VERSION = "1.37"
FOLDER = ROOT / "deploy" / "kubernetes"
OBJECTS: list[dict[str, Any]] = [
    entry
    for file in sorted(FOLDER.glob("*.yaml"))
    for entry in yaml.safe_load_all(file.read_text())
]
SCALED: list[dict[str, Any]] = [
    entry
    for file in sorted((FOLDER / "keda").glob("*.yaml"))
    for entry in yaml.safe_load_all(file.read_text())
]
KEDA = json.loads((Path(__file__).parent / "keda_schema.json").read_text())
PODS: dict[str, dict[str, Any]] = {
    entry["metadata"]["name"]: entry["spec"]["template"]
    for entry in OBJECTS
    if "template" in entry.get("spec", {})
}
OURS = {
    name: pod for name, pod in PODS.items() if pod["spec"]["containers"][0]["image"] == "evalsite"
}
# A name of a pod here, and the service of docker-compose.yml that runs the same.
SAME = {name: name for name in OURS if name not in {"node", "game-server"}}
SAME |= {"node": "node-1", "game-server": "game-server-1"}
# What stands in no file of Compose: parts of other variables, and the name of a pod.
PARTS = {"POSTGRES_PASSWORD", "EVALSITE_FLOWER_PASSWORD", "POD_NAME"}
CHANGED = {"EVALSITE_NODES", "EVALSITE_MAX_NODES", "EVALSITE_ALLOWED_HOSTS"}
NAMES = {"node": "node-1", "game-server": "game-server-1"}


def name_of(entry: dict[str, Any]) -> str:
    return f"{entry['kind']} {entry['metadata']['name']}"


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [entry for entry in OBJECTS if entry["kind"] == kind]


def container(name: str) -> dict[str, Any]:
    (only,) = PODS[name]["spec"]["containers"]
    assert isinstance(only, dict)
    return only


def read_environment(name: str) -> dict[str, str]:
    """Return what a pod is given, with `<KEY>` for a key of the Secret."""
    configs = {entry["metadata"]["name"]: entry["data"] for entry in of_kind("ConfigMap")}
    own = container(name)
    values: dict[str, str] = {}
    for source in own.get("envFrom", []):
        values |= configs[source["configMapRef"]["name"]]
    for variable in own["env"]:
        source = variable.get("valueFrom", {})
        if "secretKeyRef" in source:
            value = f"<{source['secretKeyRef']['key']}>"
        elif "fieldRef" in source:
            value = NAMES[name]
        else:
            value = re.sub(r"\$\((\w+)\)", lambda match: values[match[1]], variable["value"])
        values[variable["name"]] = value
    return values


def read_compose_environment(service: str) -> dict[str, str]:
    """Return what a service is given, with `<KEY>` for a variable that has no default."""

    def fill(match: re.Match[str]) -> str:
        name, _, default = match[1].partition(":-")
        return default if _ else f"<{name.partition(':')[0]}>"

    variables: dict[str, str] = SERVICES[service]["environment"]
    return {name: re.sub(r"\$\{([^}]*)\}", fill, value) for name, value in variables.items()}


@pytest.mark.parametrize("entry", OBJECTS, ids=name_of)
def test_an_object_keeps_to_the_schema_of_kubernetes(entry: dict[str, Any]) -> None:
    assert kubernetes_validate.validate(entry, VERSION, strict=True) == VERSION


@pytest.mark.parametrize("field", ["replica", "template"])
def test_the_schema_refuses_a_field_that_it_does_not_know_and_one_that_is_missing(
    field: str,
) -> None:
    wrong = deepcopy(of_kind("Deployment")[0])
    if wrong["spec"].pop(field, None) is None:
        wrong["spec"][field] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSION, strict=True)


@pytest.mark.parametrize("entry", SCALED, ids=name_of)
def test_a_scaled_object_keeps_to_our_schema_and_scales_what_there_is(
    entry: dict[str, Any],
) -> None:
    jsonschema.validate(entry, KEDA)
    target = entry["spec"]["scaleTargetRef"]
    assert f"{target['kind']} {target['name']}" in map(name_of, OBJECTS)


def test_nodes_are_scaled_by_the_field_of_the_api_up_to_those_that_are_admitted() -> None:
    (scaled,) = SCALED
    (trigger,) = scaled["spec"]["triggers"]
    url = urlsplit(trigger["metadata"]["url"])
    assert resolve(url.path).func.cls is SystemView  # type: ignore[attr-defined]
    assert trigger["metadata"]["valueLocation"] in SystemSerializer().fields
    settings = read_environment("control")
    assert url.hostname in settings["EVALSITE_ALLOWED_HOSTS"].split(",")
    assert url.netloc.partition(".")[0] == "web"
    most = str(scaled["spec"]["maxReplicaCount"])
    assert most == settings["EVALSITE_NODES"] == settings["EVALSITE_MAX_NODES"]


@pytest.mark.parametrize("name", OURS)
def test_a_pod_runs_the_command_of_the_supervisor(name: str) -> None:
    words = [re.sub(r"\$\(\w+\)", NAMES.get(name, ""), word) for word in container(name)["command"]]
    if name == "node":  # its secrets come from a file
        shell = words[: words.index("python")]
        assert shell == ["sh", "-c", 'set -a && . /run/evalsite/node.env && exec "$@"', "sh"]
        words = words[len(shell) :]
    assert words == words_of(SAME[name])


@pytest.mark.parametrize("name", ["broker", "fast"])
def test_a_server_runs_with_the_options_of_compose(name: str) -> None:
    assert container(name)["args"] == words_of(name)


@pytest.mark.parametrize("name", OURS)
def test_a_pod_is_given_what_its_container_is_given(name: str) -> None:
    environment = read_environment(name)
    same = read_compose_environment(SAME[name])
    if name == "node":
        for variable in NODE_PARTS.values():
            del same[variable]
    left_out = PARTS | CHANGED
    assert {key: value for key, value in environment.items() if key not in left_out} == {
        key: value for key, value in same.items() if key not in left_out
    }


def test_every_secret_is_a_reference_to_what_one_command_writes(tmp_path: Path) -> None:
    assert not of_kind("Secret")
    write_files(tmp_path, n_nodes=8, now=NOW)
    keys = set(read_variables(tmp_path / ".env"))
    text = "".join(file.read_text() for file in FOLDER.glob("*.yaml"))
    references = re.findall(r"secretKeyRef: \{name: (\w+), key: (\w+)\}", text)
    assert len(references) > 30
    assert {secret for secret, _ in references} == {"evalsite"}
    assert {key for _, key in references} <= keys
    users = {mount["subPath"] for name in ("broker", "fast") for mount in mounts_of(name, "users")}
    assert all((tmp_path / "var" / "compose" / file).is_file() for file in users)


def mounts_of(name: str, volume: str) -> list[dict[str, Any]]:
    return [mount for mount in container(name)["volumeMounts"] if mount["name"] == volume]


def test_a_node_sees_its_own_secrets_and_no_other(tmp_path: Path) -> None:
    (mount,) = mounts_of("node", "own")
    assert mount["subPathExpr"] == "$(EVALSITE_NODE)"
    assert not [variable for variable in container("node")["env"] if "secretKey" in str(variable)]
    write_files(tmp_path, n_nodes=2, now=NOW)
    own = read_variables(tmp_path / "var" / "compose" / "nodes" / "node-2")
    assert set(own) == set(NODE_PARTS.values())
    variables = read_variables(tmp_path / ".env")
    assert {variables[f"NODE_2_{part}"] for part in NODE_PARTS} == set(own.values())
    # The shell reads the file: no value may be more to it than text.
    assert all(re.fullmatch(r"[\w:/@.-]+", value) for value in own.values())
    (nodes,) = (entry for entry in of_kind("StatefulSet") if entry["metadata"]["name"] == "node")
    assert nodes["spec"]["ordinals"] == {"start": 1}


def test_the_shell_of_a_node_hands_its_secrets_on_to_its_program(tmp_path: Path) -> None:
    write_files(tmp_path, n_nodes=1, now=NOW)
    file = tmp_path / "var" / "compose" / "nodes" / "node-1"
    words = container("node")["command"]
    shell = [word.replace("/run/evalsite/node.env", str(file)) for word in words[:4]]
    done = subprocess.run([*shell, "env"], capture_output=True, text=True, check=True)
    assert set(file.read_text().splitlines()) <= set(done.stdout.splitlines())


@pytest.mark.parametrize("name", OURS)
def test_a_pod_has_the_time_to_stop_that_its_program_takes(name: str) -> None:
    seconds = PODS[name]["spec"].get("terminationGracePeriodSeconds", 30)
    plan = {"node": "node-1", "gpu": "gpu-1"}.get(name, name)
    programs = PLAN.task_programs(dict.fromkeys(SECRETS, "x"), generations={})
    waits = [program.stop_wait_s for program in programs if program.name == plan]
    assert all(seconds >= wait for wait in waits)
    if period := SERVICES[SAME[name]].get("stop_grace_period"):
        assert f"{seconds}s" == period


def test_disruption_budgets_let_machines_be_drained() -> None:
    budgets = of_kind("PodDisruptionBudget")
    assert {entry["metadata"]["name"] for entry in budgets} == {"node", "game-server"}
    for entry in budgets:
        labels = entry["spec"]["selector"]["matchLabels"].items()
        assert labels <= PODS[entry["metadata"]["name"]]["metadata"]["labels"].items()
        # One of minAvailable, or none at all, would hold up the drain of a machine for ever.
        assert entry["spec"]["maxUnavailable"] in {1, "25%"}


def test_every_service_leads_to_a_pod_and_a_port_of_it() -> None:
    services = of_kind("Service")
    assert len(services) > 6
    for entry in services:
        (pod,) = (
            name
            for name, pod in PODS.items()
            if entry["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
        )
        ports = {port["name"] for port in container(pod).get("ports", [])}
        assert {port["targetPort"] for port in entry["spec"].get("ports", [])} <= ports


@pytest.mark.parametrize("name", OURS)
def test_a_pod_is_no_administrator_of_anything(name: str) -> None:
    pod = PODS[name]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container(name)["securityContext"] == {"allowPrivilegeEscalation": False}
    # Kubernetes would give Flower a FLOWER_PORT that is no number.
    assert pod["enableServiceLinks"] is False


def test_the_game_server_serves_a_game_that_the_plug_ins_have() -> None:
    words = container("game-server")["command"]
    own = [word.replace("$(POD_NAME)", "game-server-1") for word in words]
    options = reference.build_parser().parse_args(own[own.index("game_server") + 1 :])
    assert (ROOT / "deploy" / "plugins" / "games" / f"{options.game}.py").is_file()
