"""Files of weights: what is read, and that nothing else is."""

import json
import pickle
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from evalsite_client.errors import AnswerError
from evalsite_client.experience.weights import read_weights

TENSORS = {
    "a.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "a.bias": np.array([0.5, -1], np.float32),
    "empty": np.zeros((0, 3), np.float32),
}
FORM = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def _file(header: Any, n_bytes: int = 8) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(n_bytes)


def test_what_safetensors_writes_is_read() -> None:
    read = read_weights(safetensors.numpy.save(TENSORS, {"game": "cart_pole"}))
    assert read.metadata == {"game": "cart_pole"}
    assert read.tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        np.testing.assert_array_equal(read.tensors[name], tensor)


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (b"", "no header"),
        (pickle.dumps({"a": 1}), "no header"),
        (b"PK\x03\x04" + bytes(40), "no header"),
        ((2**40).to_bytes(8, "little") + b"{}", "no header"),
        ((3 * 2**20).to_bytes(8, "little") + b"{" + bytes(3 * 2**20), "no header"),
        (_file(b"{" + b"x" * 20), "no JSON"),
        (_file(b'{"a":' + b"[" * 90_000), "no JSON"),
        (_file(b"{\xff\xfe}"), "no JSON"),
        (_file({"__metadata__": {"a": 1}, "a": FORM}), "metadata"),
        (_file({"a": [1]}), "no dtype, shape and offsets"),
        (_file({"a": FORM | {"shape": [-2, -1]}}), "no dtype, shape and offsets"),
        (_file({"a": FORM | {"shape": [True]}}), "no dtype, shape and offsets"),
        (_file({"a": FORM | {"dtype": "F64", "shape": [1]}}), "'F64': F32 is read"),
        (_file({"a": FORM | {"shape": [3]}}), "from byte 0 to 8 of 8"),
        (_file({"a": FORM | {"data_offsets": [4, 12]}}), "from byte 4 to 12 of 8"),
        (_file({"a": FORM, "b": FORM}), "overlap or do not fill"),
        (_file({"a": FORM}, 9), "overlap or do not fill"),
        (safetensors.numpy.save({"a": np.array([1, np.nan], np.float32)}), "NaN or infinity"),
    ],
    ids=range(18),
)
def test_what_is_no_file_of_float32_is_refused(content: bytes, refusal: str) -> None:
    with pytest.raises(AnswerError, match=refusal):
        read_weights(content)
