from pathlib import Path

import pytest

from arena import needs
from arena.acl import ADMIN, ROLES, SERVERS, role_password
from arena.credentials import node_secret, trainer_key
from arena.games.showdown.installed import VARIABLE as SHOWDOWN
from launcher.addresses import Ports
from launcher.errors import SetupError
from launcher.folders import SECRETS
from launcher.plan import Plan
from launcher.programs import Program

SECRET_VALUES = {name: f"value-of-{name}" for name in SECRETS}
KEY = SECRET_VALUES["EVALSITE_SECRET_KEY"]


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
        "EVALSITE_CAPABILITIES": ",".join(needs.list_installed()),
        "EVALSITE_INFERENCE_URL": (
            f"redis://node-2:{node_secret(KEY, 'fast', 'node-2', 3)}@127.0.0.1:7380/0"
        ),
        "EVALSITE_SITE_URL": "http://127.0.0.1:8000",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "REDIS_URL": (f"redis://node-2:{node_secret(KEY, 'broker', 'node-2', 3)}@127.0.0.1:7379/0"),
        "EVALSITE_ALIVE_S": "3",
        "EVALSITE_NODE": "node-2",
        "EVALSITE_NODE_KEY": node_secret(KEY, "reports", "node-2", 3),
        "EVALSITE_SLOTS": "4",
    }


def test_a_play_node_takes_its_own_queue_and_no_other(plan: Plan) -> None:
    for name in ("node-1", "node-2"):
        command = planned(plan)[name].command
        assert command[command.index("-Q") + 1] == f"play.{name}"


def test_each_recorder_takes_one_queue_as_the_same_user(tmp_path: Path) -> None:
    plan = Plan(var=tmp_path, ports=Ports(), recorders=3)
    programs = planned(plan)
    queues = {
        name: its.command[its.command.index("-Q") + 1]
        for name, its in programs.items()
        if name.startswith("recorder")
    }
    assert queues == {"recorder": "reports", "recorder-2": "reports.1", "recorder-3": "reports.2"}
    assert programs["recorder-3"].environment == programs["recorder"].environment
    assert plan.shared_variables(SECRET_VALUES)["EVALSITE_RECORDERS"] == "3"


def test_a_play_node_without_torch_takes_no_match_that_needs_it(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(needs, "find_spec", lambda _: None)
    monkeypatch.setattr(needs, "is_playable", lambda _: False)
    node = planned(plan)["node-1"]
    assert node.environment["EVALSITE_CAPABILITIES"] == "cpu"


def test_a_simulator_in_the_data_folder_is_found_by_nodes_and_web(plan: Plan) -> None:
    assert SHOWDOWN not in planned(plan)["web"].environment
    folder = plan.var / "tools" / "showdown"
    folder.mkdir(parents=True)
    for name in ("node-1", "web"):
        assert planned(plan)[name].environment[SHOWDOWN] == str(folder)


def test_a_server_of_networks_knows_both_servers_and_takes_every_shard(tmp_path: Path) -> None:
    settings = {
        "EVALSITE_SHARDS": "2",
        "EVALSITE_DEVICE": "cuda",
        "EVALSITE_METRICS_PORT": "9100",
    }
    plan = Plan(var=tmp_path, ports=Ports(), gpus=2, settings=settings)
    gpu = planned(plan)["gpu-2"]
    assert gpu.command[gpu.command.index("-Q") + 1] == "gpu,gpu.1"
    assert gpu.environment["FAST_REDIS_URL"] == plan.role_url("fast", "gpu", SECRET_VALUES)
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
    assert plan.admin_url("broker", SECRET_VALUES) == "redis://elsewhere/0"


@pytest.mark.parametrize(
    "role", ["web", "control", "recorder", "beat", "flower", "gpu-1", "trainer-1"]
)
def test_each_program_gets_the_addresses_of_its_own_users_only(tmp_path: Path, role: str) -> None:
    own = planned(Plan(var=tmp_path, ports=Ports(), gpus=1, trainers=1))[role].environment
    user = role.removesuffix("-1")
    passwords = {
        (server, other): role_password(KEY, server, other)
        for server in SERVERS
        for other in (ADMIN, *ROLES)
        if other != user
    }
    held = "\n".join(own.values())
    assert [of for of, password in passwords.items() if password in held] == (
        [(server, ADMIN) for server in SERVERS] if user == "control" else []
    )
    assert own["REDIS_URL"] == (
        f"redis://evalsite-{user}:{role_password(KEY, 'broker', user)}@127.0.0.1:7379/0"
    )


def test_on_a_given_server_that_makes_users_each_program_has_its_own(tmp_path: Path) -> None:
    settings = {"REDIS_URL": "rediss://admin:p@elsewhere:1/2", "FAST_REDIS_URL": "redis://f/0"}
    plan = Plan(var=tmp_path, ports=Ports(), settings=settings, with_users=frozenset({"broker"}))
    programs = planned(plan)
    web, node = programs["web"].environment, programs["node-1"].environment
    password = role_password(KEY, "broker", "web")
    assert web["REDIS_URL"] == f"rediss://evalsite-web:{password}@elsewhere:1/2"
    assert web["FAST_REDIS_URL"] == "redis://f/0"
    assert node["REDIS_URL"].startswith("rediss://node-1:")
    assert "EVALSITE_INFERENCE_URL" not in node
    assert plan.shared_variables(SECRET_VALUES)["EVALSITE_UNENFORCED"] == "fast"


def test_without_the_flag_there_is_no_stream_and_nobody_hears_of_one(tmp_path: Path) -> None:
    settings = {"STREAM_REDIS_URL": "redis://elsewhere/0"}
    plan = Plan(var=tmp_path, ports=Ports(), gpus=1, head=True, settings=settings)
    assert "stream" not in plan.listening
    programs = planned(plan)
    assert not {"stream", "sink", "trainer-1"} & set(programs)
    of_servers = [one.environment.get("STREAM_REDIS_URL", "") for one in programs.values()]
    assert set(of_servers) == {""}
    shared = plan.shared_variables(SECRET_VALUES)
    assert (shared["STREAM_REDIS_URL"], shared["EVALSITE_UNENFORCED"]) == ("", "")
    command = programs["control"].command
    assert command[command.index("-Q") + 1] == "control"


def test_experience_takes_a_stream_that_is_on_disk_before_it_answers_and_a_sink(
    tmp_path: Path,
) -> None:
    settings = {"EVALSITE_STREAM_MB": "64"}
    plan = Plan(var=tmp_path, ports=Ports(), experience=True, settings=settings)
    assert plan.own_servers == ["broker", "fast", "stream"]
    programs = planned(plan)
    assert list(programs)[:3] == ["broker", "fast", "stream"]
    lines = (tmp_path / "stream" / "valkey.conf").read_text().splitlines()
    assert {"appendfsync always", "maxmemory 64mb", "maxmemory-policy noeviction"} <= set(lines)
    assert programs["sink"].command[1:] == ("manage.py", "sink")
    assert "trainer-1" not in programs
    command = programs["control"].command
    assert command[command.index("-Q") + 1] == "control,trained"


@pytest.mark.parametrize("role", ["web", "control", "sink", "trainer"])
def test_at_the_stream_each_program_is_its_own_user_and_the_others_hear_of_none(
    tmp_path: Path, role: str
) -> None:
    programs = planned(Plan(var=tmp_path, ports=Ports(), gpus=1, head=True, trainers=1))
    own = programs["trainer-1" if role == "trainer" else role].environment
    password = role_password(KEY, "stream", role)
    assert own["STREAM_REDIS_URL"] == f"redis://evalsite-{role}:{password}@127.0.0.1:7381/0"
    for name in ("recorder", "beat", "flower", "gpu-1", "head", "node-1"):
        assert programs[name].environment.get("STREAM_REDIS_URL", "") == ""


def test_a_trainer_knows_its_servers_its_key_and_nothing_else(tmp_path: Path) -> None:
    settings = {"DATABASE_URL": "postgres://secret", "EVALSITE_PLUGINS": "/own"}
    plan = Plan(var=tmp_path, ports=Ports(), trainers=2, settings=settings)
    trainer = planned(plan)["trainer-2"]
    assert dict(trainer.environment) == {
        "EVALSITE_CACHE": str(plan.var / "cache"),
        "EVALSITE_PLUGINS": "/own",
        "EVALSITE_NODE_KEY": trainer_key(KEY),
        "EVALSITE_SITE_URL": "http://127.0.0.1:8000",
        "EVALSITE_TRAINER": "trainer-2",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "REDIS_URL": plan.role_url("broker", "trainer", SECRET_VALUES),
        "STREAM_REDIS_URL": plan.role_url("stream", "trainer", SECRET_VALUES),
    }
    words = " ".join(trainer.command)
    assert "-A training worker -P solo -Q train -n trainer-2@%h" in words


def test_a_stream_of_somebody_else_is_not_started(tmp_path: Path) -> None:
    settings = {"STREAM_REDIS_URL": "redis://me:p@elsewhere/0"}
    plan = Plan(var=tmp_path, ports=Ports(), trainers=1, settings=settings)
    programs = planned(plan)
    assert "stream" not in programs
    assert programs["sink"].environment["STREAM_REDIS_URL"] == "redis://me:p@elsewhere/0"
    assert plan.shared_variables(SECRET_VALUES)["EVALSITE_UNENFORCED"] == "stream"


@pytest.mark.parametrize("value", ["0", "much", "-1"])
def test_a_wrong_memory_of_the_stream_is_named(tmp_path: Path, value: str) -> None:
    settings = {"EVALSITE_STREAM_MB": value}
    with pytest.raises(SetupError, match=f"EVALSITE_STREAM_MB is '{value}'; a number from 1"):
        planned(Plan(var=tmp_path, ports=Ports(), experience=True, settings=settings))


def test_a_stack_without_pages_opens_no_port_for_them(tmp_path: Path) -> None:
    plan = Plan(var=tmp_path, ports=Ports(), web=False, flower=False)
    assert plan.listening == ["broker", "fast"]
    assert plan.addresses() == {}


def test_a_browser_is_not_sent_to_the_address_of_all_hosts(tmp_path: Path) -> None:
    plan = Plan(var=tmp_path, ports=Ports(web=81), host="0.0.0.0")
    assert plan.addresses()["Board"] == "http://127.0.0.1:81/"


def test_what_is_bound_is_open_there_and_on_loopback_with_the_same_users(tmp_path: Path) -> None:
    plan = Plan(var=tmp_path, ports=Ports(), host="192.0.2.1", bind="192.0.2.1", flower=True)
    programs = {one.name: one for one in plan.programs(SECRET_VALUES, generations={})}
    for name in ("broker", "fast"):
        lines = (tmp_path / name / "valkey.conf").read_text().splitlines()
        assert "bind 127.0.0.1 192.0.2.1" in lines
        assert "user default off" in lines
    assert "@192.0.2.1:7379/0" in plan.node_url("broker", "far-1", SECRET_VALUES, generation=1)
    assert "192.0.2.1" in programs["web"].command
    # The monitor asks for no login everywhere: it stays where it was.
    assert "--address=127.0.0.1" in programs["flower"].command
