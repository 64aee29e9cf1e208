"""Engines: the same order to each, a sealed checkpoint out of it, errors that say what to do.

What RLlib itself does with an order is shown on a cluster: tests/test_ray_cluster.py.
"""

import os
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from safetensors import SafetensorError

from arena.experience.segments import SentChunk, write_segment
from arena.experience.tests.made import chunk_of
from arena.trajectories import TrajectorySpec
from inference.model import load
from training import offline
from training.engines import registry
from training.engines.base import LearnOrder
from training.engines.catalog import ray

FORM = TrajectorySpec("cart_pole", (4,), 2)


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """Return a segment whose actions say whether the third number is positive."""
    chunks = [chunk_of((40, 60), seed=seed) for seed in range(12)]
    for chunk in chunks:
        chunk.actions[:] = chunk.observations[:, 2] > 0
    path = tmp_path / "segment.parquet"
    write_segment(path, [SentChunk(1, chunk) for chunk in chunks], FORM)
    return path


def learn(segment: Path, *more: str) -> int:
    """Call the command as one types it."""
    out = segment.with_name("out.safetensors")
    arguments = ("--game", "cart_pole", "--out", str(out), str(segment))
    return offline.main([*arguments, *more])


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the program that stands where the Python of the tool would."""
    python = tmp_path / "var" / "tools" / "ray" / "bin" / "python"
    python.parent.mkdir(parents=True)
    (python.parents[1] / "installed").touch()
    monkeypatch.setenv("EVALSITE_VAR", str(tmp_path / "var"))
    monkeypatch.setenv(ray.ADDRESS, "127.0.0.1:6379")
    return python


def test_there_are_two_engines_that_run_the_same_trainer() -> None:
    assert registry.names() == ("ray", "torch")
    assert {registry.get(name).algorithms for name in registry.names()} == {("bc",)}


def test_torch_learns_what_the_segments_show(
    segment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("-p", "hidden=16", "-p", "learning_rate=0.01", "--passes", "20")
    assert learn(segment, *more) == 0
    assert "24,000 steps learned on this process" in capsys.readouterr().out
    model = load(segment.with_name("out.safetensors"))
    assert (model.seal.game, model.seal.architecture) == ("cart_pole", "mlp")
    observations = torch.from_numpy(np.random.default_rng(3).standard_normal((500, 4), np.float32))
    logits, _, _ = model.module(observations, torch.empty(500, 0))
    assert float(((logits.argmax(-1) == 1) == (observations[:, 2] > 0)).float().mean()) > 0.95


@pytest.mark.parametrize(
    ("more", "refusal"),
    [
        (("--engine", "spark"), "unknown engine 'spark': choose one of ray, torch"),
        (("--algorithm", "appo"), "engine torch does not run 'appo': it runs bc"),
        (("-p", "hidden"), "parameter 'hidden' is no NAME=VALUE"),
        (("-p", "minibatch=1"), "minibatch"),
        (("--game", "acrobot"), "is of cart_pole: give segments of acrobot only"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused_with_the_reason(
    segment: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], refusal: str
) -> None:
    assert learn(segment, *more) == offline.BAD_INPUT
    assert refusal in capsys.readouterr().err
    assert not segment.with_name("out.safetensors").exists()


@pytest.mark.parametrize("seed", ["-1", "9" * 19, "٣"])
def test_a_seed_that_torch_does_not_take_is_refused(segment: Path, seed: str) -> None:
    with pytest.raises(SystemExit):
        learn(segment, f"--seed={seed}")


@pytest.mark.parametrize("passes", ["0", "x", "1.5"])
def test_passes_are_a_whole_number_from_1_on(
    segment: Path, passes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        learn(segment, "--passes", passes)
    assert "must be a whole number from 1 on" in capsys.readouterr().err


def test_where_the_checkpoint_cannot_be_written_is_told(
    segment: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert learn(segment, "--out", str(segment.parent)) == offline.BAD_INPUT
    assert "is a folder: name a file in it" in capsys.readouterr().err

    def fill_disk(*_: object) -> None:
        raise SafetensorError("No space left on device")

    monkeypatch.setattr("training.engines.catalog.torch.save_sealed", fill_disk)
    assert learn(segment, "--passes", "1") == offline.BAD_INPUT
    assert "is not written: No space left on device" in capsys.readouterr().err


def test_a_pipe_is_not_replaced_by_the_checkpoint(
    segment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(segment.with_name("pipe"))
    assert learn(segment, "--out", str(segment.with_name("pipe"))) == offline.BAD_INPUT
    assert "is a device or a pipe: name a file" in capsys.readouterr().err
    assert segment.with_name("pipe").is_fifo()


def test_ctrl_c_ends_with_130_and_without_a_file(
    segment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("training.engines.catalog.torch.save_sealed", interrupt)
    assert learn(segment, "--passes", "1") == offline.INTERRUPTED
    assert not segment.with_name("out.safetensors").exists()


def test_a_folder_that_is_missing_is_told_before_anything_is_learned(
    segment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = segment.parent / "nowhere" / "x"
    arguments = ["--game", "cart_pole", "--out", str(out), str(segment)]
    assert offline.main(arguments) == offline.BAD_INPUT
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"PAR1 is not enough"])
def test_a_file_that_is_no_segment_is_named(
    segment: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    segment.write_bytes(content)
    assert learn(segment) == offline.BAD_INPUT
    assert f"{segment} is not read" in capsys.readouterr().err


def test_ray_that_is_not_installed_says_how_to_get_it(
    segment: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("EVALSITE_VAR", str(tmp_path))
    monkeypatch.setattr(ray, "ROOT", tmp_path)
    assert learn(segment, "--engine", "ray") == offline.BAD_INPUT
    assert "./run tools install ray" in capsys.readouterr().err


def test_ray_without_a_cluster_says_how_to_start_one(
    segment: Path, tool: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(ray.ADDRESS)
    assert learn(segment, "--engine", "ray") == offline.BAD_INPUT
    assert "ray start --head" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo no cluster answers >&2; exit 1", "ray has failed: no cluster answers"),
        ("echo 2026-11-27 INFO joined", "ray has answered"),
        ("true", "ray has answered"),
    ],
    ids=str,
)
def test_what_the_program_of_ray_says_is_told(
    segment: Path, tool: Path, capsys: pytest.CaptureFixture[str], script: str, message: str
) -> None:
    tool.write_text(f"#!/bin/sh\ncat > /dev/null\n{script}\n")
    tool.chmod(0o755)
    assert learn(segment, "--engine", "ray") == offline.BAD_INPUT
    assert message in capsys.readouterr().err


def test_the_order_that_ray_gets_is_json_with_what_was_asked_for(
    segment: Path, tool: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = '{"sha256": "ab", "n_steps": 5, "loss": 0.5, "nodes": ["one", "two"]}'
    kept = tmp_path / "order.json"
    tool.write_text(f"#!/bin/sh\ncat > {kept}\necho a line of its own\necho '{answer}'\n")
    tool.chmod(0o755)
    assert learn(segment, "--engine", "ray", "-p", "hidden=8") == 0
    assert "5 steps learned on one, two, loss 0.5000" in capsys.readouterr().out
    order = msgspec.json.decode(kept.read_bytes(), type=LearnOrder)
    assert (order.game, order.observation_shape, order.n_actions) == ("cart_pole", [4], 2)
    assert (order.segments, order.parameters) == ([str(segment)], {"hidden": "8"})
