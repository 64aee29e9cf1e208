"""`evalsite checkpoints`: adds files and runs, waits for verdicts, refuses bad input with 2."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.checkpoints import Seal, write_sealed
from arena.games import registry as games
from evalsite_client import Clock
from evalsite_client.cli import converting
from evalsite_client.errors import UnreachableError
from evalsite_client.nouns import Checkpoints
from evalsite_client.tests.commands import Evalsite, as_json, ok
from matches.models import Checkpoint
from matches.tests.weights import GAME, added, verdict, weights

pytestmark = pytest.mark.django_db(transaction=True)
MLP = ("--game", GAME, "--architecture", "mlp")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a run of three steps."""
    for seed, step in enumerate((100, 20, 3)):
        weights(tmp_path / "given" / f"step_{step}.safetensors", seed=seed)
    return tmp_path / "given"


@pytest.fixture
def when_it_sleeps(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Return what lets something happen whenever the command waits."""

    def let(work: Callable[[], None]) -> None:
        monkeypatch.setattr("evalsite_client.client.Clock", lambda: Clock(sleep=lambda _: work()))

    return let


def test_a_file_is_added_without_waiting(evalsite: Evalsite, folder: Path) -> None:
    options = ("--agent", "ppo", "--step", 100, "--placement", "gpu", "--no-wait")
    parameters = ("--parameter", "hidden=8", "--parameter", "a=b")
    output = ok(
        evalsite("checkpoints", "add", folder / "step_100.safetensors", *MLP, *options, *parameters)
    )
    row = Checkpoint.objects.get()
    assert (row.step, row.parameters, row.placement) == (100, {"hidden": 8, "a": "b"}, "gpu")
    head, line = output.splitlines()
    assert head.split() == ["agent", "step", "hash", "state", "placement", "row", "ms"]
    assert line.split() == ["ppo@100", "100", row.sha256[:12], "checking", "gpu", "-"]


def _decide(refusal: str = "") -> None:
    for row in Checkpoint.objects.filter(state=Checkpoint.State.CHECKING):
        verdict(row, refusal=refusal if row.step == 20 else "", row_ms=1.25)


def test_a_folder_is_added_and_its_verdicts_are_waited_for(
    evalsite: Evalsite,
    folder: Path,
    when_it_sleeps: Callable[[Callable[[], None]], None],
) -> None:
    when_it_sleeps(_decide)
    status, out, err = evalsite("checkpoints", "add", folder, *MLP, "--agent", "ppo")
    assert status == 0, err
    assert "waiting for a gpu worker: none is alive" in err
    rows = [line.split() for line in out.splitlines()[1:]]
    assert [row[0] for row in rows] == ["ppo@3", "ppo@20", "ppo@100"]
    assert [row[3:] for row in rows] == [["ready", "gpu", "1.25"]] * 3
    first, second, third = Checkpoint.objects.order_by("step")
    assert (second.parent, third.parent) == (first, second)


def test_a_verdict_that_refuses_ends_with_the_file_and_the_reason(
    evalsite: Evalsite,
    folder: Path,
    when_it_sleeps: Callable[[Callable[[], None]], None],
) -> None:
    when_it_sleeps(lambda: _decide("body.weight holds NaN"))
    status, _, err = evalsite("checkpoints", "add", folder, *MLP, "--agent", "ppo")
    assert status == 2
    assert "step_20.safetensors: refused: body.weight holds NaN" in err


def test_a_folder_of_which_all_is_refused_for_one_reason_has_it_told_once(
    evalsite: Evalsite,
    folder: Path,
    when_it_sleeps: Callable[[Callable[[], None]], None],
) -> None:
    def refuse() -> None:
        for row in Checkpoint.objects.filter(state=Checkpoint.State.CHECKING):
            verdict(row, refusal="its shapes are of another game")

    when_it_sleeps(refuse)
    status, _, err = evalsite("checkpoints", "add", folder, *MLP, "--agent", "ppo")
    assert (status, err.count("its shapes are of another game")) == (2, 1)
    assert "step_3.safetensors and 2 more: refused: its shapes" in err


def test_after_ctrl_c_the_checks_go_on(
    evalsite: Evalsite,
    folder: Path,
    when_it_sleeps: Callable[[Callable[[], None]], None],
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    when_it_sleeps(interrupt)
    status, out, err = evalsite("checkpoints", "add", folder, *MLP, "--agent", "ppo")
    assert (status, "ppo@100" in out, "the checks go on" in err) == (130, True, True)
    assert Checkpoint.objects.count() == 3


def test_ctrl_c_while_the_server_is_away_ends_as_ctrl_c_does(
    evalsite: Evalsite,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    when_it_sleeps: Callable[[Callable[[], None]], None],
) -> None:
    def leave(*_: object) -> None:
        raise UnreachableError("away")

    def interrupt() -> None:
        monkeypatch.setattr(Checkpoints, "get", leave)
        raise KeyboardInterrupt

    when_it_sleeps(interrupt)
    status, _, err = evalsite("checkpoints", "add", folder, *MLP, "--agent", "ppo")
    assert (status, "the checks go on" in err) == (130, True), err


REFUSED = [
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
    ("{folder} {mlp} --agent a --parameter hidden=NaN", "hidden"),
    ("{folder} {mlp} --agent a --parent nobody", "'nobody'"),
    ("{folder}/step_3.safetensors {mlp} --agent a --sha256 00", "not 00"),
    ("{folder}/bad.pt {mlp} --agent a", "bad.pt: this is a pickle"),
    ("{folder}/empty {mlp} --agent a", "it holds no *.safetensors"),
]


def test_bad_input_ends_with_2_naming_the_value(evalsite: Evalsite, folder: Path) -> None:
    (folder / "bad.pt").write_bytes(b"\x80\x04.")
    (folder / "empty").mkdir()
    for arguments, words in REFUSED:
        options = arguments.format(folder=folder, mlp=" ".join(MLP)).split()
        status, _, err = evalsite("checkpoints", "add", *options)
        assert status == 2, (arguments, err)
        assert words in err, (arguments, err)
    assert not Checkpoint.objects.exists()


def test_a_bad_file_of_a_folder_is_named_before_any_is_sent(
    evalsite: Evalsite, folder: Path
) -> None:
    whole = (folder / "step_20.safetensors").read_bytes()
    for content in (b"\x80\x04.", b"", whole[:40]):
        (folder / "step_50.safetensors").write_bytes(content)
        status, _, err = evalsite("checkpoints", "add", folder, *MLP, "--agent", "ppo")
        assert (status, "step_50.safetensors: this is no whole safetensors" in err) == (2, True)
    assert not Checkpoint.objects.exists()


def test_checkpoints_are_listed_and_one_is_shown(
    evalsite: Evalsite, broker: object, tmp_path: Path
) -> None:
    row = added(tmp_path, "ppo", seed=1, step=4).checkpoint
    added(tmp_path, "other", seed=2)
    assert row is not None
    table = ok(evalsite("checkpoints", "list"))
    assert ("ppo@4" in table, "other" in table) == (True, True)
    (checkpoint,) = as_json(
        evalsite("checkpoints", "list", "--agent", "ppo", "--game", GAME, "--json")
    )
    assert checkpoint["sha256"] == row.sha256
    for arguments in ((row.sha256,), (row.sha256[:6],), ("ppo@4", "--game", GAME)):
        table = ok(evalsite("checkpoints", "show", *arguments))
        assert (row.sha256 in table, "ppo@4" in table) == (True, True)
    status, _, err = evalsite("checkpoints", "show", "ffffff")
    assert (status, "'ffffff'" in err) == (2, True)


def test_a_filter_before_the_verb_counts_too(
    evalsite: Evalsite, broker: object, tmp_path: Path
) -> None:
    added(tmp_path, "ppo", seed=1, step=4)
    added(tmp_path, "other", seed=2)
    for before, after in (
        (("--agent", "ppo"), ()),
        (("--limit", 1), ("--agent", "ppo")),
        (("--agent", "other"), ("--agent", "ppo")),
    ):
        (checkpoint,) = as_json(evalsite("checkpoints", *before, "list", *after, "--json"))
        assert checkpoint["run"] == "ppo"
    assert as_json(evalsite("checkpoints", "--game", "hex", "list", "--json")) == []
    assert "ppo@4" in ok(evalsite("checkpoints", "--game", GAME, "show", "ppo@4"))


@pytest.mark.parametrize("before", [("--url", "http://x"), ("checkpoints", "--game", "hex")])
def test_convert_after_options_says_that_it_works_on_files_here(
    evalsite: Evalsite, before: tuple[str, ...]
) -> None:
    verb = ("convert",) if "checkpoints" in before else ("checkpoints", "convert")
    for further in ((), ("runs/ppo", "--from", "cleanrl"), ("--from", "cleanrl", "-h")):
        status, out, err = evalsite(*before, *verb, *further)
        assert (status, out) == (2, ""), err
        assert "works on files of this machine" in err


def _sealed(folder: Path) -> Path:
    """Return the same files, sealed: they say themselves which game they play."""
    spec = games.get(GAME).spec
    seal = Seal("mlp", {}, GAME, spec.observation_shape, spec.n_actions)
    target = folder.with_name("sealed")
    target.mkdir()
    for path in folder.iterdir():
        write_sealed(path, target / path.name, seal)
    return target


def test_a_run_of_which_a_name_is_taken_is_refused_as_a_whole(
    evalsite: Evalsite, broker: object, folder: Path, tmp_path: Path
) -> None:
    other = added(tmp_path / "else", "ppo", seed=7, step=100).checkpoint
    for options in ((folder, *MLP), (_sealed(folder),)):
        status, _, err = evalsite("checkpoints", "add", *options, "--agent", "ppo")
        assert (status, "step_100.safetensors: 'ppo@100' is already an agent" in err) == (2, True)
        assert Checkpoint.objects.get() == other
    verdict(other, refusal="NaN")  # so that its agent has never played, and may be had anew
    ok(evalsite("checkpoints", "add", folder, *MLP, "--agent", "ppo", "--no-wait"))
    assert Checkpoint.objects.filter(run="ppo").count() == 4


def test_a_run_that_is_refused_halfway_says_what_was_added(
    evalsite: Evalsite, broker: object, folder: Path, tmp_path: Path
) -> None:
    added(tmp_path / "else", "other", seed=0)  # the content of step_100
    status, _, err = evalsite("checkpoints", "add", folder, *MLP, "--agent", "ppo")
    assert (status, "is already that of agent 'other'" in err) == (2, True), err
    second = Checkpoint.objects.get(step=20)
    assert "added before it: ppo@3, ppo@20" in err
    assert f"--parent {second.sha256}" in err


def test_convert_gets_its_arguments_as_they_are_and_keeps_its_exit_status(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "echo_arguments.py").write_text(
        "import sys\nprint(sys.argv[1:])\nsys.exit(len(sys.argv))\n"
    )
    monkeypatch.setattr(converting, "CONVERTER", "echo_arguments")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert converting.convert_files(["--from", "sb3", "FILE", "--help"]) == 5
    assert "['--from', 'sb3', 'FILE', '--help']" in capfd.readouterr().out


def test_convert_ends_cleanly_on_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", interrupt)
    assert converting.convert_files(["FILE"]) == 130
