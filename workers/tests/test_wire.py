"""Frames between a parent and its players."""

import socket
import struct
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.errors import ChannelError
from workers.wire import Assign, Assignment, Channel, Progress, Ready, commands, messages


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    yield channel, theirs
    channel.close()
    theirs.close()


@given(sizes=st.lists(st.integers(0, 300), max_size=6), cut=st.integers(1, 50))
def test_frames_come_out_whole_however_the_bytes_are_cut(sizes: list[int], cut: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(ours)
        bodies = [bytes([size % 256]) * size for size in sizes]
        buffer = b"".join(struct.pack(">I", len(body)) + body for body in bodies)
        received: list[bytes] = []
        for start in range(0, len(buffer), cut):
            theirs.sendall(buffer[start : start + cut])
            received += channel.receive(wait=True)
        assert received == bodies


def test_a_command_arrives_as_it_was_sent(ends: tuple[Channel, socket.socket]) -> None:
    sender, theirs = ends
    assign = Assign([Assignment(index=3, attempt=1, game_seed=2**62, seats=[0, 1], actions=[4, 5])])
    sender.send(assign)
    (frame,) = Channel(theirs).receive(wait=True)
    assert commands.decode(frame) == assign


def test_nothing_is_received_when_nothing_has_come(ends: tuple[Channel, socket.socket]) -> None:
    assert ends[0].receive(wait=False) == []


def test_a_closed_end_is_an_error(ends: tuple[Channel, socket.socket]) -> None:
    channel, theirs = ends
    theirs.close()
    with pytest.raises(ChannelError, match="closed"):
        channel.receive(wait=True)
    with pytest.raises(ChannelError, match="not sent"):
        channel.send(Ready())


def test_an_end_that_does_not_read_is_an_error(ends: tuple[Channel, socket.socket]) -> None:
    with pytest.raises(ChannelError, match="not sent"):
        ends[0].send(Progress(list(range(10**6)), []), limit_s=0.05)


def test_a_frame_of_absurd_length_is_an_error(ends: tuple[Channel, socket.socket]) -> None:
    channel, theirs = ends
    theirs.sendall(b"\xff" * 10)
    with pytest.raises(ChannelError, match="4294967295 bytes"):
        channel.receive(wait=True)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b'["assign",[]]',
        b'["progress",[-1],[]]',
        b'["progress",[true],[]]',
        b'["released",["x"]]',
        b'["progress",[],[[0,"won",[],"",-1,"",0]]]',
        b'["progress",[],[[0,"done",[],"",256,"",0]]]',
    ],
)
def test_what_has_another_form_is_no_message(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        messages.decode(body)
