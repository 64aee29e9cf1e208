"""A line plays what its server says, and tells whose fault nonsense and silence are."""

from itertools import count
from typing import Any

import msgspec
import numpy as np
import pytest

from arena.errors import ArenaError, IllegalActionError, ServerFaultError, ServerLostError
from arena.games.base import OVER, State
from arena.games.catalog import connect_four
from arena.games.line_messages import PlayerHello
from arena.games.served import Position, ServedState
from workers.lines.transport import LineClosedError, Transport
from workers.tests.served import GAME, FakeServer, Lie, open_line, tell_the_truth, with_spec


def start(server: FakeServer, seed: int = 1, actions: tuple[int, ...] = ()) -> State:
    return GAME.start_on(open_line(server), seed, opening_plies=4, actions=actions)


@pytest.mark.parametrize("is_raw", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_an_episode_is_that_of_the_rules(seed: int, is_raw: bool) -> None:
    served = start(FakeServer(connect_four.GAME, is_raw=is_raw), seed)
    here = connect_four.GAME.start(seed, opening_plies=4)
    rng = np.random.default_rng(seed)
    while (seat := here.to_move()) != OVER:
        assert served.to_move() == seat
        assert list(served.legal_actions()) == list(here.legal_actions())
        np.testing.assert_array_equal(served.legal_mask(), here.legal_mask())
        np.testing.assert_array_equal(served.observation(seat), here.observation(seat))
        assert served.observation(seat).dtype == here.observation(seat).dtype
        action = int(rng.choice(here.legal_actions()))
        served.apply(action)
        here.apply(action)
    assert served.to_move() == OVER
    assert list(served.returns()) == list(here.returns())
    assert list(served.actions) == list(here.actions)


def test_many_episodes_share_a_frame() -> None:
    server = FakeServer(connect_four.GAME)
    line = open_line(server)
    states = [GAME.start_on(line, seed, opening_plies=0) for seed in range(10)]
    for _ in range(3):
        for state in states:
            state.apply(state.legal_actions()[0])
    # The hello; all starts; and all moves of a step.
    assert [len(frame) for frame in server.frames[:4]] == [1, 10, 10, 10]


def test_an_episode_goes_on_from_the_actions_of_an_earlier_attempt() -> None:
    state = start(FakeServer(connect_four.GAME), actions=(3, 3, 2))
    here = connect_four.GAME.start(1, opening_plies=4)
    for action in (3, 3, 2):
        here.apply(action)
    np.testing.assert_array_equal(state.observation(state.to_move()), here.observation(1))
    assert list(state.actions) == [3, 3, 2]


def test_actions_that_do_not_fit_are_told_from_a_fault_of_the_server() -> None:
    state = start(FakeServer(connect_four.GAME), actions=(3,) * 7)
    with pytest.raises(IllegalActionError, match="sim: illegal"):
        state.to_move()


def test_an_illegal_action_is_refused_here_and_changes_nothing() -> None:
    server = FakeServer(connect_four.GAME)
    state = start(server)
    with pytest.raises(IllegalActionError, match="77 is not in"):
        state.apply(77)
    state.apply(state.legal_actions()[0])
    assert state.to_move() == 1


def test_an_episode_that_is_given_up_ends_at_the_server() -> None:
    server = FakeServer(connect_four.GAME)
    line = open_line(server)
    left, kept = (GAME.start_on(line, seed, opening_plies=0) for seed in (1, 2))
    left.to_move()
    left.leave()
    kept.apply(kept.legal_actions()[0])
    assert kept.to_move() == 1
    assert server.n_episodes == 1


def say(**changed: Any) -> Lie:
    """Return a lie about each state of the first step or later."""

    def lie(message: dict[str, Any]) -> dict[str, Any]:
        return message | changed if message["kind"] == "state" else message

    return lie


def error(reason: str) -> Lie:
    answer = {"kind": "error", "reason": reason, "detail": "why", "episode": 1}
    return lambda message: answer if message["kind"] == "state" else message


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        (say(seat=2), "seat 2 is to move, the game has 2"),
        (say(step=7), "after 7 actions, 0 were played"),
        (say(legal=[]), "legal actions must be ascending"),
        (say(legal=[3, 2]), "legal actions must be ascending"),
        (say(legal=[2, 2]), "legal actions must be ascending"),
        (say(legal=[0, 7]), "in 0..6"),
        (say(names=["one"]), "1 names for 7 legal actions"),
        (say(at=None, observation=[[1.0]]), "no observation of float32"),
        (say(at=None, observation="x"), "no observation of float32"),
        (say(at=None, observation=[float("inf")] * 126), "no observation|finite"),
        (say(at=1 << 20), "no observation of float32"),
        (say(seat=-1, returns=[1.0]), "returns must be 2 finite floats"),
        (say(seat=-1, returns=[1e999, 0.0]), "float|finite"),
        (say(seat=-5), "bad_message: Expected `int` >= -1"),
        (say(kind="shout"), "bad_message: Invalid value 'shout'"),
        (say(episode="one"), "no frame of a game server"),
        (error("illegal"), "sim: illegal: why"),
        (error("fault"), "sim: fault: why"),
        (error("what?"), r"sim: what\?: why"),
        (lambda message: None if message["kind"] == "state" else message, "nothing for 1 s"),
    ],
)
def test_what_is_no_state_is_the_servers_fault(lie: Lie, says: str) -> None:
    state = start(FakeServer(connect_four.GAME, lie=lie))
    with pytest.raises(ServerFaultError, match=says):
        state.to_move()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"legal": [-1]}, "bad_message: Expected `int` >= 0"),
        ({"text": "x" * 10_001}, "bad_message: Expected `str` of length <= 10000"),
        (
            {"kind": "error", "reason": "fault", "detail": "pile 3 is empty" + " again" * 200},
            "fault: pile 3 is empty again",
        ),
    ],
)
def test_an_episode_that_is_told_wrongly_ends_alone(wrong: dict[str, Any], says: str) -> None:
    def lie(message: dict[str, Any]) -> dict[str, Any]:
        return message | wrong if message.get("episode") == 2 else message

    line = open_line(FakeServer(connect_four.GAME, lie=lie))
    before, told_wrongly, behind = (GAME.start_on(line, seed, opening_plies=0) for seed in range(3))
    assert [before.to_move(), behind.to_move()] == [0, 0]
    with pytest.raises(ServerFaultError, match=says):
        told_wrongly.to_move()


@pytest.mark.parametrize("reason", ["full", "stopping", "refused"])
def test_a_server_that_takes_no_more_is_lost_and_not_at_fault(reason: str) -> None:
    with pytest.raises(ServerLostError, match=f"sim: {reason}: why"):
        start(FakeServer(connect_four.GAME, lie=error(reason))).to_move()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"rules_version": 9}, "rules_version is 1, the catalog says 9"),
        ({"n_actions": 9}, "n_actions is 7, the catalog says 9"),
        ({"observation_dtype": "int8"}, "observation_dtype is 'float32', the catalog says 'int8'"),
    ],
)
def test_another_spec_is_refused_with_both_values(changed: dict[str, Any], says: str) -> None:
    game = with_spec(GAME, **changed)
    line = open_line(FakeServer(connect_four.GAME), game)
    with pytest.raises(ServerFaultError, match=says):
        game.start_on(line, 1, opening_plies=0).to_move()


def test_a_server_that_does_not_greet_is_at_fault() -> None:
    greeting = {"kind": "state", "episode": 1, "step": 0, "seat": 0}
    server = FakeServer(connect_four.GAME, lie=lambda _: greeting)
    with pytest.raises(ServerFaultError, match="its first message is no hello"):
        start(server).to_move()


def gone(limit_s: float) -> bytes:
    raise LineClosedError("gone")


def test_a_line_that_broke_ends_every_episode_and_none_waits_again() -> None:
    server = FakeServer(connect_four.GAME)
    line = open_line(server)
    states = [GAME.start_on(line, seed, opening_plies=0) for seed in range(3)]
    states[0].to_move()
    server.receive = gone  # type: ignore[method-assign]
    states[0].apply(3)
    for state in (states[0], states[0]):
        with pytest.raises(ServerLostError, match="sim: gone"):
            state.to_move()
    assert states[1].to_move() == 0  # its answer had come
    states[1].apply(3)
    with pytest.raises(ServerLostError, match="sim: gone"):
        states[1].to_move()
    assert server.is_closed
    for state in states:
        state.leave()
    assert not line._fates


class Dialling:
    """Counts how often a line is dialled; the first servers are gone once they are dialled."""

    def __init__(self, n_gone: int, lie: Lie = tell_the_truth) -> None:
        self.servers: list[FakeServer] = []
        self.now_s, self._n_gone, self._lie = 0.0, n_gone, lie
        self.line = open_line(FakeServer(connect_four.GAME), clock=lambda: self.now_s)
        self.line.renew(self.dial, "")

    def dial(self) -> Transport:
        self.servers.append(server := FakeServer(connect_four.GAME, lie=self._lie))
        if len(self.servers) <= self._n_gone:
            server.receive = gone  # type: ignore[method-assign]
        return server

    def begin(self) -> ServedState:
        return GAME.start_on(self.line, 1, opening_plies=0)


def test_what_begins_after_a_line_broke_is_dialled_for_anew() -> None:
    dialling = Dialling(n_gone=1)
    lost, later = dialling.begin(), dialling.begin()
    for state in (lost, later):
        with pytest.raises(ServerLostError, match="sim: gone"):
            state.to_move()
        state.leave()
    again = dialling.begin()
    assert again.to_move() == 0
    again.apply(3)
    assert again.to_move() == 1
    assert len(dialling.servers) == 2
    # Of those that were lost it hears nothing.
    assert [len(frame) for frame in dialling.servers[1].frames] == [1, 1, 1]


def test_a_line_that_breaks_again_and_again_is_dialled_less_and_less_often() -> None:
    dialling, dialled_at = Dialling(n_gone=99), list[float]()
    while dialling.now_s < 20:
        state = dialling.begin()
        with pytest.raises(ServerLostError, match="gone"):
            state.to_move()
        if len(dialling.servers) > len(dialled_at):
            dialled_at.append(dialling.now_s)
        dialling.now_s += 0.25
    assert dialled_at == [0, 0.25, 0.75, 1.75, 3.75, 7.75, 11.75, 15.75, 19.75]


def test_who_is_at_fault_is_tried_by_whatever_begins_until_control_stops_it() -> None:
    dialling = Dialling(n_gone=0, lie=say(episode=-5))
    for _ in range(4):
        with pytest.raises(ServerFaultError, match="no frame"):
            dialling.begin().to_move()
    assert len(dialling.servers) == 4


def test_an_answer_ends_the_pauses() -> None:
    dialling = Dialling(n_gone=3)
    for now_s in (0.0, 0.0, 0.5):
        dialling.now_s = now_s
        with pytest.raises(ServerLostError):
            dialling.begin().to_move()
    dialling.now_s = 1.5
    state = dialling.begin()
    assert state.to_move() == 0
    dialling.servers[-1].receive = gone  # type: ignore[method-assign]
    state.apply(3)
    with pytest.raises(ServerLostError):
        state.to_move()
    assert dialling.begin().to_move() == 0


def test_what_waits_keeps_its_own_observation_and_not_the_frame_of_all() -> None:
    server = FakeServer(connect_four.GAME)
    line = open_line(server)
    first, waiting = (GAME.start_on(line, seed, opening_plies=0) for seed in (1, 2))
    first.to_move()
    position = line._answers[2]
    assert isinstance(position, Position)
    kept = position.observation
    while isinstance(kept, np.ndarray) and kept.base is not None:
        kept = kept.base
    assert isinstance(kept, np.ndarray)
    assert kept.nbytes == np.zeros(GAME.spec.observation_shape, np.float32).nbytes
    assert waiting.to_move() == 0


@pytest.mark.parametrize("field", ["legal", "names"])
def test_lists_that_are_longer_than_the_game_are_not_kept(field: str) -> None:
    lie = say(**{field: list(range(100_000)) if field == "legal" else ["x"] * 100_000})
    line = open_line(FakeServer(connect_four.GAME, lie=lie))
    first, waiting = (GAME.start_on(line, seed, opening_plies=0) for seed in (1, 2))
    with pytest.raises(ServerFaultError):
        first.to_move()
    assert isinstance(line._answers[2], ServerFaultError)
    assert len(str(line._answers[2])) < 500
    with pytest.raises(ServerFaultError):
        waiting.to_move()


@pytest.mark.parametrize("n", [1, 2])
def test_a_state_that_comes_twice_is_not_taken_for_the_next(n: int) -> None:
    server = FakeServer(connect_four.GAME)
    line = open_line(server)
    first, other = (GAME.start_on(line, seed, opening_plies=0) for seed in (1, 2))
    assert [first.to_move(), other.to_move()] == [0, 0]
    other.apply(3)
    line.flush()
    again = {"kind": "state", "episode": 1, "step": 0, "seat": 0, "legal": [0], "at": 0}
    raw = np.zeros(GAME.spec.observation_shape, np.float32).tobytes()
    server.answers.extendleft([msgspec.json.encode([again, {"kind": "bytes", "n": len(raw)}])] * n)
    server.raw.extendleft([raw] * n)
    assert other.to_move() == 1
    first.apply(3)
    with pytest.raises(ServerFaultError, match="sim: it answers what nobody has asked"):
        first.to_move()


def test_a_block_that_is_asked_together_may_not_take_the_limit_once_per_episode() -> None:
    server, now_s = FakeServer(connect_four.GAME), [0.0]
    line = open_line(server, clock=lambda: now_s[0])
    states = [GAME.start_on(line, seed, opening_plies=0) for seed in range(5)]
    assert [state.to_move() for state in states] == [0] * 5
    for state in states:
        state.apply(3)
    now_s[0] += 60  # an agent thinks meanwhile: that is no wait for the server
    line.flush()
    (together,) = (msgspec.json.decode(frame) for frame in server.answers)
    server.answers.clear()

    def answer_one(limit_s: float) -> bytes:
        now_s[0] += 0.4
        return msgspec.json.encode([together.pop(0), *together[-1:]])

    server.receive = answer_one  # type: ignore[method-assign]
    server.receive_bytes = lambda n, limit_s: server.raw[0]  # type: ignore[method-assign]
    assert [state.to_move() for state in states[:2]] == [1, 1]
    with pytest.raises(ServerFaultError, match="has not answered an episode for 1 s"):
        states[4].to_move()


def test_a_server_that_cannot_be_dialled_is_lost() -> None:
    line = open_line(FakeServer(connect_four.GAME))

    def refuse() -> Transport:
        raise LineClosedError("ws://x does not answer")

    line._dial = refuse
    with pytest.raises(ArenaError, match="sim: ws://x does not answer"):
        GAME.start_on(line, 1, opening_plies=0).to_move()
    assert isinstance(line.error, ServerLostError)


def test_an_answer_to_an_episode_that_was_given_up_is_dropped() -> None:
    server = FakeServer(connect_four.GAME)
    line = open_line(server)
    left, kept = (GAME.start_on(line, seed, opening_plies=0) for seed in (1, 2))
    assert kept.to_move() == 0
    left.leave()
    kept.apply(3)
    assert kept.to_move() == 1
    assert line._answers == {}


def test_the_pass_goes_with_the_hello() -> None:
    server = FakeServer(connect_four.GAME)
    line = open_line(server)
    line._token = "sim.99.ab"
    GAME.start_on(line, 1, opening_plies=0).to_move()
    assert server.frames[0] == [PlayerHello(1, "served_four", "sim.99.ab")]


def test_a_server_that_talks_of_other_episodes_for_ever_is_silent() -> None:
    server, now = FakeServer(connect_four.GAME, lie=lambda m: m | {"episode": 99}), count()
    line = open_line(server, clock=lambda: next(now) / 10)
    say_once = server.receive

    def say_once_and_then_nothing_of_it(limit_s: float) -> bytes:
        is_due = len(server.answers) > 1 or not server.frames[1:]
        return say_once(limit_s) if is_due else b"[]"

    server.receive = say_once_and_then_nothing_of_it  # type: ignore[method-assign]
    state = GAME.start_on(line, 1, opening_plies=0)
    with pytest.raises(ServerFaultError, match="has not answered an episode for 1 s"):
        state.to_move()
    assert server.is_closed


def test_what_came_in_many_frames_while_this_machine_stood_still_is_read() -> None:
    server, now_s = FakeServer(connect_four.GAME), [0.0]
    line = open_line(server, clock=lambda: now_s[0])
    states = [GAME.start_on(line, seed, opening_plies=0) for seed in range(3)]
    assert [state.to_move() for state in states] == [0] * 3
    for state in states:
        state.apply(3)
    line.flush()
    (together,) = (msgspec.json.decode(frame) for frame in server.answers)
    server.answers.clear()

    def stand_still_once(limit_s: float) -> bytes:
        now_s[0] += 60 if len(together) == 4 else 0.001
        return msgspec.json.encode([together.pop(0), *together[-1:]])

    server.receive = stand_still_once  # type: ignore[method-assign]
    server.receive_bytes = lambda n, limit_s: server.raw[0]  # type: ignore[method-assign]
    assert [state.to_move() for state in reversed(states)] == [1] * 3
