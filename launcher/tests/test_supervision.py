import resource
from configparser import RawConfigParser
from pathlib import Path
from typing import NoReturn
from xmlrpc.client import Fault

import pytest

from launcher.errors import SetupError
from launcher.programs import Program
from launcher.supervision import Supervisor, allow_files, config_text, kill_leftovers

PROGRAM = Program("web", ("serve", "--name", "a%h", "two words"), {"URL": "redis://:p%40x@h/0"})


def parsed(text: str) -> RawConfigParser:
    parser = RawConfigParser(strict=True)
    parser.read_string(text)
    return parser


def test_percent_signs_and_blanks_reach_the_program_unchanged(tmp_path: Path) -> None:
    section = parsed(config_text(tmp_path, [PROGRAM], at_once=[]))["program:web"]
    assert section["command"] % {} == "serve --name a%h 'two words'"
    assert section["environment"] % {} == 'URL="redis://:p%40x@h/0"'


def test_only_the_programs_of_the_start_begin_with_the_supervisor(tmp_path: Path) -> None:
    programs = [PROGRAM, Program("broker", ("serve",))]
    config = parsed(config_text(tmp_path, programs, at_once=["broker"]))
    started = [
        name for name in ("web", "broker") if config.getboolean(f"program:{name}", "autostart")
    ]
    assert started == ["broker"]


@pytest.mark.parametrize("value", ['a"b', "a\nb"])
def test_a_value_that_would_break_the_configuration_is_refused(value: str, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="REDIS_URL"):
        config_text(tmp_path, [Program("web", ("serve",), {"REDIS_URL": value})], at_once=[])


def test_an_empty_folder_has_no_supervisor_and_no_leftovers(tmp_path: Path) -> None:
    assert Supervisor(tmp_path).pid() is None
    assert kill_leftovers(tmp_path) == 0


@pytest.mark.parametrize(
    ("limits", "allowed"),
    [
        ((1_024, 4_096), 4_096),
        ((1_024, 100_000), 60_000),
        ((1_024, resource.RLIM_INFINITY), 60_000),
        ((80_000, 100_000), 80_000),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), resource.RLIM_INFINITY),
    ],
)
def test_programs_may_open_as_many_files_as_the_machine_allows(
    limits: tuple[int, int], allowed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [limits]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, new_limits: chosen.append(new_limits))
    assert allow_files(60_000) == allowed
    assert chosen[-1] == (allowed, limits[1])


def test_a_program_that_cannot_be_started_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise Fault(50, "SPAWN_ERROR: web")

    monkeypatch.setattr(Supervisor, "_call", refuse)
    with pytest.raises(SetupError, match=r"web cannot be started \(SPAWN_ERROR: web\): see .*log"):
        Supervisor(tmp_path).start_programs(["web"])
