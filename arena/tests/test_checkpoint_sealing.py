"""Checkpoint files: how one is sealed, and what its name says."""

import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save, save_file

from arena import safetensors_format
from arena.checkpoints import Seal, hash_file, inspect_file, read_step, write_sealed
from arena.errors import CheckpointFileError
from arena.tests.checkpoint_files import PLAIN, SEAL, TENSORS, Write, entry, framed


def test_a_sealed_file_says_all_that_is_needed(tmp_path: Path, written: Write) -> None:
    write_sealed(written(PLAIN), tmp_path / "sealed", SEAL)
    contents = inspect_file(tmp_path / "sealed")
    assert contents.seal == SEAL
    assert contents.n_bytes == (tmp_path / "sealed").stat().st_size


def test_the_name_is_the_hash_of_the_file(tmp_path: Path, written: Write) -> None:
    name = write_sealed(written(PLAIN), tmp_path / "sealed", SEAL)
    assert name == hash_file(tmp_path / "sealed")
    assert len(name) == 64


def test_the_name_of_a_checkpoint_never_changes(tmp_path: Path, written: Write) -> None:
    """Stored checkpoints are found by it: a change here loses them all."""
    name = write_sealed(written(framed({"a": entry(0, 4)}, b"0000")), tmp_path / "sealed", SEAL)
    assert name == "2ce002a187559b410d8fbe8de59aed8a89bc30c8d7758f6e3d404fdec9057faa"


def test_sealing_keeps_the_tensors_and_drops_other_metadata(tmp_path: Path, written: Write) -> None:
    write_sealed(written(save(TENSORS, {"author": "me"})), tmp_path / "sealed", SEAL)
    loaded = load_file(tmp_path / "sealed")
    assert {name: array.tolist() for name, array in loaded.items()} == {
        name: array.tolist() for name, array in TENSORS.items()
    }
    assert b"author" not in (tmp_path / "sealed").read_bytes()


def test_equal_tensors_under_an_equal_seal_are_one_checkpoint(
    tmp_path: Path, written: Write
) -> None:
    shuffled = replace(SEAL, parameters=dict(reversed(SEAL.parameters.items())))
    first = write_sealed(written(PLAIN), tmp_path / "a", SEAL)
    again = write_sealed(written(save(TENSORS, {"x": "y"})), tmp_path / "b", shuffled)
    other = write_sealed(written(PLAIN), tmp_path / "c", replace(SEAL, game="hex"))
    assert first == again
    assert first != other


def test_the_buffer_begins_where_floats_are_aligned(tmp_path: Path, written: Write) -> None:
    for game in ("a", "ab", "abc"):
        write_sealed(written(PLAIN), tmp_path / game, replace(SEAL, game=game))
        content = (tmp_path / game).read_bytes()
        assert int.from_bytes(content[:8], "little") % 8 == 0


def test_sealing_again_changes_nothing(tmp_path: Path, written: Write) -> None:
    first = write_sealed(written(PLAIN), tmp_path / "a", SEAL)
    assert write_sealed(tmp_path / "a", tmp_path / "b", SEAL) == first
    assert write_sealed(tmp_path / "b", tmp_path / "b", SEAL) == first


@pytest.mark.parametrize(
    "other",
    [
        replace(SEAL, architecture="gru"),
        replace(SEAL, game="hex"),
        replace(SEAL, n_actions=8),
        replace(SEAL, observation_shape=(6, 7)),
        replace(SEAL, parameters={**SEAL.parameters, "deep": 1}),  # equal to True in Python
    ],
)
def test_another_seal_is_refused(tmp_path: Path, written: Write, other: Seal) -> None:
    write_sealed(written(PLAIN), tmp_path / "a", SEAL)
    with pytest.raises(CheckpointFileError, match="already sealed with"):
        write_sealed(tmp_path / "a", tmp_path / "b", other)
    assert not (tmp_path / "b").exists()


def test_a_seal_that_no_file_can_hold_is_refused(tmp_path: Path, written: Write) -> None:
    with pytest.raises(CheckpointFileError, match="n_actions"):
        write_sealed(written(PLAIN), tmp_path / "b", replace(SEAL, n_actions=0))


def test_a_seal_makes_no_file_larger_than_can_be_read(tmp_path: Path, written: Write) -> None:
    with pytest.raises(CheckpointFileError, match="too large"):
        write_sealed(written(PLAIN), tmp_path / "b", SEAL, max_bytes=len(PLAIN))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_seal_makes_no_header_longer_than_can_be_read(
    tmp_path: Path, written: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(PLAIN)
    n_header = int.from_bytes(PLAIN[:8], "little")
    monkeypatch.setattr(safetensors_format, "MAX_HEADER_BYTES", n_header)
    with pytest.raises(CheckpointFileError, match=f"at most {n_header} are read"):
        write_sealed(path, tmp_path / "b", SEAL)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_failed_write_is_the_fault_of_the_place(tmp_path: Path, written: Write) -> None:
    with pytest.raises(FileNotFoundError):
        write_sealed(written(PLAIN), tmp_path / "no folder" / "b", SEAL)


def test_a_large_file_is_sealed_in_little_memory(tmp_path: Path) -> None:
    save_file({"a": np.zeros(8 * 2**20, np.float32)}, tmp_path / "plain")
    tracemalloc.start()
    write_sealed(tmp_path / "plain", tmp_path / "sealed", SEAL)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 2**20
    assert load_file(tmp_path / "sealed")["a"].shape == (8 * 2**20,)


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("model_step_48.pt", 48),
        ("model_step_48.safetensors", 48),
        ("runs/7/ckpt-000123.safetensors", 123),
        ("step=1000", 1000),
        ("rl_model_10000_steps.zip", 10_000),
        ("Step_10_seed_3.pt", 10),
        ("epoch3-step1200.ckpt", 1200),
        ("v2_100.pt", 100),
        ("model.100", 100),
        ("model.100.pt", 100),
        ("0.pt", 0),
        ("000.pt", 0),
        ("77", 77),
        ("step_1.5M.pt", None),
        ("model_1.5M.pt", None),
        ("200k.pt", None),
        ("final.pt", None),
        ("ppo.mp4", None),
        (".hidden", None),
        ("", None),
        ("model_" + "9" * 19, None),
        ("model_" + "9" * 5_000, None),
    ],
)
def test_the_step_is_read_from_the_name(name: str, step: int | None) -> None:
    assert read_step(name) == step
