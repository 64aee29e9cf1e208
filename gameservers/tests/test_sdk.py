import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arena.games.line_messages import ErrorMessage, RawBytes, ServerHello, StateMessage, read_frame
from arena.passes import PassError, check_pass, make_pass
from gameservers import sdk
from gameservers.tests.games import Nim, WordyNim

HELLO = {"kind": "hello", "protocol": 1, "game": "nim"}


def make_server(game: Any = Nim, **options: Any) -> Any:
    return sdk.Server(game, name="sim-1", **{"slots": 4, **options})


def greet(server: sdk.Server, **more: Any) -> Any:
    line = sdk.Line(server)
    ask(line, {**HELLO, **more})
    return line


def ask(line: sdk.Line, *messages: sdk.Message) -> Any:
    """Return all that is answered, as a player reads it."""
    frames = line.receive(json.dumps(messages))
    return [message for text, _ in frames for message in read_frame(text)]


def start(number: int, **more: Any) -> Any:
    return {"kind": "start", "episode": number, "seed": 7, **more}


def act(number: int, step: int, action: Any = 0) -> Any:
    return {"kind": "act", "episode": number, "step": step, "action": action}


def reasons(answers: list[Any]) -> Any:
    return [(one.episode, one.reason) for one in answers if isinstance(one, ErrorMessage)]


def test_a_hello_says_what_the_game_is() -> None:
    (hello,) = ask(sdk.Line(make_server()), HELLO)

    assert isinstance(hello, ServerHello)
    assert (hello.game, hello.n_seats, hello.slots, hello.rules_version) == ("nim", 2, 4, 1)
    assert (hello.observation_shape, hello.observation_dtype) == ([2], "float32")
    assert hello.load["playing"] == 0


def test_all_episodes_of_a_frame_are_answered_in_one_frame_with_their_bytes() -> None:
    line = greet(make_server())

    ((text, raw),) = line.receive(json.dumps([start(1), start(2, actions=[2, 1])]))

    first, second, count = read_frame(text)
    assert isinstance(first, StateMessage)
    assert isinstance(second, StateMessage)
    assert count == RawBytes(len(raw))
    assert (first.step, first.seat, second.step, second.seat) == (0, 0, 2, 0)
    observation = np.frombuffer(raw, "<f4", 2, second.at or 0)
    assert observation.tolist() == [15 - 5, 7]


def test_lists_and_words_go_as_json() -> None:
    line = greet(make_server(WordyNim))

    ((text, raw),) = line.receive(json.dumps([start(1)]))

    (state,) = read_frame(text)
    assert isinstance(state, StateMessage)
    assert (raw, state.at, state.observation) == (b"", None, [15, 7])
    assert (state.text, state.names) == ("15 left", ["take 1", "take 2", "take 3"])


def test_a_finished_episode_says_its_returns_and_frees_its_slot() -> None:
    server = make_server()
    line = greet(server)
    ask(line, start(1, parameters={"counters": 2}))

    (state,) = ask(line, act(1, 0, 1))

    assert (state.seat, state.returns, state.legal) == (-1, [1.0, -1.0], [])
    assert server.n_running == 0
    assert reasons(ask(line, act(1, 1))) == [(1, "bad_message")]


def test_slots_are_shared_by_lines_and_freed_by_the_end_of_one() -> None:
    server = make_server(slots=3)
    first, second = greet(server), greet(server)
    ask(first, start(1), start(2))

    assert reasons(ask(second, start(1), start(2))) == [(2, "full")]
    first.close()
    assert reasons(ask(second, start(2))) == []
    ask(second, {"kind": "end", "episode": 1}, {"kind": "end", "episode": 99})
    assert server.n_running == 1


def test_an_illegal_action_changes_nothing() -> None:
    line = greet(make_server())
    ask(line, start(1, parameters={"counters": 2}))

    assert reasons(ask(line, act(1, 0, 2), act(1, 0, True), act(1, 0, "0"))) == [(1, "illegal")] * 3
    assert ask(line, act(1, 0, 0))[0].step == 1


def test_a_start_whose_actions_are_illegal_leaves_no_episode() -> None:
    server = make_server()
    line = greet(server)

    assert reasons(ask(line, start(1, actions=[0, 3]))) == [(1, "illegal")]
    assert server.n_running == 0


def test_an_action_of_another_step_is_refused() -> None:
    line = greet(make_server())
    ask(line, start(1))

    assert reasons(ask(line, act(1, 1), act(2, 0), start(1), start(3, seed="x"))) == [
        (1, "bad_message"), (2, "bad_message"), (1, "bad_message"), (3, "bad_message")
    ]  # fmt: skip


class Raising(Nim):
    def apply(self, action: Any) -> None:
        raise ZeroDivisionError("no such counter")


class WrongType(Nim):
    def observation(self) -> Any:
        return np.zeros(2)


class TooShort(Nim):
    def observation(self) -> Any:
        return b"1234"


class NoReturns(Nim):
    def returns(self) -> Any:
        return [float("nan"), 1.0]


class OneReturn(Nim):
    def returns(self) -> Any:
        return [1.0]


class NoneReturned(Nim):
    def returns(self) -> Any:
        return None


class Infinite(Nim):
    def observation(self) -> Any:
        return [float("inf"), 0.0]


class FailsToClose(Nim):
    def close(self) -> None:
        raise OSError("held elsewhere")


@pytest.mark.parametrize(
    ("game", "detail"),
    [
        (Raising, "ZeroDivisionError: no such counter"),
        (WrongType, "observation() is float64 [2]: must be float32 [2], 8 bytes"),
        (TooShort, "observation() is 4 bytes: must be float32 [2], 8 bytes"),
        (Infinite, "the state is no JSON, which has finite numbers"),
        (NoReturns, "returns() is [nan, 1.0]: must be 2 finite numbers, one per seat"),
        (OneReturn, "returns() is [1.0]: must be 2 finite numbers, one per seat"),
        (NoneReturned, "returns() is None: must be 2 finite numbers, one per seat"),
    ],
)
def test_what_a_game_does_wrong_is_a_fault_that_ends_its_episode_alone(
    game: Any, detail: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server = make_server(game)
    line = greet(server)

    answers = ask(line, start(1, parameters={"counters": 1}), act(1, 0))

    fault = next(one for one in answers if isinstance(one, ErrorMessage))
    assert (fault.reason, server.n_running) == ("fault", 0)
    assert detail in fault.detail
    # Where it was raised is told of what the game raises; else the line says all.
    log = capsys.readouterr().err
    assert detail in log
    assert ("Traceback" in log) == (game is Raising)
    assert not line.is_over


def test_a_game_that_cannot_be_closed_still_frees_its_slot(
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = make_server(FailsToClose)
    greet_line = greet(server)
    ask(greet_line, start(1), {"kind": "end", "episode": 1})

    assert server.n_running == 0
    assert "held elsewhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({**HELLO, "protocol": 2}, "bad_message"),
        ({**HELLO, "game": "chess"}, "unknown_game"),
        (start(1), "bad_message"),
        ({**HELLO, "token": "sim-1.99.00"}, "refused"),
    ],
)
def test_a_line_that_begins_otherwise_is_ended(message: sdk.Message, reason: str) -> None:
    line = sdk.Line(make_server(key="secret"))
    token = make_pass("secret", "sim-1", until=2**40)

    assert reasons(ask(line, {"token": token, **message})) == [(None, reason)]
    assert line.is_over


def test_who_only_asks_who_a_server_is_needs_no_pass_and_begins_nothing() -> None:
    line = sdk.Line(make_server(key="secret"))

    assert isinstance(ask(line, {**HELLO, "game": ""})[0], ServerHello)
    assert reasons(ask(line, start(1))) == [(None, "bad_message")]


@pytest.mark.parametrize(
    "text", ["", "7", "[7]", "[" * 100_000, '{"kind"', b"\xff\xff", "[" + " " * sdk.MAX_FRAME + "]"]
)
def test_what_is_no_frame_ends_the_line(text: str | bytes) -> None:
    server = make_server()
    line = greet(server)
    ask(line, start(1))

    ((answer, _),) = line.receive(text)

    assert reasons(read_frame(answer)) == [(None, "bad_message")]
    assert (line.is_over, server.n_running) == (True, 0)


def test_a_server_that_stops_begins_nothing_and_lets_what_runs_end() -> None:
    server = make_server()
    line = greet(server)
    ask(line, start(1, parameters={"counters": 1}))
    server.is_stopping = True

    refused, over = ask(line, start(2), act(1, 0))

    assert (refused.reason, over.seat) == ("stopping", -1)


class Wide(Nim):
    observation_shape, observation_dtype = (1 << 20,), "uint8"

    def observation(self) -> Any:
        return bytes(1 << 20)


def test_answers_are_split_so_that_no_frame_is_too_large() -> None:
    line = greet(make_server(Wide, slots=9))

    frames = line.receive(json.dumps([start(number) for number in range(9)]))

    assert len(frames) == 3
    assert all(len(text) + len(raw) <= sdk.MAX_FRAME for text, raw in frames)
    states = [one for text, _ in frames for one in read_frame(text)]
    assert [one.episode for one in states if isinstance(one, StateMessage)] == list(range(9))
    assert [one.at for one in states if isinstance(one, StateMessage)] == [0, 1 << 20, 2 << 20] * 3


class TooWide(Nim):
    observation_shape, observation_dtype = (5 << 20,), "uint8"

    def observation(self) -> Any:
        return bytes(5 << 20)


def test_a_state_that_no_frame_holds_is_a_fault() -> None:
    assert reasons(ask(greet(make_server(TooWide)), start(1))) == [(1, "fault")]


class Nameless:
    pass


class OddType(Nim):
    observation_dtype = "complex64"


def declare(**attributes: Any) -> type:
    return type("Odd", (Nim,), attributes)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": "a b"}, "name is 'a b'"),
        ({"slots": "4"}, "slots is '4': must be 1 to 4096"),
        ({"make": declare(game="")}, "game is empty"),
        ({"make": declare(observation_shape=(4))}, "observation_shape is 4: must be a tuple"),
        ({"make": declare(observation_shape=(0,))}, "a number of observation_shape is 0"),
        ({"make": declare(n_seats=0)}, "n_seats is 0: must be a whole number of 1 or more"),
        ({"make": declare(n_actions=None)}, "n_actions is None"),
        ({"make": declare(n_actions=np.array([2, 2]))}, "n_actions is array"),
        ({"make": declare(n_actions=int)}, "n_actions is <class 'int'>"),
        ({"make": declare(rules_version="1.2")}, "rules_version is '1.2'"),
        ({"slots": 0}, "slots is 0: must be 1 to 4096"),
        ({"make": Nameless}, "no attribute 'game'"),
        ({"make": OddType}, "observation_dtype is 'complex64'"),
    ],
)
def test_a_server_says_what_is_wrong_before_it_starts(options: dict[str, Any], words: str) -> None:
    with pytest.raises(sdk.ServerError, match=words):
        sdk.Server(**{"make": Nim, "name": "sim-1", **options})


numbers = st.integers(0, 3)
messages = st.one_of(
    st.builds(start, numbers, actions=st.lists(st.integers(0, 3), max_size=3)),
    st.builds(act, numbers, st.integers(0, 4), st.integers(0, 3)),
    st.builds(lambda number: {"kind": "end", "episode": number}, numbers),
)


@given(st.lists(st.lists(messages, max_size=6), max_size=6))
def test_every_start_and_act_has_one_answer_and_slots_are_counted(
    script: list[list[sdk.Message]],
) -> None:
    server = make_server(slots=3)
    line = greet(server)
    for frame in script:
        answers = [one for one in ask(line, *frame) if not isinstance(one, RawBytes)]
        expected_episodes = [one["episode"] for one in frame if one["kind"] != "end"]

        assert [one.episode for one in answers] == expected_episodes
        assert server.n_running == len(line.episodes) <= 3
    line.close()
    assert server.n_running == 0


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["hello", "start", "act", "end"]) | json_values,
        **dict.fromkeys(
            ("episode", "seed", "opening_plies", "parameters", "actions", "step", "action", "game"),
            json_values | st.integers(0, 3),
        ),
    },
)


@example(frame=[{"kind": "start", "episode": -1}], is_greeted=True)
@example(frame=[{"kind": "act", "episode": 2**63}], is_greeted=True)
@given(frame=st.lists(fields, max_size=4), is_greeted=st.booleans())
def test_nothing_that_a_player_says_raises(frame: list[sdk.Message], is_greeted: bool) -> None:
    line = greet(make_server()) if is_greeted else sdk.Line(make_server(key="k"))
    ask(line, *frame)


subjects = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=9)
odd_passes = st.text(max_size=30) | st.builds(
    "{}.{}.{}".format,
    st.sampled_from(["sim-1", "x"]),
    st.sampled_from(["5", "05", "-5", "5 ", "5_0", "\uff19", str(2**63), ""]),
    st.sampled_from(["00", "", "ü"]),
)


@given(subjects, st.integers(0, 2**63 - 1), st.text(max_size=4), odd_passes, st.integers(0, 2**62))
def test_passes_are_made_and_checked_as_arena_does(
    subject: str, until: int, key: str, odd: str, now: int
) -> None:
    text = make_pass(key, subject, until=until)
    assert sdk.make_pass(key, subject, until) == text

    padded = text.replace(f".{until}.", f".0{until}.")
    for one in (text, padded, odd, text[:-1]):
        try:
            check_pass(key, one, subject, now=now)
        except PassError:
            assert sdk.refuse_pass(key, one, subject, now)
        else:
            assert sdk.refuse_pass(key, one, subject, now) == ""
