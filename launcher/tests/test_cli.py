from pathlib import Path

import pytest

from launcher.cli import build_parser, main


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


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("EVALSITE_PORT", "http", "EVALSITE_PORT is 'http'"),
        ("EVALSITE_LABELS", "class=spot,zone", "EVALSITE_LABELS: label 'zone': must be name=value"),
        ("EVALSITE_HOST", "192.0.2.1", "EVALSITE_HOST is '192.0.2.1'"),
        ("REDIS_URL", "redis://127.0.0.1:1/0", "REDIS_URL at redis://127.0.0.1:1/0 cannot"),
        ("REDIS_URL", "nonsense", "address of the REDIS_URL at nonsense is wrong"),
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


def test_experience_and_trainers_are_options_and_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = build_parser().parse_args(["up"])
    assert (options.experience, options.trainers) == (False, 0)
    monkeypatch.setenv("EVALSITE_EXPERIENCE", "1")
    monkeypatch.setenv("EVALSITE_TRAINERS", "2")
    options = build_parser().parse_args(["up"])
    assert (options.experience, options.trainers) == (True, 2)
    assert build_parser().parse_args(["up", "--trainers", "3"]).trainers == 3


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
