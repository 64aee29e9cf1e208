"""State dicts of users become checkpoints, or are refused with what would be needed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from arena.checkpoints import Seal, hash_file, inspect_file
from arena.parameters import Value
from inference.model import fresh, load
from inference.tests.converting import (
    N_ACTIONS,
    N_INPUTS,
    ROWS,
    SHAPE,
    assert_answers_as,
    converted,
    saved,
)


class Trained(nn.Module):
    """A network as users write them: names of their own, heads in another order than ours."""

    def __init__(self) -> None:
        super().__init__()
        self.value_head = nn.Linear(12, 1)
        self.fc1 = nn.Linear(N_INPUTS, 16)
        self.fc2 = nn.Linear(16, 16)
        self.fc3 = nn.Linear(16, 16)
        self.fc4 = nn.Linear(16, 12)
        self.action_head = nn.Linear(12, N_ACTIONS)

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        for layer in (self.fc1, self.fc2, self.fc3, self.fc4):
            rows = layer(rows).relu()
        return self.action_head(rows), self.value_head(rows).squeeze(-1)


@pytest.fixture
def trained() -> Trained:
    torch.manual_seed(3)
    return Trained()


Convert = Callable[..., int]


@pytest.fixture
def convert(tmp_path: Path) -> Convert:
    return lambda path, program, *more: converted(path, tmp_path / "out", program, *more)


OURS = ("--parameter", "hidden=16,16,16,12", "--parameter", "bounded_value=false")


@pytest.mark.parametrize("key", ["", "state_dict", "model_state_dict", "model"])
@pytest.mark.parametrize("prefix", ["", "module.", "_orig_mod.", "_orig_mod.module."])
def test_a_state_dict_is_found_and_its_layers_recognised(
    tmp_path: Path, trained: Trained, convert: Convert, key: str, prefix: str
) -> None:
    state = {prefix + name: value for name, value in trained.state_dict().items()}
    content = {key: state, "optimizer": {"lr": 0.1}, "epoch": 3} if key else state
    assert convert(saved(tmp_path / "model_step_48.pt", content), "state_dict", *OURS) == 0
    assert_answers_as(tmp_path / "out" / "model_step_48.safetensors", *trained(ROWS.flatten(1)))


def test_the_checkpoint_says_what_it_was_converted_with(
    tmp_path: Path, trained: Trained, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    convert(saved(tmp_path / "model_step_48.pt", trained.state_dict()), "state_dict", *OURS)
    path = tmp_path / "out" / "model_step_48.safetensors"
    parameters: dict[str, Value] = {"hidden": "16,16,16,12", "bounded_value": False}
    assert inspect_file(path).seal == Seal("mlp", parameters, "tic_tac_toe", SHAPE, N_ACTIONS)
    output = capsys.readouterr().out
    assert f"-> {path}  {hash_file(path)[:12]}  step 48\n" in output
    assert "fc4 is body.6, by its shape" in output
    assert "no parity check possible: the original's code is not known" in output


def test_our_own_names_are_taken_as_they_are(
    tmp_path: Path, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    seal = Seal("mlp", {"hidden": "8,8", "value_hidden": "8,8"}, "tic_tac_toe", SHAPE, N_ACTIONS)
    state = fresh(seal, seed=1).state_dict()
    words = ["--parameter", "hidden=8,8", "--parameter", "value_hidden=8,8"]
    assert convert(saved(tmp_path / "a.pt", state), "state_dict", *words) == 0
    assert "by its shape" not in capsys.readouterr().out
    loaded = load(tmp_path / "out" / "a.safetensors").module.state_dict()
    assert all(torch.equal(loaded[name], state[name]) for name in state)


def test_safetensors_with_other_names_are_converted_too(
    tmp_path: Path, trained: Trained, convert: Convert
) -> None:
    save_file(trained.state_dict(), tmp_path / "mine.safetensors")
    assert convert(tmp_path / "mine.safetensors", "state_dict", *OURS) == 0
    assert_answers_as(tmp_path / "out" / "mine.safetensors", *trained(ROWS.flatten(1)))


def test_a_policy_alone_gets_a_value_of_0(
    tmp_path: Path, trained: Trained, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    state = {n: t for n, t in trained.state_dict().items() if not n.startswith("value_head.")}
    assert convert(saved(tmp_path / "a.pt", state), "state_dict", *OURS) == 0
    assert "it has no value head: its value is 0 everywhere" in capsys.readouterr().out
    logits, values = trained(ROWS.flatten(1))
    assert_answers_as(tmp_path / "out" / "a.safetensors", logits, torch.zeros_like(values))


def test_a_policy_alone_that_does_not_fit_is_refused(
    tmp_path: Path, trained: Trained, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    state = {n: t for n, t in trained.state_dict().items() if not n.startswith("value_head.")}
    words = ("--parameter", "hidden=16,16,16,10")
    assert convert(saved(tmp_path / "a.pt", state), "state_dict", *words) == 2
    assert "the file does not fit" in capsys.readouterr().err


def test_a_folder_that_does_not_fit_says_so_once(
    tmp_path: Path, trained: Trained, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder := tmp_path / "run").mkdir()
    for step in (1, 2, 3):
        saved(folder / f"step_{step}.pt", trained.state_dict())
    assert convert(folder, "state_dict", "--parameter", "hidden=16,16,16,10") == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"{folder / 'step_1.pt'}: ")
    assert "2 more: the same as of step_1.pt" in errors
    assert "step_2.pt" not in errors


class TwoTowers(nn.Module):
    """Two towers of equal shapes: nothing but their names tells them apart."""

    def __init__(self) -> None:
        super().__init__()
        self.v = nn.Sequential(nn.Linear(N_INPUTS, 16), nn.ReLU(), nn.Linear(16, 1))
        self.pi = nn.Sequential(nn.Linear(N_INPUTS, 16), nn.ReLU(), nn.Linear(16, N_ACTIONS))


TOWERS = ("--parameter", "hidden=16", "--parameter", "value_hidden=16")


def test_layers_that_cannot_be_told_apart_are_refused(
    tmp_path: Path, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path / "a.pt", TwoTowers().state_dict())
    assert convert(path, "state_dict", *TOWERS) == 2
    errors = capsys.readouterr().err
    assert "v.0, pi.0 have the same shapes, so which is which of body.0, value_body.0" in errors
    assert "--map OLD=NEW" in errors
    assert list((tmp_path / "out").iterdir()) == []


def test_the_user_may_tell_them_apart(tmp_path: Path, convert: Convert) -> None:
    torch.manual_seed(4)
    towers = TwoTowers()
    path = saved(tmp_path / "a.pt", {**towers.state_dict(), "aux.weight": torch.zeros(3)})
    words = ["--map", "pi.0=body.0", "--map", "v.0=value_body.0", "--map", "aux="]
    words += ["--parameter", "bounded_value=false"]
    assert convert(path, "state_dict", *TOWERS, *words) == 0
    flat = ROWS.flatten(1)
    expected = towers.pi(flat), towers.v(flat).squeeze(-1)
    assert_answers_as(tmp_path / "out" / "a.safetensors", *expected)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--map", "fc9=body.0"), "--map fc9: there is no such tensor or layer"),
        (("--map", "fc1=fc2"), "--map gives two tensors one name"),
        (("--map", "fc1="), "the architecture wants body.0 (bias [16], weight [16, 27])"),
        (("--map", "nonsense"), "--map nonsense: must be NAME=VALUE"),
        (("--parameter", "hidden=8"), "'hidden=8'"),
        (("--parameter", "depth=8"), "'depth' is unknown"),
    ],
)
def test_what_was_told_wrongly_is_named(
    tmp_path: Path,
    trained: Trained,
    convert: Convert,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    reason: str,
) -> None:
    path = saved(tmp_path / "a.pt", trained.state_dict())
    assert convert(path, "state_dict", *OURS, *words) == 2
    errors = capsys.readouterr().err
    assert reason.strip("'") in errors
    assert "Traceback" not in errors


def test_weights_that_do_not_fit_say_what_both_have(
    tmp_path: Path, trained: Trained, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path / "a.pt", trained.state_dict())
    assert convert(path, "state_dict", "--parameter", "hidden=16,16") == 2
    errors = capsys.readouterr().err
    assert "the architecture wants body.2 (" in errors
    assert "policy (bias [9], weight [9, 16])" in errors
    assert "the file has" in errors
    assert "action_head (bias [9], weight [9, 12])" in errors


class Evil:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return Path.touch, (Path("/tmp/evalsite-evil"),)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"model": Evil()}, "torch.load with weights_only=True refuses it"),
        (torch.zeros(3), "holds a Tensor, not a dict of tensors"),
        ({}, "holds a dict, not a dict of tensors"),
        ({"epoch": 3, "weights": torch.zeros(1)}, "entry 'epoch' is no tensor"),
        ({"model": {"a": {"b": torch.zeros(1)}}}, "entry 'a' is no tensor"),
        ({"fc1.weight": torch.zeros(2, 2)}, "the file does not fit"),
    ],
)
def test_a_file_without_a_state_dict_is_refused(
    tmp_path: Path,
    convert: Convert,
    capsys: pytest.CaptureFixture[str],
    content: object,
    reason: str,
) -> None:
    path = saved(tmp_path / "a.pt", content)
    assert convert(path, "state_dict", *OURS) == 2
    assert capsys.readouterr().err.startswith(f"{path}: {reason}")
    assert not Path("/tmp/evalsite-evil").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pt", b"no file of torch"),
        ("a.pt", b""),
        ("a.pt", b"PK\x03\x04 truncated"),
        ("a.safetensors", b"nonsense that is no header"),
    ],
)
@pytest.mark.parametrize("program", ["state_dict", "sb3", "cleanrl"])
def test_a_file_of_nothing_known_is_refused_without_a_traceback(
    tmp_path: Path,
    convert: Convert,
    capsys: pytest.CaptureFixture[str],
    program: str,
    name: str,
    content: bytes,
) -> None:
    (tmp_path / name).write_bytes(content)
    assert convert(tmp_path / name, program) == 2
    streams = capsys.readouterr()
    assert streams.err.startswith(f"{tmp_path / name}: ")
    assert "Traceback" not in streams.err
    assert streams.out == ""


def test_a_missing_file_is_named(
    tmp_path: Path, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    assert convert(tmp_path / "missing.pt", "state_dict") == 2
    assert "missing.pt" in capsys.readouterr().err


def test_nan_weights_are_refused_and_nothing_is_written(
    tmp_path: Path, trained: Trained, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    trained.fc2.bias.data[3] = float("nan")
    path = saved(tmp_path / "a.pt", trained.state_dict())
    assert convert(path, "state_dict", *OURS) == 2
    assert "the weights of 'body.2.bias' hold NaN" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []


def test_integers_are_no_weights(
    tmp_path: Path, trained: Trained, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    state = {**trained.state_dict(), "fc2.bias": torch.zeros(16, dtype=torch.int64)}
    assert convert(saved(tmp_path / "a.pt", state), "state_dict", *OURS) == 2
    assert "is torch.int64: weights must be dense floats" in capsys.readouterr().err


def test_float64_is_rounded_and_said(
    tmp_path: Path, trained: Trained, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path / "a.pt", trained.double().state_dict())
    assert convert(path, "state_dict", *OURS) == 0
    assert "12 tensors of float64 are rounded to float32" in capsys.readouterr().out


def test_nothing_is_overwritten(
    tmp_path: Path, trained: Trained, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.safetensors").write_text("precious")
    assert convert(saved(tmp_path / "a.pt", trained.state_dict()), "state_dict", *OURS) == 2
    assert "is there already and is not overwritten" in capsys.readouterr().err
    assert (tmp_path / "out" / "a.safetensors").read_text() == "precious"


def test_a_folder_is_converted_and_says_which_failed(
    tmp_path: Path, trained: Trained, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for step in (100, 20):
        saved(folder / f"step_{step}.pt", trained.state_dict())
    (folder / "step_3.pt").write_bytes(b"broken")
    (folder / "log.txt").write_text("not looked at")
    assert convert(folder, "state_dict", *OURS) == 2
    streams = capsys.readouterr()
    assert streams.out.index("step_20.pt") < streams.out.index("step_100.pt")
    assert streams.out.endswith("2 converted, 1 failed\n")
    assert streams.err.startswith(f"{folder / 'step_3.pt'}: ")
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["step_100.safetensors", "step_20.safetensors"]


def test_a_folder_without_weights_is_refused(
    tmp_path: Path, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    assert convert(tmp_path, "sb3") == 2
    assert "no file ends in .zip" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "reason"),
    [(("--game", "ludo"), "unknown game 'ludo'"), (("--architecture", "net"), "unknown archit")],
)
def test_an_unknown_game_or_architecture_is_refused(
    tmp_path: Path,
    convert: Convert,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    reason: str,
) -> None:
    assert convert(tmp_path / "a.pt", "state_dict", *words) == 2
    assert reason in capsys.readouterr().err
