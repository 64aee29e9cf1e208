"""Checkpoint files: what is taken, what is refused with which reason, and how one is sealed."""

import io
import json
import os
import pickle
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save, save_file

from arena import checkpoints, tensorfiles
from arena.checkpoints import MAX_BYTES, Contents, Seal, inspect, sha256_of, step_of, write_sealed
from arena.errors import CheckpointFileError
from arena.tensorfiles import MAX_HEADER_BYTES, MAX_TENSORS, TensorForm

SEAL = Seal("mlp", {"hidden": "64,64", "deep": True, "rate": 0.5}, "connect_four", (3, 6, 7), 7)
TENSORS: dict[str, Any] = {
    "body.weight": np.arange(12, dtype=np.float32).reshape(3, 4),
    "body.bias": np.ones(3, dtype=np.float16),
}
PLAIN = save(TENSORS, {"format": "pt"})


def framed(header: object, data: bytes = b"", *, claim: int | None = None) -> bytes:
    """Return a file of that header, which may lie about its own length."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if claim is None else claim).to_bytes(8, "little") + text + data


def entry(*offsets: Any, dtype: Any = "F32", shape: Any = (1,)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": list(offsets)}


def sealed_as(**changes: str | None) -> bytes:
    """Return a file whose seal has those metadata instead; None leaves one out."""
    metadata = {**checkpoints._metadata_of(SEAL), **changes}
    return save(TENSORS, {key: text for key, text in metadata.items() if text is not None})


@pytest.fixture
def written(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(content: bytes) -> Path:
        path = tmp_path / "file"
        path.write_bytes(content)
        return path

    return write


Write = Callable[[bytes], Path]


def test_a_plain_file_is_told_by_its_header(written: Write) -> None:
    assert inspect(written(PLAIN)) == Contents(
        None,
        {"body.weight": TensorForm("F32", (3, 4)), "body.bias": TensorForm("F16", (3,))},
        len(PLAIN),
    )


def test_a_tensor_without_elements_is_taken(written: Write) -> None:
    found = inspect(written(save({"none": np.zeros((0, 3), np.float32), **TENSORS})))
    assert found.tensors["none"] == TensorForm("F32", (0, 3))


def old_pickle() -> bytes:
    return pickle.dumps({"weight": [1.0] * 9}, protocol=2)


def archive(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        for name in names:
            opened.writestr(name, b"0" * 100)
    return file.getvalue()


ONE = entry(0, 4)
NAN_HEADER = b'{"a":{"dtype":"F32","shape":[NaN],"data_offsets":[0,4]}}'
TWICE = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{}}'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (old_pickle(), "a pickle, which can run code"),
        (pickle.dumps({"weight": 1}, protocol=0), "a pickle, which can run code"),
        (archive("archive/data.pkl", "archive/data/0"), "inside a zip (torch.save)"),
        (archive("m/data.pkl", "m/code/__torch__.py"), "a TorchScript archive"),
        (archive("data", "policy.pth", "policy.optimizer.pth"), "a Stable-Baselines3 archive"),
        (archive("weight.npy"), "a NumPy archive"),
        (archive("readme.txt"), "a zip archive"),
        (b"\x89HDF\r\n\x1a\n" + b"0" * 99, "an HDF5 file"),
        (b"GGUF" + b"0" * 99, "a GGUF file"),
        (b"\x1f\x8b" + b"0" * 99, "a gzip file"),
        (PLAIN[:5], "truncated: 5 bytes hold no header"),
        (PLAIN[:8], "truncated: 8 bytes hold no header"),
        (PLAIN[:40], "truncated, or a lying header"),
        (PLAIN[:-1], "truncated, or a lying header: tensor 'body.bias' ends at byte"),
        (PLAIN + b"0", "1 bytes after the last tensor"),
        (b"hello, this is a text file", "no safetensors header begins after 8 bytes"),
        (framed({"a": ONE}, b"0000", claim=2**62), "truncated, or a lying header: it claims"),
        (framed(b"{" + b" " * MAX_HEADER_BYTES + b"}"), f"at most {MAX_HEADER_BYTES} are read"),
        (framed(b"{nonsense}"), "the header is no JSON"),
        (framed(b'{"\xff":1}'), "the header is no JSON"),
        (framed(b"{}garbage"), "the header is no JSON"),
        (framed(b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"), "nested too deep"),
        (framed(b'{"a":' + b"9" * 5_000 + b"}"), "the header is no JSON"),
        (framed(NAN_HEADER, b"0000"), "it holds NaN"),
        (framed(TWICE, b"0000"), "'a' is named twice"),
        (framed({}), "the file holds no tensors"),
        (framed({"__metadata__": {"a": "b"}}), "the file holds no tensors"),
        (framed({"__metadata__": {"a": 1}, "a": ONE}, b"0000"), "must map texts to texts"),
        (framed({"__metadata__": [], "a": ONE}, b"0000"), "must map texts to texts"),
        (framed({str(i): ONE for i in range(MAX_TENSORS + 1)}), f"at most {MAX_TENSORS} are read"),
        (framed({"a": []}), "must have dtype, shape and data_offsets"),
        (framed({"a": {**ONE, "more": 1}}, b"0000"), "must have dtype, shape and data_offsets"),
        (framed({"a": entry(0, 4, dtype="F33")}, b"0000"), "the unknown dtype 'F33'"),
        (framed({"a": entry(0, 4, dtype=["F32"])}, b"0000"), "the unknown dtype"),
        (framed({"a": entry(0, 4, shape=1)}, b"0000"), "at most 8 whole numbers"),
        (framed({"a": entry(0, 4, shape=[1.0])}, b"0000"), "at most 8 whole numbers"),
        (framed({"a": entry(0, 4, shape=[True])}, b"0000"), "at most 8 whole numbers"),
        (framed({"a": entry(0, 4, shape=[-1])}, b"0000"), "at most 8 whole numbers"),
        (framed({"a": entry(0, 4, shape=[2**63])}, b"0000"), "at most 8 whole numbers"),
        (framed({"a": entry(0, 4, shape=[1] * 9)}, b"0000"), "at most 8 whole numbers"),
        (framed({"a": entry(0)}, b"0000"), "must be [begin, end]"),
        (framed({"a": entry(4, 0)}, b"0000"), "must be [begin, end]"),
        (framed({"a": entry(0, "4")}, b"0000"), "must be [begin, end]"),
        (framed({"a": entry(0, 8, shape=[2])}, b"0000"), "ends at byte 8 of 4"),
        (framed({"a": entry(0, 4, shape=[2])}, b"0000"), "is F32 [2] in 4 bytes"),
        (framed({"a": ONE, "b": entry(2, 6)}, b"000000"), "overlaps the one before"),
        (framed({"a": ONE, "b": ONE}, b"0000"), "overlaps the one before"),
        (framed({"a": ONE, "b": entry(6, 10)}, b"0" * 10), "leaves a hole before"),
        (framed({"a": entry(4, 8)}, b"0" * 8), "leaves a hole before"),
        (sealed_as(format="evalsite/2"), "this version reads evalsite/1"),
        (sealed_as(game=None), "missing or extra: 'game'"),
        (sealed_as(author="me"), "missing or extra: 'author'"),
        (sealed_as(architecture=""), "architecture of the seal is ''"),
        (sealed_as(game="a\nb"), "must be a printable text"),
        (sealed_as(parameters="{"), "parameters of the seal is no JSON"),
        (sealed_as(parameters='{"a":1,"a":2}'), "'a' is named twice"),
        (sealed_as(parameters="[]"), "must be an object"),
        (sealed_as(parameters='{"a":[1]}'), "must be a number, true, false or a short text"),
        (sealed_as(parameters='{"a":null}'), "must be a number, true, false or a short text"),
        (sealed_as(parameters='{"a":1e999}'), "must be a number, true, false or a short text"),
        (sealed_as(parameters='{"a":99999999999999999999}'), "must be a number"),
        (sealed_as(parameters='{"":1}'), "a parameter's name of the seal"),
        (sealed_as(n_actions="7.0"), "n_actions is 7.0"),
        (sealed_as(n_actions="true"), "n_actions is True"),
        (sealed_as(n_actions="0"), "n_actions is 0"),
        (sealed_as(n_actions="seven"), "n_actions of the seal is no JSON"),
        (sealed_as(observation_shape="7"), "observation_shape is 7: must be a list"),
        (sealed_as(observation_shape="[]"), "observation_shape is []"),
        (sealed_as(observation_shape="[0]"), "observation_shape is [0]"),
        (sealed_as(observation_shape='["7"]'), "observation_shape is ['7']"),
        (sealed_as(observation_shape="[99999,99999]"), "at most 10000000 floats in all"),
        (sealed_as(observation_shape="[1,1,1,1,1,1,1,1,1]"), "must be 1..8 lengths"),
    ],
)
def test_anything_else_is_refused_with_its_reason(
    written: Write, content: bytes, reason: str
) -> None:
    with pytest.raises(CheckpointFileError) as refused:
        inspect(written(content))
    assert reason in str(refused.value)
    assert len(str(refused.value)) < 500


def test_a_file_of_another_format_is_told_what_to_do(written: Write) -> None:
    with pytest.raises(CheckpointFileError, match=r"upload a safetensors file .*convert"):
        inspect(written(old_pickle()))


def test_a_header_of_640_bytes_is_no_pickle_though_it_begins_like_one(written: Write) -> None:
    text = json.dumps({"a": ONE}).encode().ljust(640)
    content = framed(text, b"0000")
    assert content.startswith(b"\x80\x02")
    assert inspect(written(content)).tensors == {"a": TensorForm("F32", (1,))}


def test_an_oversized_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(CheckpointFileError, match=f"{MAX_BYTES + 1} bytes, at most {MAX_BYTES}"):
        inspect(path)


def test_the_limit_may_be_lower(written: Write) -> None:
    with pytest.raises(CheckpointFileError, match="at most 99 are taken"):
        inspect(written(PLAIN), max_bytes=99)


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, reason in [
        (tmp_path, "this is a folder"),
        (tmp_path / "pipe", "this is no regular file"),
        (tmp_path / "missing", "cannot be read: No such file"),
        (tmp_path / "a\0b", "cannot be read"),
    ]:
        with pytest.raises(CheckpointFileError, match=reason):
            inspect(path)


def test_the_reference_reader_has_its_say(written: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tensorfiles.BYTES_OF, "F128", 4)  # as if we took what it does not
    with pytest.raises(CheckpointFileError, match="safetensors cannot read it"):
        inspect(written(framed({"a": entry(0, 4, dtype="F128")}, b"0000")))


def test_the_reference_reader_must_find_the_same_tensors(
    tmp_path: Path, written: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.write_bytes(save({"other": np.zeros(1, np.float32)}))
    monkeypatch.setattr(
        "arena.checkpoints.safe_open", lambda _, framework: safe_open(other, framework)
    )
    with pytest.raises(CheckpointFileError, match="other tensors than the header names"):
        inspect(written(PLAIN))


@settings(max_examples=300, deadline=2_000)
@given(
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 700), st.integers(0, 255)), max_size=4),
    st.integers(0, 700),
)
def test_corruption_is_refused_or_harmless(
    is_sealed: bool, changes: list[tuple[int, int]], cut: int
) -> None:
    content = bytearray(sealed_as() if is_sealed else PLAIN)
    for place, byte in changes:
        content[place % len(content)] = byte
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(bytes(content[: cut or None]))
        try:
            found = inspect(path)
        except CheckpointFileError as refused:
            assert len(str(refused)) < 1_000  # noqa: PT017 - the other outcome is as good
        else:
            assert sum(np.prod(form.shape) for form in found.tensors.values()) <= len(content)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


@settings(max_examples=300, deadline=2_000)
@given(st.dictionaries(st.sampled_from(["a", "b", "__metadata__"]), JSON), st.binary(max_size=16))
def test_any_header_is_refused_or_harmless(header: dict[str, Any], data: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(framed(header, data))
        with pytest.raises(CheckpointFileError):
            inspect(path)


@pytest.mark.parametrize(
    "filler", [b"[],", b"{},", b'"a",', b"1,", b'{"a":[{"b":[]}]},'], ids=lambda b: b.decode()
)
def test_the_worst_header_is_refused_at_once_in_little_memory(
    written: Write, filler: bytes
) -> None:
    body = filler * ((MAX_HEADER_BYTES - 20) // len(filler))
    path = written(framed(b'{"a":[' + body + b"0]}"))
    tracemalloc.start()
    began = process_time()
    with pytest.raises(CheckpointFileError):
        inspect(path)
    took, (_, peak) = process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert took < 2
    assert peak < 100 * 2**20


def test_a_sealed_file_says_all_that_is_needed(tmp_path: Path, written: Write) -> None:
    write_sealed(written(PLAIN), tmp_path / "sealed", SEAL)
    found = inspect(tmp_path / "sealed")
    assert found.seal == SEAL
    assert found.n_bytes == (tmp_path / "sealed").stat().st_size


def test_the_name_is_the_hash_of_the_file(tmp_path: Path, written: Write) -> None:
    name = write_sealed(written(PLAIN), tmp_path / "sealed", SEAL)
    assert name == sha256_of(tmp_path / "sealed")
    assert len(name) == 64


def test_the_name_of_a_checkpoint_never_changes(tmp_path: Path, written: Write) -> None:
    """Stored checkpoints are found by it: a change here loses them all."""
    name = write_sealed(written(framed({"a": ONE}, b"0000")), tmp_path / "sealed", SEAL)
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
    monkeypatch.setattr(tensorfiles, "MAX_HEADER_BYTES", n_header)
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
    assert step_of(name) == step
