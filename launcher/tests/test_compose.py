import json
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from redis import Redis

from arena.acl import ADMIN, ROLES, SERVERS
from arena.credentials import is_node_name
from arena.passes import check_pass
from gameservers import reference
from launcher.addresses import Ports
from launcher.brokers import KEPT, NOT_KEPT, SYNCED, find_server, wait_until_up
from launcher.compose import ANY_SERVER, MADE_ONCE, write_files
from launcher.folders import ROOT, SECRETS, read_variables
from launcher.plan import Plan

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
PLAN = Plan(
    var=Path("/var/lib/evalsite"),
    ports=Ports(),
    host="0.0.0.0",
    flower_host="0.0.0.0",
    nodes=2,
    slots=1,
    gpus=1,
    head=True,
    settings={"EVALSITE_CAPABILITIES": "cpu,torch"},
)
WITH_TRAINER = replace(PLAN, trainers=1)
NOW = 1_790_000_000.0


def words_of(service: str, **variables: str) -> list[str]:
    """Return the words of a command, filled with these variables, else with its defaults."""
    filled = re.sub(
        r"\$\{(\w+):-(\w*)\}",
        lambda each: variables.get(each[1], each[2]),
        SERVICES[service]["command"],
    )
    return shlex.split(filled)


def command_of(plan: Plan, program: str) -> list[str]:
    programs = plan.task_programs(dict.fromkeys(SECRETS, "x"), generations={})
    (command,) = (each.command for each in programs if each.name == program)
    return ["python", *command[1:]]


@pytest.mark.parametrize(
    ("service", "program"),
    [(name, name) for name in ("recorder", "control", "beat", "web", "flower", "head")]
    + [("node-1", "node-1"), ("node-2", "node-2"), ("gpu", "gpu-1")],
)
def test_a_container_runs_the_command_of_the_supervisor(service: str, program: str) -> None:
    command = command_of(PLAN, program)
    assert words_of(service) == [word.replace(f"{program}@", f"{service}@") for word in command]


@pytest.mark.parametrize(
    ("service", "program"), [("control", "control"), ("sink", "sink"), ("trainer", "trainer-1")]
)
def test_with_experience_a_container_runs_that_of_the_supervisor_with_it(
    service: str, program: str, tmp_path: Path
) -> None:
    write_files(tmp_path, n_nodes=1, experience=True, now=NOW)
    command = command_of(WITH_TRAINER, program)
    words = words_of(service, **read_variables(tmp_path / ".env"))
    assert words == [word.replace(f"{program}@", f"{service}@") for word in command]


@pytest.mark.parametrize("experience", [False, True])
def test_nobody_knows_of_a_stream_that_does_not_start(experience: bool, tmp_path: Path) -> None:
    write_files(tmp_path, n_nodes=1, experience=True, now=NOW)
    write_files(tmp_path, n_nodes=1, experience=experience, now=NOW)
    made = read_variables(tmp_path / ".env")
    of_stream = {name: url for name, url in made.items() if name.startswith("STREAM_URL_")}
    roles = {name for name, role in ROLES.items() if role.stream}
    assert set(of_stream) == {f"STREAM_URL_{role.upper()}" for role in roles | {ADMIN}}
    assert all(url.startswith("redis://evalsite-") == experience for url in of_stream.values())
    assert made["COMPOSE_PROFILES"] == ("experience" if experience else "")
    profiles = {name: service.get("profiles") for name, service in SERVICES.items()}
    started = {name for name, profile in profiles.items() if profile == ["experience"]}
    assert started == {"stream", "sink", "trainer"}


def test_a_trainer_knows_neither_the_database_nor_the_secret_key() -> None:
    own = SERVICES["trainer"]["environment"]
    assert asked_of(own) == {"BROKER_URL_TRAINER", "STREAM_URL_TRAINER", "TRAINER_KEY"}


@pytest.mark.parametrize(
    ("service", "options"),
    [("broker", KEPT), ("fast", NOT_KEPT), ("stream", (*SYNCED, "maxmemory 256mb"))],
)
def test_a_server_runs_with_the_same_options(service: str, options: tuple[str, ...]) -> None:
    command = shlex.join(words_of(service)).replace("''", '""')
    for option in (*options, 'save ""', "maxmemory-policy noeviction", "aclfile "):
        assert f"--{option}" in command


NODES = tuple(name for name in SERVICES if name.startswith("node-"))


@pytest.mark.parametrize("node", NODES)
def test_a_play_node_gets_its_own_secrets_and_no_other(node: str) -> None:
    own = SERVICES[node]["environment"]
    assert set(own) == {
        "REDIS_URL",
        "EVALSITE_CAPABILITIES",
        "EVALSITE_CLASS",
        "EVALSITE_PROGRAMS",
        "EVALSITE_INFERENCE_URL",
        "EVALSITE_LABELS",
        "EVALSITE_NODE",
        "EVALSITE_NODE_KEY",
        "EVALSITE_NOTICES",
        "EVALSITE_NOTICE_S",
        "EVALSITE_PLUGINS",
        "EVALSITE_PRICE",
        "EVALSITE_SITE_URL",
        "EVALSITE_SLOTS",
        "OPENBLAS_NUM_THREADS",
        "OMP_NUM_THREADS",
    }
    prefix = node.upper().replace("-", "_")
    of_operator = {
        *("EVALSITE_SLOTS", "EVALSITE_CAPABILITIES", "EVALSITE_LABELS", "EVALSITE_CLASS"),
        *("EVALSITE_PRICE", "EVALSITE_NOTICES", "EVALSITE_NOTICE_S", "EVALSITE_PROGRAMS"),
    }
    used = asked_of(own) - of_operator
    assert used == {f"{prefix}_BROKER_URL", f"{prefix}_FAST_URL", f"{prefix}_KEY"}
    assert own["EVALSITE_NODE"] == node
    assert is_node_name(node)


def asked_of(part: object) -> set[str]:
    """Return the variables that a part of the file reads."""
    return set(re.findall(r"(?<!\$)\$\{(\w+)", json.dumps(part)))


@pytest.mark.parametrize("role", ROLES)
def test_a_program_gets_the_addresses_of_its_own_users(role: str) -> None:
    if role == "commands":
        return  # prepare, and what is run in a container of a program
    logins = {name for name in asked_of(SERVICES[role]["environment"]) if "_URL" in name}
    own = {
        f"{server.upper()}_URL_{role.upper()}"
        for server in SERVERS
        if ROLES[role].rights_at(server)
    }
    admin = {f"{server.upper()}_URL_{ADMIN.upper()}" for server in SERVERS}
    assert logins == own | (admin if role == "control" else set())


def test_one_command_writes_every_variable_that_has_no_default(tmp_path: Path) -> None:
    written = write_files(tmp_path, n_nodes=len(NODES), now=NOW)
    made = read_variables(tmp_path / ".env")
    text = (ROOT / "docker-compose.yml").read_text()
    variables = set(re.findall(r"(?<!\$)\$\{(\w+)(?::\?[\w-]+)?\}", text))
    assert variables <= set(made)
    assert (tmp_path / ".env").stat().st_mode & 0o077 == 0
    again = write_files(tmp_path, n_nodes=len(NODES), now=NOW)
    assert again == written
    assert all(file.is_file() for file in written)
    assert read_variables(tmp_path / ".env") == made


def test_the_files_of_users_are_mounted_and_hold_no_password(tmp_path: Path) -> None:
    write_files(tmp_path, n_nodes=2, now=NOW)
    passwords = re.findall(r":([0-9a-f]{64})@", (tmp_path / ".env").read_text())
    assert len(set(passwords)) == len(passwords) > 15
    for server in SERVERS:
        (mount,) = (line for line in SERVICES[server]["volumes"] if "acl" in line)
        file, target, _ = mount.split(":")
        assert f"--aclfile {target}" in SERVICES[server]["command"]
        users = (tmp_path / file).read_text()
        assert "user default off\n" in users
        assert ("user node-2 on #" in users) == (server != "stream")
        assert not [password for password in passwords if password in users]


def test_the_servers_take_the_files_of_users(tmp_path: Path) -> None:
    write_files(tmp_path, n_nodes=2, experience=True, now=NOW)
    made = read_variables(tmp_path / ".env")
    port = Ports.free().broker
    for server in SERVERS:
        users = tmp_path / "var" / "compose" / f"{server}.acl"
        command = [str(find_server()), "--port", str(port), "--aclfile", str(users)]
        with subprocess.Popen([*command, "--save", ""], stdout=subprocess.DEVNULL) as process:
            try:
                url = made[
                    "STREAM_URL_SINK" if server == "stream" else f"NODE_2_{server.upper()}_URL"
                ]
                admin = made[f"{server.upper()}_URL_ADMIN"]
                wait_until_up(re.sub(r"@\w+:\d+", f"@127.0.0.1:{port}", admin), limit_s=10)
                with Redis.from_url(re.sub(r"@\w+:\d+", f"@127.0.0.1:{port}", url)) as node:
                    assert node.ping()
            finally:
                process.kill()


def test_no_secret_has_a_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    for name in MADE_ONCE:
        assert f"${{{name}:?run-compose-env}}" in text
        assert f"${{{name}:-" not in text


def test_a_game_server_may_dial_the_head_for_a_year_and_do_nothing_else(tmp_path: Path) -> None:
    write_files(tmp_path, n_nodes=1, now=NOW)
    made = read_variables(tmp_path / ".env")
    for now in (NOW, NOW + 360 * 86_400):
        check_pass(made["PASS_KEY"], made["SERVE_PASS"], ANY_SERVER, now=now)
    own = SERVICES["game-server-1"]["environment"]
    assert asked_of(own) == {"SERVE_PASS"}


def test_the_game_server_serves_a_game_of_the_plug_in_folder_to_the_head() -> None:
    words = words_of("game-server-1")
    options = reference.build_parser().parse_args(words[words.index("game_server") + 1 :])
    assert options.name == "game-server-1"
    assert (ROOT / "deploy" / "plugins" / "games" / f"{options.game}.py").is_file()
    assert options.eval_head_url == SERVICES["head"]["environment"]["EVALSITE_HEAD_ADDRESS"]


@pytest.mark.parametrize(
    "service", ["prepare", "control", "web", "node-1", "node-2", "head", "game-server-1"]
)
def test_who_must_know_the_game_sees_the_plug_ins(service: str) -> None:
    mounts = [volume.split(":")[-2] for volume in SERVICES[service]["volumes"]]
    assert SERVICES[service]["environment"]["EVALSITE_PLUGINS"] in mounts


def test_every_file_of_the_clone_that_is_mounted_exists(tmp_path: Path) -> None:
    write_files(tmp_path, n_nodes=1, now=NOW)
    volumes = [volume for service in SERVICES.values() for volume in service.get("volumes", [])]
    files = {volume.split(":")[0] for volume in volumes if volume.startswith("./")}
    assert len(files) > 5
    for file in files:
        folder = tmp_path if file.startswith("./var/") else ROOT
        assert (folder / file).exists(), file


def test_prometheus_scrapes_programs_at_ports_where_they_tell() -> None:
    read = yaml.safe_load((ROOT / "deploy" / "prometheus" / "compose.yml").read_text())
    targets = [target for job in read["scrape_configs"] for target in job["static_configs"]]
    assert [place for target in targets for place in target["targets"]] == ["web:8000", "gpu:9109"]
    assert "--port 8000" in SERVICES["web"]["command"]
    assert SERVICES["gpu"]["environment"]["EVALSITE_METRICS_PORT"] == "9109"
    (token,) = {job["authorization"]["credentials_file"] for job in read["scrape_configs"][:1]}
    assert any(token in volume for volume in SERVICES["prometheus"]["volumes"])


def test_grafana_finds_prometheus_and_the_dashboard() -> None:
    folder = ROOT / "deploy" / "grafana" / "provisioning"
    sources = yaml.safe_load((folder / "datasources" / "prometheus.yml").read_text())
    assert [source["url"] for source in sources["datasources"]] == ["http://prometheus:9090"]
    boards = yaml.safe_load((folder / "dashboards" / "evalsite.yml").read_text())
    (path,) = (provider["options"]["path"] for provider in boards["providers"])
    volumes = [volume.split(":") for volume in SERVICES["grafana"]["volumes"]]
    assert ["./deploy/grafana/evalsite.json", f"{path}/evalsite.json", "ro"] in volumes


def test_every_published_port_is_on_loopback() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_dependency_is_a_service() -> None:
    for service in SERVICES.values():
        assert set(service.get("depends_on", {})) <= set(SERVICES)


@pytest.mark.parametrize("name", [".env", "head.env", "var/compose/nodes/node-1"])
def test_git_ignores_secrets_and_with_it_skypilot_sends_them_to_no_machine(name: str) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this tree is no clone")
    ignored = subprocess.run(["git", "check-ignore", "-q", name], cwd=ROOT, check=False)
    assert ignored.returncode == 0
