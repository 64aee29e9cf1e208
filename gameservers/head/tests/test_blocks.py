import json
from typing import Any

import numpy as np
import pytest

from gameservers.head.blocks import Block, EvaluateError, Form, read_block, read_request

FORM = Form((2,), 3, n_states=1)
ASKED: dict[str, Any] = {
    "observations": [[1, 2], [3, 4]],
    "legal": [[0, 2], [1]],
    "seeds": [5, 6],
    "states": [[0.5], [0.25]],
}


def read_json(**changes: Any) -> Block:
    body = json.dumps({**ASKED, **changes}).encode()
    return read_block(*read_request(body, is_binary=False), FORM)


def read_binary(arrays: bytes, **header: Any) -> Block:
    body = json.dumps(header).encode() + b"\n" + arrays
    return read_block(*read_request(body, is_binary=True), FORM)


def pack(block: Block) -> bytes:
    seeds = b"" if block.seeds is None else block.seeds.tobytes()
    masks = block.masks.astype(np.uint8).tobytes()
    return block.observations.tobytes() + masks + seeds + block.states.tobytes()


def test_both_forms_say_the_same() -> None:
    block = read_json()
    assert block.masks.tolist() == [[True, False, True], [False, True, False]]
    binary = read_binary(pack(block), rows=2, has_seeds=True, has_states=True)
    for name in ("observations", "masks", "seeds", "states"):
        assert np.array_equal(getattr(block, name), getattr(binary, name))
        assert getattr(block, name).dtype == getattr(binary, name).dtype


def test_seeds_and_states_may_be_left_out() -> None:
    block = read_json(seeds=None, states=None)
    assert block.seeds is None
    assert block.states.tolist() == [[0.0], [0.0]]
    arrays = block.observations.tobytes() + block.masks.tobytes()
    assert read_binary(arrays, rows=2).seeds is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"observations": [[1, 2]]}, r"observations: must be numbers of the shape \[2, 2\]"),
        ({"observations": [["a", 2], [3, 4]]}, "observations: must be numbers"),
        ({"observations": [[1, None], [3, 4]]}, "observations: must be numbers|NaN"),
        ({"observations": [[1e300, 2], [3, 4]]}, "observations: NaN or infinity"),
        ({"legal": [[0], [3]]}, r"legal: 3 in row 1: must be 0..2"),
        ({"legal": [[0], []]}, "legal: no action in row 1"),
        ({"legal": []}, "legal"),
        ({"seeds": [1]}, "seeds: 1 of them, for 2 rows"),
        ({"seeds": [1, 2**63]}, "seeds"),
        ({"seeds": [1, -1]}, "seeds"),
        ({"states": [[1], ["b"]]}, "states"),
        ({"temperature": -1}, "temperature"),
        ({"spin": 1}, "spin"),
    ],
)
def test_a_bad_field_is_named_with_what_it_must_be(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(EvaluateError, match=reason) as refused:
        read_json(**changes)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"rows": 2}\n' + bytes(10), "10 bytes follow, of 2 rows must 22"),
        (b'{"rows": 0}\n', "rows"),
        (b'{"rows": 2}', "no JSON object and newline"),
        (b'{"rows": 1}\n' + bytes(11), "legal: no action in row 0"),
        (b"[[[\n", "cannot be read"),
        (b"\xff\xfe\n", "cannot be read"),
    ],
)
def test_bytes_that_do_not_fit_are_refused_with_the_sizes(body: bytes, reason: str) -> None:
    with pytest.raises(EvaluateError, match=reason):
        read_block(*read_request(body, is_binary=True), FORM)


def test_a_seed_of_64_bits_is_refused() -> None:
    block = read_json()
    arrays = block.observations.tobytes() + block.masks.tobytes()
    arrays += np.array([1, 2**63], np.uint64).tobytes()
    with pytest.raises(EvaluateError, match="seeds: each must be below"):
        read_binary(arrays, rows=2, has_seeds=True)
