"""Chunks as bytes: what is written is read again; what is no chunk is refused by its field."""

import json
import pickle
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given

from arena.errors import ChunkError
from arena.experience.chunks import Chunk
from arena.experience.tests.made import SPEC, assert_same, chunk_of, chunks
from arena.experience.wire import Form, read_chunk, read_game, write_chunk
from arena.games import registry

FORMS: tuple[Form, ...] = ("msgpack", "json")


@given(chunks())
@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_is_read_again(form: Form, chunk: Chunk) -> None:
    content = write_chunk(chunk, form=form)
    assert read_game(content, form=form) == "cart_pole"
    assert_same(read_chunk(content, spec=SPEC, form=form), chunk)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_too_long_is_refused_before_anything_is_built_of_it(form: Form) -> None:
    content = write_chunk(chunk_of((1_025,)), form=form)
    with pytest.raises(ChunkError, match="has 1025 steps: must be 1 to 1024"):
        read_chunk(content, spec=SPEC, form=form)


def test_equal_chunks_are_equal_bytes_however_their_arrays_lie() -> None:
    chunk = chunk_of()
    other = replace(
        chunk,
        observations=np.asfortranarray(chunk.observations),
        rewards=chunk.rewards.astype(">f4"),
    )
    assert write_chunk(other) == write_chunk(chunk)


def test_arrays_are_little_endian_bytes_and_their_lists_say_null_for_not_known() -> None:
    chunk = chunk_of((16,), log_probs=np.full(16, np.nan, np.float32))
    packed = msgspec.msgpack.decode(write_chunk(chunk))
    assert packed["v"] == 1
    assert packed["steps"] == np.arange(16, dtype="<i4").tobytes()
    assert packed["observations"] == chunk.observations.astype("<f4").tobytes()
    assert packed["terminated"] == b"\0" * 15 + b"\1"
    assert json.loads(write_chunk(chunk, form="json"))["log_probs"] == [None] * 16


def _packed(**changed: Any) -> bytes:
    message = msgspec.msgpack.decode(write_chunk(chunk_of()))
    return msgspec.msgpack.encode(message | changed)


def _listed(**changed: Any) -> bytes:
    message = json.loads(write_chunk(chunk_of(), form="json"))
    return json.dumps(message | changed).encode()


def _refusal(content: bytes, form: Form = "msgpack") -> ChunkError:
    with pytest.raises(ChunkError) as refused:
        read_chunk(content, spec=SPEC, form=form)
    return refused.value


@pytest.mark.parametrize(
    ("changed", "field", "index", "refusal"),
    [
        ({"v": 2}, "v", None, "Invalid enum value 2"),
        ({"game": 3}, "game", None, "got `int`"),
        ({"game": "acrobot"}, "game", None, "is 'acrobot', this is cart_pole"),
        ({"chunk_id": "A" * 32}, "chunk_id", None, "matching regex"),
        ({"policy_version": 2**31}, "policy_version", None, "<= 2147483647"),
        ({"policy_version": True}, "policy_version", None, "got `bool`"),
        ({"steps": [0]}, "steps", None, "got `array`"),
        ({"actions": b""}, "episodes", None, "has 200 bytes, int64 of shape (0,) are 0"),
        ({"steps": b"123"}, "steps", None, "has 3 bytes, int32 of shape (25,) are 100"),
        ({"observations": b"1234" * 25}, "observations", None, "float32 of shape (25, 4) are 400"),
        ({"truncated": b"\1\2" + b"\0" * 23}, "truncated", 1, "is 2: must be 0 or 1"),
        ({"pickled": b""}, "", None, "unknown field `pickled`"),
    ],
)
def test_packed_fields_that_are_none_are_refused(
    changed: dict[str, Any], field: str, index: int | None, refusal: str
) -> None:
    error = _refusal(_packed(**changed))
    assert (error.field, error.index) == (field, index)
    assert refusal in str(error)


@pytest.mark.parametrize(
    ("changed", "field", "index", "refusal"),
    [
        ({"actions": [0]}, "episodes", None, "has 25 values, not 1"),
        ({"observations": [[0.0]] * 25}, "observations", 0, "[0] has 1 values, not 4"),
        ({"observations": [[0.0] * 4] * 24 + [[0.0, "x", 0, 0]]}, "observations", 24, "got `str`"),
        ({"rewards": [1.0, -1e300] + [1] * 23}, "rewards", 1, "is -1e+300: must fit into"),
        ({"steps": [0, 2**40]}, "steps", 1, "<= 2147483647"),
        ({"steps": [0, 1.5]}, "steps", 1, "got `float`"),
        ({"terminated": [0]}, "terminated", 0, "got `int`"),
        ({"rewards": None}, "rewards", None, "got `null`"),
        ({"rewards": [None]}, "rewards", 0, "got `null`"),
        ({"model": "x"}, "", None, "unknown field `model`"),
    ],
)
def test_listed_fields_that_are_none_are_refused(
    changed: dict[str, Any], field: str, index: int | None, refusal: str
) -> None:
    error = _refusal(_listed(**changed), "json")
    assert (error.field, error.index) == (field, index)
    assert refusal in str(error)


DEEP = b"[" * 1_000_000


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"\xff" * 100,
        DEEP,
        b'{"v":' + DEEP,
        b'{"game":"cart_pole","x":' + DEEP,
        b'{"observations":' + DEEP,
        b'{"steps":[' + b"9" * 1_000_000 + b"]}",
        b'{"rewards":[1e999]}',
        b'{"rewards":[NaN]}',
        b"\x91" * 1_000_000,
        b"\x82\xa4game\xa9cart_pole\xa1x" + b"\x91" * 1_000_000,
        pickle.dumps({"v": 1}),
    ],
    ids=range(13),
)
@pytest.mark.parametrize("form", FORMS)
def test_deep_huge_and_foreign_bytes_are_refused(form: Form, content: bytes) -> None:
    error = _refusal(content, form)
    assert len(str(error)) < 500
    with pytest.raises(ChunkError):
        read_game(content[:-1] or b"x", form=form)


def test_a_chunk_that_is_cut_off_is_refused_wherever_it_ends() -> None:
    content = write_chunk(chunk_of((16,)))
    for length in range(len(content)):
        _refusal(content[:length])


def test_games_of_several_seats_have_no_experience_of_one_client() -> None:
    spec = registry.get("tic_tac_toe").spec
    with pytest.raises(ChunkError, match="game tic_tac_toe has 2 seats: games of one seat only"):
        read_chunk(_packed(game="tic_tac_toe"), spec=spec)
