"""Episodes of OpenEnv over a line: the same as they are, and whose fault it is where they end."""

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import cycle
from unittest.mock import Mock

import pytest

from arena.errors import IllegalActionError, ServerFaultError, ServerLostError
from arena.games.base import OVER
from arena.games.line_messages import End, Start, encode_frame
from arena.games.openenv.game import OpenEnvGame
from arena.games.served import ServedState
from arena.messages import ServerLink
from workers.lines.game_line import GameLine
from workers.lines.openenv import LEAVE_S, STACK_BYTES, OpenEnvTransport
from workers.lines.opening import Lines
from workers.lines.sockets import SocketTransport
from workers.lines.transport import FrameError, LineClosedError, LineSilentError
from workers.tests.ladder import GAME, HANG_UP, SILENCE, STATE_GAME, TWICE, LadderServer

UP_BY_5 = (1, 2)


@pytest.fixture
def server() -> Iterator[LadderServer]:
    with LadderServer().running() as running:
        yield running


def open_line(address: str, *, game: OpenEnvGame = GAME, answer_s: str = "5") -> GameLine:
    lines = Lines({"EVALSITE_SERVER_S": answer_s}, show_waiting=nullcontext)
    (line,) = lines.open_lines(game, [ServerLink("sim-1", address, "a pass")])
    return line


def play(state: ServedState, *actions: int) -> ServedState:
    for action in actions:
        state.apply(action)
    return state


def test_an_episode_is_played_to_the_score_that_the_environment_gives(server: LadderServer) -> None:
    state = GAME.start_on(open_line(server.address), 2**62 + 1, opening_plies=0)
    assert state.observation(0).tolist() == [0, 1, 0, 0, 0, 1, 0]
    assert list(state.legal_actions()) == [0, 1]
    assert state.action_name(1) == "up True"
    play(state, 1)
    assert state.observation(0).tolist() == [0, 1, 0, 1, 0, 0, 1]
    assert list(state.legal_actions()) == [0, 1, 2]
    play(state, 2)
    assert state.observation(0)[1:3].tolist() == [0, 1]
    assert state.describe() == "1 step taken. The last one earned 0.5, all 0.5."
    play(state, 0, 0, 1, 1)
    assert state.to_move() == OVER
    assert state.returns() == [6 + (2**62 + 1) / 7]


def test_many_episodes_are_apart_and_each_has_a_connection_of_its_own(
    server: LadderServer,
) -> None:
    line = open_line(server.address)
    states = [GAME.start_on(line, 7 * seed, opening_plies=0) for seed in range(8)]
    for turn in range(6):
        for number, state in enumerate(states):
            play(state, (number >> turn // 2) & 1 if turn % 2 == 0 else 0)
    heights = [sum(1 if number >> bit & 1 else -1 for bit in range(3)) for number in range(8)]
    assert {state.to_move() for state in states} == {OVER}
    expected = [[float(height + number)] for number, height in enumerate(heights)]
    assert [state.returns() for state in states] == expected
    assert server.n_most == 8


def test_a_server_of_one_session_is_never_asked_for_two() -> None:
    with LadderServer(capacity=1).running() as server:
        line = open_line(server.address)
        for seed in range(5):
            state = GAME.start_on(line, seed, opening_plies=0)
            assert play(state, *UP_BY_5 * 3).to_move() == OVER
        assert server.n_most == 1
        assert server.n_begun == 5


def test_an_episode_goes_on_from_the_actions_that_were_played(server: LadderServer) -> None:
    line = open_line(server.address)
    state = GAME.start_on(line, 0, opening_plies=0, actions=(1, 2, 1, 2, 1))
    assert list(state.legal_actions()) == [0, 1, 2]
    play(state, 0)
    assert state.to_move() == OVER
    assert state.returns() == [11.0]


def test_actions_that_do_not_fit_any_more_are_illegal(server: LadderServer) -> None:
    line = open_line(server.address)
    for actions in ((1, 2, 9), (1, 2) * 4):
        with pytest.raises(IllegalActionError, match="ladder: "):
            GAME.start_on(line, 0, opening_plies=0, actions=actions).to_move()


def test_what_it_is_reset_with_is_what_the_game_is_configured_with(server: LadderServer) -> None:
    state = GAME.configured({"start": 40}).start_on(
        open_line(server.address), 0, opening_plies=0, actions=(1, 2) * 3
    )
    state.to_move()
    assert state.returns() == [55.0]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("nonsense", "no answer of OpenEnv"),
        ("[" * 100_000, "no answer of OpenEnv"),
        ('{"type":"observation","data":{"observation":[]}}', "Expected `object`"),
        ('{"type":"observation","data":{"observation":{"height":1}}}', "its observation: mood is"),
        (
            '{"type":"observation","data":{"observation":{"height":"x","mood":"low"}}}',
            "its observation: height must be a finite number, is 'x'",
        ),
        ('{"type":"state","data":{}}', "a StateAnswer that nobody asked for"),
        (b"raw", "3 bytes where a text was due"),
        ('{"type":"error","data":{"code":"EXECUTION_ERROR","message":"boom"}}', "ERROR: boom"),
        (
            '{"type":"error","data":{"code":"VALIDATION_ERROR","message":"m","errors":["up"]}}',
            r"VALIDATION_ERROR: m: \['up'\]",
        ),
        ('{"type":"error","data":{"code":"SESSION_ERROR"}}', "SESSION_ERROR"),
    ],
)
@pytest.mark.parametrize("kind", ["reset", "step"])
def test_what_does_not_fit_is_the_fault_of_the_server_and_ends_one_episode(
    server: LadderServer, kind: str, answer: str | bytes, why: str
) -> None:
    line = open_line(server.address)
    other = GAME.start_on(line, 0, opening_plies=0)
    other.to_move()
    server.spoilt[kind] = answer
    state = GAME.start_on(line, 0, opening_plies=0)
    with pytest.raises(ServerFaultError, match=why):
        play(state, *UP_BY_5).to_move()
    state.leave()
    server.spoilt.clear()
    assert play(other, *UP_BY_5 * 3).to_move() == OVER


def test_a_message_that_nobody_asked_for_is_not_taken_for_the_next_answer(
    server: LadderServer,
) -> None:
    server.spoilt["reset"] = TWICE
    state = GAME.start_on(open_line(server.address), 0, opening_plies=0)
    assert state.to_move() == 0
    assert server.both_came.wait(5)
    with pytest.raises(ServerFaultError, match="a message came that nobody had asked for"):
        play(state, *UP_BY_5).to_move()


def test_an_episode_that_is_over_before_its_first_step_is_the_fault_of_the_server(
    server: LadderServer,
) -> None:
    observation = {"height": 1, "mood": "low", "metadata": {"score": 0}}
    server.spoilt["reset"] = json.dumps(
        {"type": "observation", "data": {"observation": observation, "done": True}}
    )
    with pytest.raises(ServerFaultError, match="its reset: done is true before a first step"):
        GAME.start_on(open_line(server.address), 0, opening_plies=0).to_move()


def test_a_server_that_is_full_is_lost_and_no_fault() -> None:
    with LadderServer(capacity=1).running() as server:
        line = open_line(server.address)
        GAME.start_on(line, 0, opening_plies=0).to_move()
        with pytest.raises(ServerLostError, match="full: CAPACITY_REACHED"):
            GAME.start_on(line, 0, opening_plies=0).to_move()


def test_a_session_that_is_hung_up_is_lost_and_the_others_go_on(server: LadderServer) -> None:
    line = open_line(server.address)
    first, second = (GAME.start_on(line, 0, opening_plies=0) for _ in range(2))
    assert first.to_move() == second.to_move() == 0
    server.spoilt["step"] = HANG_UP
    play(first, *UP_BY_5)
    with pytest.raises(ServerLostError, match=r"stopping: ws://.* has closed the line"):
        first.to_move()
    server.spoilt.clear()
    assert play(second, *UP_BY_5 * 3).to_move() == OVER


def test_a_silent_server_is_at_fault_after_the_limit(server: LadderServer) -> None:
    line = open_line(server.address, answer_s="0.3")
    server.spoilt["reset"] = SILENCE
    state = GAME.start_on(line, 0, opening_plies=0)
    began = time.monotonic()
    with pytest.raises(ServerFaultError, match=r"has said nothing for 0\.3 s"):
        state.to_move()
    assert time.monotonic() - began < 5


def test_nobody_at_the_address_is_lost(server: LadderServer) -> None:
    line = open_line("ws://127.0.0.1:1/ws")
    with pytest.raises(ServerLostError, match=r"sim-1: ws://127\.0\.0\.1:1/ws does not answer"):
        GAME.start_on(line, 0, opening_plies=0).to_move()


def test_the_threads_of_sessions_have_small_stacks(server: LadderServer) -> None:
    sizes = list[int]()

    def connect(address: str) -> SocketTransport:
        sizes.append(threading.stack_size())
        return SocketTransport(address)

    before = threading.stack_size()
    transport = OpenEnvTransport(GAME, server.address, server="sim-1", connect=connect)
    transport.send(encode_frame([Start(1, 7, parameters={"start": 0})]))
    assert b'"legal":[0,1]' in transport.receive(5)
    transport.close()
    assert sizes == [STACK_BYTES]
    assert threading.stack_size() == before


def test_who_takes_no_more_loses_what_begins_and_plays_on_what_runs(server: LadderServer) -> None:
    refusals = cycle([False, True])

    def connect(address: str) -> SocketTransport:
        if next(refusals):
            raise LineClosedError("HTTP 503")
        return SocketTransport(address)

    transport = OpenEnvTransport(GAME, server.address, server="sim-1", connect=connect)
    line = GameLine(
        lambda: transport, GAME.spec, server="sim-1", answer_s=5, show_waiting=nullcontext,
        clock=time.monotonic,
    )  # fmt: skip
    first, second = (GAME.start_on(line, 0, opening_plies=0) for _ in range(2))
    with pytest.raises(ServerLostError, match="stopping: HTTP 503"):
        second.to_move()
    assert play(first, *UP_BY_5 * 3).to_move() == OVER


def test_a_machine_that_answers_no_ping_loses_all_of_its_episodes(
    server: LadderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def receive(self: SocketTransport, limit_s: float) -> str:
        raise LineClosedError("nor to a ping")

    line = open_line(server.address)
    first, second = (GAME.start_on(line, 0, opening_plies=0) for _ in range(2))
    first.to_move()
    monkeypatch.setattr(SocketTransport, "receive", receive)
    for state in (second, play(first, *UP_BY_5)):
        with pytest.raises(ServerLostError, match="sim-1: nor to a ping"):
            state.to_move()


def test_an_episode_that_is_given_up_frees_its_session() -> None:
    with LadderServer(capacity=1).running() as server:
        line = open_line(server.address)
        state = GAME.start_on(line, 0, opening_plies=0)
        state.to_move()
        state.leave()
        assert GAME.start_on(line, 0, opening_plies=0).to_move() == 0
        assert server.heard == ["reset", "close", "reset"]
        line.close()


def test_a_transport_that_was_asked_nothing_is_silent_and_announces_no_bytes() -> None:
    transport = OpenEnvTransport(GAME, "ws://127.0.0.1:1", server="sim-1")
    with pytest.raises(LineSilentError, match="was asked nothing"):
        transport.receive(0)
    with pytest.raises(FrameError, match="3 bytes were not announced"):
        transport.receive_bytes(3, 0)
    assert transport.is_open()


class ScriptedSocket(SocketTransport):
    """Says what it is told to; ends when it is hung up, and tells how long that took."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.waits = list(answers), list[float]()

    def send(self, text: bytes) -> None:
        del text

    def receive(self, limit_s: float) -> str:
        del limit_s
        return self.answers.pop(0)

    def hang_up(self, wait_s: float) -> None:
        self.waits.append(wait_s)


def test_sessions_that_stay_are_waited_for_together_and_not_one_after_the_other() -> None:
    now_s, sockets = 0.0, [ScriptedSocket() for _ in range(6)]

    def hang_up(wait_s: float) -> None:
        nonlocal now_s
        now_s += wait_s

    for socket in sockets:
        socket.hang_up = hang_up  # type: ignore[method-assign]
    left = iter(sockets)
    transport = OpenEnvTransport(
        GAME, "ws://127.0.0.1:1", server="sim-1", connect=lambda _: next(left), clock=lambda: now_s
    )
    starts = [Start(number, 7, parameters={"start": 0}) for number in range(6)]
    transport.send(encode_frame(starts[:5]))
    transport.send(encode_frame([End(number) for number in range(5)]))
    transport.send(encode_frame(starts[5:]))
    assert now_s == LEAVE_S


def test_however_deep_an_answer_is_nested_it_is_the_fault_of_the_server() -> None:
    for depth in range(sys.getrecursionlimit()):
        nested = '{"a":' * depth + "1" + "}" * depth
        observation = f'{{"height":{nested or 1},"mood":"low"}}'
        socket = ScriptedSocket(f'{{"type":"observation","data":{{"observation":{observation}}}}}')
        connect = Mock(return_value=socket)
        transport = OpenEnvTransport(GAME, "ws://127.0.0.1:1", server="sim-1", connect=connect)
        transport.send(encode_frame([Start(1, 7, parameters={"start": 0})]))
        assert (b'"reason":"fault"' in transport.receive(5)) == (depth > 0)


def test_the_state_is_asked_where_the_score_stands_in_it(server: LadderServer) -> None:
    line = open_line(server.address, game=STATE_GAME)
    state = STATE_GAME.start_on(line, 0, opening_plies=0)
    assert play(state, *UP_BY_5 * 3).to_move() == OVER
    assert state.returns() == [15.0]
    assert server.heard[:5] == ["reset", "step", "step", "step", "state"]


def test_an_error_in_the_place_of_the_state_is_a_fault(server: LadderServer) -> None:
    line = open_line(server.address, game=STATE_GAME)
    state = STATE_GAME.start_on(line, 0, opening_plies=0)
    server.spoilt["state"] = '{"type":"state","data":{}}'
    with pytest.raises(ServerFaultError, match=r"its score: state\.height is missing"):
        play(state, *UP_BY_5 * 3).to_move()
