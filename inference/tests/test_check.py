"""Checks of uploaded checkpoints: every refusal says why, and no file harms the worker."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from arena.checkpoints import Seal, write_sealed
from arena.errors import CheckpointFileError
from arena.messages import Checked, CheckOrder
from arena.parameters import Value
from inference import check_process
from inference.check import LIMITS, Limits, Refused, _read_answer, check, run
from inference.errors import UnavailableError
from inference.protocol import CheckpointRef
from inference.settings import Settings
from inference.tests.sealed import BOARD, N_ACTIONS, Folder, ref_of


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "cache")


def order_of(ref: CheckpointRef, **changes: object) -> CheckOrder:
    fields: dict[str, object] = {
        "game": "connect_four",
        "n_actions": N_ACTIONS,
        "observation_shape": list(BOARD),
        "key": "7" * 64,
    }
    return CheckOrder(ref.checkpoint, ref.source, "token", **(fields | changes))  # type: ignore[arg-type]


def run_uncounted(folder: Folder, ref: CheckpointRef, **changes: object) -> dict[str, object]:
    """Return what a trial in this process says."""
    order = order_of(ref, **changes)
    lines: list[str] = []
    order_text = json.dumps({name: getattr(order, name) for name in order.__struct_fields__})
    check_process.main([str(folder.store.path(ref)), order_text], lines.append)
    assert lines[0] == check_process.READY
    report: dict[str, object] = json.loads(lines[1])
    return report


def test_a_good_checkpoint_is_accepted_and_measured(folder: Folder) -> None:
    report = run_uncounted(folder, folder.add("gru", {"width": 8, "layers": 2}, seed=0))
    assert report["refusal"] == ""
    assert report["state_size"] == 16
    assert report["n_parameters"] == 126 * 8 + 8 + 2 * (2 * 24 * 8 + 48) + 8 * 7 + 7 + 8 + 1
    assert 0 < float(str(report["row_ms"])) < 1000


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"game": "othello"}, "its game is connect_four: the game has othello"),
        ({"n_actions": 8}, "its n_actions is 7: the game has 8"),
        ({"observation_shape": [126]}, "its observation_shape is [3, 6, 7]: the game has [126]"),
    ],
)
def test_a_checkpoint_of_another_game_is_refused(
    folder: Folder, changes: Mapping[str, object], refusal: str
) -> None:
    assert run_uncounted(folder, folder.add("mlp", {}, seed=0), **changes)["refusal"] == refusal


def test_a_checkpoint_that_overflows_is_refused(folder: Folder) -> None:
    report = run_uncounted(folder, folder.add("mlp", {}, seed=0, scale=1e30))
    assert report["refusal"] == "asked 1 random observation, it answered NaN or infinity"


def hostile(
    folder: Folder, tensors: Mapping[str, np.ndarray], **parameters: Value
) -> CheckpointRef:
    plain, sealed = folder.store.folder / "plain", folder.store.folder / "sealed"
    save_file(dict(tensors), plain)
    write_sealed(plain, sealed, Seal("mlp", parameters, "connect_four", BOARD, N_ACTIONS))
    plain.unlink()
    return folder.adopt(sealed)


def test_weights_that_are_nan_or_do_not_fit_are_refused(folder: Folder) -> None:
    weights = {
        "policy.weight": np.full((7, 126), np.nan, np.float32),
        "policy.bias": np.zeros(7, np.float32),
        "value.weight": np.zeros((1, 126), np.float32),
        "value.bias": np.zeros(1, np.float32),
    }
    report = run_uncounted(folder, hostile(folder, weights, hidden=""))
    assert report["refusal"] == "the weights of 'policy.weight' hold NaN"
    report = run_uncounted(folder, hostile(folder, {"x": np.zeros(1, np.float32)}))
    assert "do not fit the architecture" in str(report["refusal"])


@dataclass
class Faulty:
    """A model whose module is what a test gives."""

    module: object
    seal: Seal
    state_size: int = 0


def test_a_network_that_raises_or_answers_another_shape_is_refused() -> None:
    def raising(rows: object, states: object) -> object:
        raise ZeroDivisionError("a reason")

    def short(rows: object, states: object) -> object:
        return np.zeros((1, 3)), np.zeros(1), states

    seal = Seal("mlp", {}, "connect_four", BOARD, N_ACTIONS)
    for module, refusal in (
        (raising, "asked 1 random observation, it raised ZeroDivisionError: a reason"),
        (short, r"it answered shapes \[\[1, 3\], \[1\], \[1, 0\]\], not \[\[1, 7\]"),
    ):
        with pytest.raises(CheckpointFileError, match=refusal):
            check_process._check_forward(Faulty(module, seal), 1)  # type: ignore[arg-type]


def check_reply(folder: Folder, ref: CheckpointRef, limits: Limits = LIMITS) -> Checked:
    return run(order_of(ref), store=folder.store, node="gpu-1", limits=limits)


@pytest.mark.slow
def test_a_check_runs_in_a_process_of_its_own(folder: Folder) -> None:
    ref = folder.add("mlp", {}, seed=0)
    report = check(order_of(ref), Settings(cache=folder.store.folder, gpu="gpu-1"))
    assert (report.refusal, report.node, report.token) == ("", "gpu-1", "token")
    assert report.checkpoint == ref.checkpoint
    assert report.n_parameters > 0
    assert report.row_ms > 0


@pytest.mark.slow
def test_a_checkpoint_that_needs_too_much_memory_is_refused(folder: Folder) -> None:
    ref = folder.add("mlp", {"hidden": "4096,4096"}, seed=0)
    report = check_reply(folder, ref, LIMITS._replace(memory_bytes=32 << 20))
    assert report.refusal == "it needs more than 32 MiB of memory"


@pytest.mark.slow
def test_a_checkpoint_that_needs_too_much_time_is_refused(folder: Folder) -> None:
    ref = folder.add("transformer", {"width": 512, "depth": 12}, seed=0)
    report = check_reply(folder, ref, LIMITS._replace(cpu_s=0.2))
    assert report.refusal == "it needs more than 0.2 s to load and answer"


@pytest.mark.slow
def test_a_machine_that_does_not_answer_refuses_nothing(folder: Folder) -> None:
    ref = folder.add("mlp", {}, seed=0)
    with pytest.raises(UnavailableError, match="took over"):
        check_reply(folder, ref, LIMITS._replace(patience_s=0.0))


def test_a_site_that_is_down_refuses_nothing(folder: Folder) -> None:
    with pytest.raises(UnavailableError, match="no web server"):
        check_reply(folder, ref_of("0" * 64))


def test_how_a_trial_ended_says_whose_fault_it_was() -> None:
    with pytest.raises(Refused, match="ended the process by SIGSEGV"):
        _read_answer(b"ready\n", -11, "")
    with pytest.raises(UnavailableError, match="status -9"):
        _read_answer(b"ready\n", -9, "")
    with pytest.raises(UnavailableError, match="No module named torch"):
        _read_answer(b"", 1, "No module named torch")
    assert _read_answer(b'ready\n{"refusal": "no"}\n', -9, "") == {"refusal": "no"}
