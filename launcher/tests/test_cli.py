import errno
from pathlib import Path
from typing import NoReturn

import pytest

from benchmarks.storm.servers import OutsideServer
from launcher import compose, foreground
from launcher.addresses import LOOPBACK
from launcher.cli import build_parser, main, read_optional_programs
from launcher.plan import Plan


@pytest.fixture(autouse=True)
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("EVALSITE_VAR", str(tmp_path / "var"))
    return tmp_path / "var"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["up", "--nodes", "-1"], "'-1' is no whole number from 0 on"),
        (["up", "--recorders", "0"], "'0' is no whole number from 1 to 10"),
        (["up", "--recorders", "11"], "'11' is no whole number from 1 to 10"),
        (["up", "--trainers", "-1"], "'-1' is no whole number from 0 on"),
        (["up", "--nodes", "many"], "'many' is no whole number from 0 on"),
        (["--concurrency", "0"], "'0' is no whole number from 1 on"),
        (["up", "--concurrency", "1.5"], "'1.5' is no whole number from 1 on"),
        (["stop", "now"], "unrecognized arguments: now"),
        (["up", "--capabilities", "cpu,my node"], "'my node': must be up to 40 letters, digits"),
        (["up", "--capabilities", "cpu,gpu"], "'gpu': must be no service (gpu, server)"),
    ],
)
def test_a_wrong_command_line_is_refused_with_the_value_and_the_choices(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert named in capsys.readouterr().err


def test_a_file_that_a_command_has_no_right_to_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", "/clone/.env")

    monkeypatch.setattr(compose, "write_files", refuse)
    assert main(["compose-env"]) == 2
    assert "no right to read or write /clone/.env (Perm" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("EVALSITE_PORT", "http", "EVALSITE_PORT is 'http'"),
        ("EVALSITE_LABELS", "class=spot,zone", "EVALSITE_LABELS: label 'zone': must be name=value"),
        ("EVALSITE_HOST", "192.0.2.1", "EVALSITE_HOST is '192.0.2.1'"),
        ("REDIS_URL", "redis://127.0.0.1:1/0", "REDIS_URL at redis://127.0.0.1:1/0 cannot"),
        ("REDIS_URL", "nonsense", "address of the REDIS_URL at nonsense is wrong"),
        ("REDIS_URL", "redis://:a#b@127.0.0.1:1/0", "REDIS_URL cannot be read; in a password"),
        ("REDIS_URL", "redis://:1/b@127.0.0.1:1/0", "REDIS_URL has an @ behind its host; in a"),
        ("REDIS_URL", "redis://:/b@127.0.0.1/0", "REDIS_URL has an @ behind its host; in a pass"),
        ("FAST_REDIS_URL", "redis://[::1/0", "FAST_REDIS_URL cannot be read; in a password"),
        ("REDIS_URL", "redis://127.0.0.1:1/main", "REDIS_URL ends with '/main'; the number of a"),
        ("EVALSITE_HEAD", "yes", "EVALSITE_HEAD is 'yes'; choose 1 or 0"),
        ("EVALSITE_RECORDERS", "0", "EVALSITE_RECORDERS: '0' is no whole number from 1 to 10"),
        ("EVALSITE_TRAINERS", "", "EVALSITE_TRAINERS: '' is no whole number from 0 on"),
        ("EVALSITE_VAR", "/dev/null/var", "/dev/null/var cannot be written"),
    ],
)
def test_a_wrong_environment_is_refused_before_anything_starts(
    variable: str,
    value: str,
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(variable, value)
    assert main(["up"]) == 2
    assert named in capsys.readouterr().err


def test_an_empty_host_opens_nothing_to_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Plan] = []
    monkeypatch.setattr(foreground, "run_stack", lambda plan, **_: plans.append(plan))
    monkeypatch.setenv("EVALSITE_HOST", "")
    main(["up"])
    assert plans[0].host == LOOPBACK


def test_a_fast_store_on_the_server_of_the_queues_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = OutsideServer(tmp_path / "broker", password="s3cret", is_kept=True)
    monkeypatch.setenv("REDIS_URL", server.url)
    monkeypatch.setenv("FAST_REDIS_URL", server.url.replace("/0", "/1"))
    try:
        assert main(["up"]) == 2
    finally:
        server.close()
    printed = capsys.readouterr().err
    assert "REDIS_URL and FAST_REDIS_URL are one server, 127.0.0.1:" in printed
    assert "s3cret" not in printed


def test_a_stream_on_the_server_of_the_queues_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://a:secret@127.0.0.1:1/0")
    monkeypatch.setenv("STREAM_REDIS_URL", "redis://b:secret@127.0.0.1:1/1")
    assert main(["up", "--experience"]) == 2
    printed = capsys.readouterr().err
    assert "STREAM_REDIS_URL redis://b:***@127.0.0.1:1/1 is the server of the broker" in printed


def test_what_nodes_have_is_an_option_and_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert build_parser().parse_args(["up"]).capabilities is None
    monkeypatch.setenv("EVALSITE_CAPABILITIES", "cpu, mujoco")
    assert build_parser().parse_args(["up"]).capabilities == "cpu,mujoco"
    chosen = build_parser().parse_args(["up", "--capabilities", "cpu,big"])
    assert chosen.capabilities == "cpu,big"


@pytest.mark.parametrize("word", ["1", "true", "On"])
def test_experience_and_trainers_are_options_and_variables(
    word: str,
) -> None:
    options = build_parser().parse_args(["up"])
    programs = {"recorders": 1, "trainers": 0, "head": False, "experience": False}
    assert read_optional_programs(options, {}) == programs
    variables = {"EVALSITE_EXPERIENCE": word, "EVALSITE_TRAINERS": "2"}
    assert read_optional_programs(options, variables) == programs | {
        "experience": True,
        "trainers": 2,
    }
    options = build_parser().parse_args(["up", "--trainers", "3"])
    assert read_optional_programs(options, variables)["trainers"] == 3


def test_status_and_stop_say_that_nothing_runs(
    own_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status"]) == 1
    assert main(["stop"]) == 0
    assert capsys.readouterr().out == f"nothing runs in {own_folder}\n" * 2


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    printed = capsys.readouterr().out
    for command in ("up", "stop", "status", "check", "test", "manage", "bench", "chaos"):
        assert f"\n    {command} " in printed


@pytest.mark.parametrize(
    ("arguments", "program"),
    [
        (["evaluate", "--game", "x"], ["-m", "evalsite_client", "evaluate", "--game", "x"]),
        (["stop", "3"], ["-m", "evalsite_client", "stop", "3"]),
        (["fly"], ["-m", "evalsite_client", "fly"]),
        (["manage", "migrate"], ["manage.py", "migrate"]),
    ],
)
def test_unknown_words_are_passed_on_to_the_client_of_this_folder(
    arguments: list[str],
    program: list[str],
    own_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    became: list[list[str]] = []

    def become(_: str, command: list[str], environment: dict[str, str]) -> None:
        assert environment["EVALSITE_VAR"] == str(own_folder)
        assert program[0] != "-m" or "EVALSITE_URL" not in environment, "another server's"
        became.append(command[1:])
        raise SystemExit

    monkeypatch.setenv("EVALSITE_URL", "https://elsewhere.example.org")
    monkeypatch.setattr("os.chdir", lambda _: None)
    monkeypatch.setattr("os.execve", become)
    with pytest.raises(SystemExit):
        main(arguments)
    assert became == [program]
