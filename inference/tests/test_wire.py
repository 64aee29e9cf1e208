from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.policies.network_policy import FloatBatch, NetworkOutput
from inference import wire
from inference.errors import RequestError
from inference.protocol import BlockRequest, CheckpointRef, Fault, FaultKind

CLIENT = "node-1:" + "0123456789abcdef" * 2
REF = CheckpointRef("ab" * 32, "/files/checkpoints/x?until=1&signature=2")


def floats(*shape: int) -> FloatBatch:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 3.5


def encoded(block: BlockRequest, request: int = 7) -> bytes:
    return wire.encode_request(
        block, client=CLIENT, request=request, asked_ms=1.5, deadline_ms=2e12
    )


@given(
    shape=st.lists(st.integers(1, 5), min_size=2, max_size=5),
    state_size=st.integers(0, 4),
    request=st.integers(0, 2**63 - 1),
)
def test_a_request_arrives_as_it_was_sent(shape: list[int], state_size: int, request: int) -> None:
    block = BlockRequest(REF, floats(*shape), floats(shape[0], state_size))
    read = wire.decode_request(encoded(block, request))
    assert read[:4] == (CLIENT, request, 1.5, 2e12)
    assert read.n_rows == shape[0]
    assert isinstance(read.block, BlockRequest)
    assert read.block.ref == REF
    np.testing.assert_array_equal(read.block.observations, block.observations)
    np.testing.assert_array_equal(read.block.states, block.states)


def test_decoding_copies_nothing() -> None:
    read = wire.decode_request(encoded(BlockRequest(REF, floats(3, 4), floats(3, 2))))
    assert isinstance(read.block, BlockRequest)
    for array in (read.block.observations, read.block.states):
        assert array.base is not None
        assert not array.flags.writeable
        assert array.flags.aligned
        assert array.flags.c_contiguous


def test_arrays_of_another_layout_are_sent_as_float32() -> None:
    observations: Any = floats(4, 3).T.astype(np.float64)
    read = wire.decode_request(encoded(BlockRequest(REF, observations, floats(3, 0))))
    assert isinstance(read.block, BlockRequest)
    np.testing.assert_array_equal(read.block.observations, observations)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 3))
def test_an_answer_arrives_as_it_was_sent(n_rows: int, n_actions: int, state_size: int) -> None:
    answer = NetworkOutput(floats(n_rows, n_actions), floats(n_rows), floats(n_rows, state_size))
    request, read = wire.decode_answer(wire.encode_answer(5, answer))
    assert request == 5
    for mine, theirs in zip(answer, read, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("kind", FaultKind)
def test_a_fault_arrives_with_its_detail(kind: FaultKind) -> None:
    raw = wire.encode_answer(9, Fault(kind, "ü" * 600))
    assert wire.decode_answer(raw) == (9, Fault(kind, "ü" * wire.MAX_DETAIL))


@given(st.binary(max_size=200))
def test_garbage_is_malformed(raw: bytes) -> None:
    with pytest.raises(wire.MalformedError):
        wire.decode_request(raw)
    with pytest.raises(wire.MalformedError):
        wire.decode_answer(raw)


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_changed_byte_is_malformed_or_still_a_block(place: int, value: int) -> None:
    raw = bytearray(encoded(BlockRequest(REF, floats(3, 4), floats(3, 2))))
    raw[place % len(raw)] = value
    try:
        read = wire.decode_request(bytes(raw))
    except wire.MalformedError:
        return
    assert isinstance(read.block, BlockRequest | Fault)


def test_a_cut_block_is_a_fault_that_its_client_is_told() -> None:
    read = wire.decode_request(encoded(BlockRequest(REF, floats(3, 4), floats(3, 0)))[:-1])
    assert read.block == Fault(FaultKind.BAD_REQUEST, "47 bytes of floats; the header says 48")
    assert (read.client, read.request) == (CLIENT, 7)


def test_a_block_without_rows_is_a_fault() -> None:
    read = wire.decode_request(encoded(BlockRequest(REF, floats(0, 4), floats(0, 0))))
    assert read.block == Fault(FaultKind.BAD_REQUEST, "a block of shape [0, 4] holds nothing")


@pytest.mark.parametrize(
    ("field", "value", "refusal"),
    [
        ("dtype", "float64", "floats of type 'float64'"),
        ("shape", [2**24] * 8, "the header says"),
        ("state_size", 1, "the header says 60"),
    ],
)
def test_a_header_that_lies_is_a_fault(field: str, value: object, refusal: str) -> None:
    read = wire.decode_request(with_header(field, value))
    assert isinstance(read.block, Fault)
    assert refusal in read.block.detail


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("client", "../../x" * 5),
        ("client", "ab" * 16),
        ("client", "node-*:" + "ab" * 16),
        ("checkpoint", "ab" * 31 + "zz"),
        ("source", "@elsewhere.example/files"),
        ("source", "/files/\r\nHost: elsewhere"),
        ("deadline_ms", -1.0),
        ("shape", [-1, 4]),
        ("shape", [3]),
        ("request", 2**63),
    ],
)
def test_a_header_that_no_client_writes_is_malformed(field: str, value: object) -> None:
    with pytest.raises(wire.MalformedError):
        wire.decode_request(with_header(field, value))


def test_what_is_larger_than_any_client_sends_is_malformed() -> None:
    with pytest.raises(wire.MalformedError, match="at most 16777216 are taken"):
        wire.decode_request(bytes(wire.MAX_BYTES + 1))


def test_what_is_too_large_is_not_sent() -> None:
    large = np.zeros((1, wire.MAX_BYTES // 4), np.float32)
    with pytest.raises(RequestError, match="at most 16777216 are taken"):
        encoded(BlockRequest(REF, large, floats(1, 0)))


@pytest.mark.parametrize("shapes", [((4,), (4, 0)), ((4, 2), (3, 1)), ((4, 2), (4,))])
def test_what_is_no_block_is_not_sent(shapes: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(RequestError, match="is needed"):
        encoded(BlockRequest(REF, floats(*shapes[0]), floats(*shapes[1])))


def with_header(field: str, value: object) -> bytes:
    """Return a request of which one field of the header is replaced."""
    fields: dict[str, object] = {
        "client": CLIENT,
        "request": 7,
        "asked_ms": 1.0,
        "deadline_ms": 2.0,
        "checkpoint": REF.checkpoint,
        "source": REF.source,
        "dtype": "float32",
        "shape": [3, 4],
        "state_size": 0,
    }
    fields[field] = value
    header = msgspec.msgpack.encode(list(fields.values()))
    prefix = wire.VERSION.to_bytes(2, "little") + len(header).to_bytes(2, "little")
    return prefix + header + bytes(-(4 + len(header)) % 16) + bytes(48)
