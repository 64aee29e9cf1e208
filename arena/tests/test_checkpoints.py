"""Checkpoint files: what is taken, what is refused with which reason."""

import io
import json
import os
import pickle
import tracemalloc
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save

from arena import safetensors_format
from arena.checkpoints import MAX_BYTES, CheckpointContents, inspect_file
from arena.errors import CheckpointFileError
from arena.safetensors_format import MAX_HEADER_BYTES, MAX_TENSORS, TensorSpec
from arena.tests.checkpoint_files import PLAIN, TENSORS, Write, entry, framed, sealed_as


def test_a_plain_file_is_told_by_its_header(written: Write) -> None:
    assert inspect_file(written(PLAIN)) == CheckpointContents(
        None,
        {"body.weight": TensorSpec("F32", (3, 4)), "body.bias": TensorSpec("F16", (3,))},
        len(PLAIN),
    )


def test_a_tensor_without_elements_is_taken(written: Write) -> None:
    contents = inspect_file(written(save({"none": np.zeros((0, 3), np.float32), **TENSORS})))
    assert contents.tensors["none"] == TensorSpec("F32", (0, 3))


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
    # Those that safetensors writes have their names in another order in each process.
    ids=lambda value: "file" if isinstance(value, bytes) else None,
)
def test_anything_else_is_refused_with_its_reason(
    written: Write, content: bytes, reason: str
) -> None:
    with pytest.raises(CheckpointFileError) as refused:
        inspect_file(written(content))
    assert reason in str(refused.value)
    assert len(str(refused.value)) < 500


def test_a_file_of_another_format_is_told_what_to_do(written: Write) -> None:
    with pytest.raises(CheckpointFileError, match=r"upload a safetensors file .*convert"):
        inspect_file(written(old_pickle()))


def test_a_header_of_640_bytes_is_no_pickle_though_it_begins_like_one(written: Write) -> None:
    text = json.dumps({"a": ONE}).encode().ljust(640)
    content = framed(text, b"0000")
    assert content.startswith(b"\x80\x02")
    assert inspect_file(written(content)).tensors == {"a": TensorSpec("F32", (1,))}


def test_an_oversized_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(CheckpointFileError, match=f"{MAX_BYTES + 1} bytes, at most {MAX_BYTES}"):
        inspect_file(path)


def test_the_limit_may_be_lower(written: Write) -> None:
    with pytest.raises(CheckpointFileError, match="at most 99 are taken"):
        inspect_file(written(PLAIN), max_bytes=99)


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, reason in [
        (tmp_path, "this is a folder"),
        (tmp_path / "pipe", "this is no regular file"),
        (tmp_path / "missing", "cannot be read: No such file"),
        (tmp_path / "a\0b", "cannot be read"),
    ]:
        with pytest.raises(CheckpointFileError, match=reason):
            inspect_file(path)


def test_the_reference_reader_has_its_say(written: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(safetensors_format.BYTES_OF, "F128", 4)  # as if we took what it does not
    with pytest.raises(CheckpointFileError, match="safetensors cannot read it"):
        inspect_file(written(framed({"a": entry(0, 4, dtype="F128")}, b"0000")))


def test_the_reference_reader_must_find_the_same_tensors(
    tmp_path: Path, written: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.write_bytes(save({"other": np.zeros(1, np.float32)}))
    monkeypatch.setattr(
        "arena.checkpoints.safe_open", lambda _, framework: safe_open(other, framework)
    )
    with pytest.raises(CheckpointFileError, match="other tensors than the header names"):
        inspect_file(written(PLAIN))


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
            contents = inspect_file(path)
        except CheckpointFileError as refused:
            assert len(str(refused)) < 1_000  # noqa: PT017 - the other outcome is as good
        else:
            assert sum(np.prod(form.shape) for form in contents.tensors.values()) <= len(content)


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
            inspect_file(path)


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
        inspect_file(path)
    took, (_, peak) = process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert took < 10  # quadratic work takes minutes
    assert peak < 100 * 2**20
