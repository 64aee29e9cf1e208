"""A player without a process of its own: what it says to what it hears."""

import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from arena.games import registry as games
from arena.messages import AgentOrder, Ending
from workers import networks
from workers.current_call import SIZE, CallMemory, Phase
from workers.player import Player, catalogs_of, die_with_parent
from workers.tests.fake_networks import network
from workers.tests.fakes import CATALOGS
from workers.tests.orders import fake
from workers.trajectory_recorder import open_recorder
from workers.wire import (
    Assign,
    Assignment,
    Channel,
    Command,
    Message,
    Prepare,
    Prepared,
    Progress,
    Ready,
    Refused,
    Release,
    Released,
    Ring,
    messages,
)


def converse(*heard: Command) -> tuple[list[Message], CallMemory]:
    """Return what a player says that hears all this at once, after which its parent is gone."""
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryFile() as shared, ours:
        shared.truncate(SIZE)
        call_memory = CallMemory(shared.fileno())
        parent = Channel(ours)
        for command in heard:
            parent.send(command)
        ours.shutdown(socket.SHUT_WR)
        # A clock that stands still: it plays all that it is assigned before it listens again.
        player = Player(
            Channel(theirs),
            call_memory,
            replace(CATALOGS, recorder=open_recorder),
            clock=lambda: 0.0,
        )
        player.play_until_closed()
        return [messages.decode(frame) for frame in parent.receive(wait=True)], call_memory


def prepare(what: str = "nothing", game: str = "sum") -> Prepare:
    return Prepare(5, game, 1, {}, 0, [fake(what), fake()], None)


def assign(n: int) -> Assign:
    return Assign([Assignment(i, 1, i + 1, [0, 1], []) for i in range(n)])


def test_it_is_ready_and_ends_with_its_parent() -> None:
    answers, _ = converse()
    assert answers == [Ready()]


def test_it_prepares_and_plays_what_it_is_assigned() -> None:
    answers, call_memory = converse(prepare(), assign(3))
    assert answers[:2] == [Ready(), Prepared(5, is_batched=False)]
    rows = [
        row for message in answers[2:] if isinstance(message, Progress) for row in message.ended
    ]
    assert [(row.index, row.ending) for row in rows] == [(i, Ending.DONE) for i in range(3)]
    assert call_memory.read_call().phase is Phase.IDLE


def test_it_gives_back_what_it_has_not_begun() -> None:
    answers, _ = converse(prepare(), assign(3), Release(2, is_begun_too=False))
    assert answers[2] == Released([2, 1])


def test_a_new_order_takes_the_place_of_the_old() -> None:
    answers, _ = converse(prepare(), assign(3), prepare())
    assert answers == [Ready(), Prepared(5, is_batched=False), Prepared(5, is_batched=False)]


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (prepare(game="go fish"), "unknown game 'go fish': choose one of sum"),
        (Prepare(5, "sum", 1, {"steps": 0}, 0, [], None), "steps"),
        (Prepare(5, "sum", 3, {}, 0, [], None), "rules version 1"),
        (
            msgspec.structs.replace(prepare(), game_version="b" * 64),
            "game 'sum': this node has version 1, the order asks for bbbbbbbbbbbb: put the same",
        ),
        (
            Prepare(5, "sum", 1, {}, 0, [AgentOrder("fake", {}, version="c" * 64 + "+d")], None),
            "policy 'fake': this node has version 1, the order asks for cccccccccccc: ",
        ),
        (prepare("raise in build"), "RuntimeError: out of luck (fakes.py:"),
    ],
)
def test_it_says_why_it_refuses_an_order(wrong: Prepare, word: str) -> None:
    answers, _ = converse(wrong, assign(1), Release(1, is_begun_too=True))
    (_, refused) = answers
    assert isinstance(refused, Refused)
    assert refused.serial == 5
    assert word in refused.detail


def test_it_does_not_start_for_a_parent_that_is_gone() -> None:
    with pytest.raises(SystemExit):
        die_with_parent(parent=1 << 22)


def test_a_player_that_nobody_starts_says_nothing() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "workers.player"], capture_output=True, text=True, check=False
    )
    assert "not enough values" in ended.stderr


def test_a_player_of_an_order_passes_the_doorbell_to_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryFile() as shared, ours, theirs:
        shared.truncate(SIZE)
        catalogs = catalogs_of(Channel(theirs), CallMemory(shared.fileno()))
        rung: list[object] = []

        def asking(url: str, *, settings: object, ring: Callable[[int, str], None]) -> None:
            rung.append(url)
            ring(3, "1a")

        monkeypatch.setattr(networks, "InferenceClient", asking)
        monkeypatch.setenv("EVALSITE_INFERENCE_URL", "redis://127.0.0.1:1/0")
        spec = games.get("tic_tac_toe").spec
        assert catalogs.network(network(), spec).state_size == 0
        (frame,) = Channel(ours).receive(wait=True)
        assert messages.decode(frame) == Ring(3, "1a")
        assert rung == ["redis://127.0.0.1:1/0"]


def test_an_order_whose_trajectories_cannot_be_stored_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("EVALSITE_SITE_URL", raising=False)
    link = "/files/trajectories/0?until=1&signature=a"
    answers, _ = converse(Prepare(5, "sum", 1, {}, 0, [fake(), fake()], None, link))
    (_, refused) = answers
    assert isinstance(refused, Refused)
    assert "EVALSITE_SITE_URL" in refused.detail


def test_a_player_without_networks_refuses_an_agent_that_needs_one() -> None:
    agents = [network(), network()]
    answers, _ = converse(Prepare(5, "sum", 1, {}, 0, agents, None))
    assert answers[1:] == [Refused(5, "network: this player asks no networks for sum")]
