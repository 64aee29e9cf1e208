"""`checkpoints`: adds files and runs, waits for verdicts, refuses bad input with exit code 2."""

import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from redis import Redis

from matches.management.commands import checkpoints as command
from matches.models import Agent, Checkpoint
from matches.tests import factories as make
from matches.tests.weights import GAME, added, verdict, weights

# Committed rows would stay: what is refused must not have been stored at all.
pytestmark = pytest.mark.django_db(transaction=True)
Stored = Callable[[], list[str]]
MLP = ("--game", GAME, "--architecture", "mlp")
Capture = pytest.CaptureFixture[str]


def _run(*arguments: object) -> int | str | None:
    """Return the exit code; 0 when the command ends by itself."""
    try:
        command.Command().run_from_argv(["manage.py", "checkpoints", *map(str, arguments)])
    except SystemExit as ended:
        return ended.code
    return 0


def _nothing_is_stored(stored: Stored) -> bool:
    return not (stored() or Checkpoint.objects.exists() or Agent.objects.exists())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a run of three steps."""
    for seed, step in enumerate((100, 20, 3)):
        weights(tmp_path / "given" / f"step_{step}.safetensors", seed=seed)
    return tmp_path / "given"


def test_a_file_is_added_without_waiting(broker: Redis, folder: Path, capsys: Capture) -> None:
    options = ("--agent", "ppo", "--step", 100, "--placement", "gpu", "--no-wait")
    file = folder / "step_100.safetensors"
    assert _run("add", file, *MLP, *options, "--parameter", "hidden=8", "--parameter", "a=b") == 0
    row = Checkpoint.objects.get()
    assert (row.step, row.parameters, row.placement) == (100, {"hidden": 8, "a": "b"}, "gpu")
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["Agent", "Step", "Hash", "State", "Placement", "Row", "ms"]
    assert printed[1].split() == ["ppo@100", "100", row.sha256[:12], "checking", "gpu", "-"]


def _decide(n: int, refusal: str = "") -> threading.Thread:
    """Give the verdict on n checkpoints from another thread as soon as they are there."""

    def decide() -> None:
        end = time.monotonic() + 10
        while Checkpoint.objects.count() < n and time.monotonic() < end:
            pass
        for row in Checkpoint.objects.order_by("step"):
            verdict(row, refusal=refusal if row.step == 20 else "", row_ms=1.25)
        connection.close()

    thread = threading.Thread(target=decide)
    thread.start()
    return thread


def test_a_folder_is_added_and_its_verdicts_are_waited_for(
    broker: Redis, folder: Path, capsys: Capture
) -> None:
    decider = _decide(3)
    assert _run("add", folder, *MLP, "--agent", "ppo") == 0
    decider.join()
    printed = capsys.readouterr().out
    assert "3/3 checked, refused 0" in printed
    rows = [line.split() for line in printed.splitlines()[-3:]]
    assert [row[0] for row in rows] == ["ppo@3", "ppo@20", "ppo@100"]
    assert [row[3:] for row in rows] == [["ready", "gpu", "1.250"]] * 3


def test_a_verdict_that_refuses_ends_with_the_file_and_the_reason(
    broker: Redis, folder: Path, capsys: Capture
) -> None:
    decider = _decide(3, refusal="body.weight holds NaN")
    assert _run("add", folder, *MLP, "--agent", "ppo") == 2
    decider.join()
    printed = capsys.readouterr()
    assert "step_20.safetensors: refused: body.weight holds NaN" in printed.err
    assert "3/3 checked, refused 1" in printed.out


def test_it_says_what_it_waits_for_and_ctrl_c_ends_it_cleanly(
    broker: Redis, folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("matches.management.verdicts.time.sleep", interrupt)
    assert _run("add", folder, *MLP, "--agent", "ppo") == 130
    printed = capsys.readouterr()
    assert "0/3 checked, refused 0, 0 s, waiting for a gpu worker: none is alive" in printed.out
    assert "ppo@100" in printed.out
    assert "the checks go on" in printed.err
    assert Checkpoint.objects.count() == 3


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("nowhere --agent a", "nowhere"),
        ("{folder} --agent a", "say which game it plays"),
        ("{folder} --agent a --game poker", "connect_four"),
        ("{folder} --agent a --game connect_four", "name its architecture"),
        ("{folder}", "--agent"),
        ("{folder} --agent a --step 5", "is a folder"),
        ("{folder} --agent a --step -5", "-5"),
        ("{folder} --agent a --step soon", "'soon'"),
        ("{folder} --agent a --sha256 00", "is a folder"),
        ("{folder} --agent a --placement moon", "moon"),
        ("{folder} --agent a --parameter hidden", "NAME=VALUE"),
        ("{folder} {mlp} --agent a --parameter hidden=NaN", "parameter 'hidden' is nan"),
        ("{folder} {mlp} --agent a --parent nobody", "'nobody'"),
        ("{folder}/step_3.safetensors {mlp} --agent a --sha256 00", "not 00"),
        ("{folder}/bad.pt {mlp} --agent a", "bad.pt: this is a pickle"),
        ("{folder}/empty {mlp} --agent a", "it holds no *.safetensors"),
    ],
)
def test_bad_input_ends_with_exit_code_2_naming_the_value(
    broker: Redis, folder: Path, stored: Stored, capsys: Capture, arguments: str, wanted: str
) -> None:
    (folder / "bad.pt").write_bytes(b"\x80\x04.")
    (folder / "empty").mkdir()
    given = arguments.format(folder=folder, mlp=" ".join(MLP)).split()
    assert _run("add", *given) == 2
    assert wanted in capsys.readouterr().err
    assert _nothing_is_stored(stored)


def test_a_bad_file_of_a_folder_is_named_before_any_is_stored(
    broker: Redis, folder: Path, stored: Stored, capsys: Capture
) -> None:
    (folder / "step_50.safetensors").write_bytes(b"\x80\x04.")
    assert _run("add", folder, *MLP, "--agent", "ppo") == 2
    assert "step_50.safetensors: this is a pickle" in capsys.readouterr().err
    assert _nothing_is_stored(stored)


def test_checkpoints_are_listed_with_their_reasons(
    broker: Redis, tmp_path: Path, capsys: Capture
) -> None:
    verdict(added(tmp_path, "first", seed=1).checkpoint, row_ms=0.05)
    verdict(added(tmp_path, "second", seed=2).checkpoint, refusal="no")
    assert _run("list") == 0
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines()] == [
        *("Agent", "second", "first", "second-2.safetensors:"),
    ]
    _run("list", "--agent", "first", "--game", GAME)
    assert "second" not in capsys.readouterr().out


def test_one_checkpoint_is_shown(broker: Redis, tmp_path: Path, capsys: Capture) -> None:
    row = added(tmp_path, "ppo", step=4).checkpoint
    assert row is not None
    for arguments in ((row.sha256,), (row.sha256[:6],), ("ppo@4", "--game", GAME)):
        assert _run("show", *arguments) == 0
        shown = capsys.readouterr().out
        assert row.sha256 in shown
        assert "ppo@4" in shown
    assert _run("show", "ffffff") == 2
    assert "'ffffff'" in capsys.readouterr().err


def test_convert_gets_its_arguments_as_they_are_and_keeps_its_exit_code(
    capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "echo_arguments.py").write_text(
        "import sys\nprint(sys.argv[1:])\nsys.exit(len(sys.argv))\n"
    )
    monkeypatch.setattr(command, "CONVERTER", "echo_arguments")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert _run("convert", "--from", "sb3", "FILE", "--help") == 5
    assert "['--from', 'sb3', 'FILE', '--help']" in capfd.readouterr().out


def test_convert_ends_cleanly_on_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", interrupt)
    assert _run("convert", "FILE") == 130


def test_progress_says_what_a_tournament_waits_for(
    broker: Redis, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    make.scheduled(4, game=GAME, agents=["random", added(tmp_path, "net")])

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    call_command("progress")
    assert "waiting for the check of 1 checkpoint(s)" in capsys.readouterr().out
