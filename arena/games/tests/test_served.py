"""A game that is played elsewhere declares who plays it, and shows what its server says."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import (
    IllegalActionError,
    MessageError,
    ParameterError,
    ServerFaultError,
    UnsupportedGameError,
)
from arena.games.base import CHILD, OVER, SERVER, Game, State
from arena.games.catalog import connect_four, dice_walk
from arena.games.line_messages import Act, PlayerHello, StateMessage, encode_frame, read_frame
from arena.games.served import (
    Position,
    ServedGame,
    can_replay,
    read_position,
    serve_rules,
)
from arena.parameters import Value

SPEC = replace(connect_four.GAME.spec, id="far_four", served=SERVER, engine="")
SEEN = np.zeros(SPEC.observation_shape, np.float32)
FIRST = Position(0, [0, 3], SEEN, ())
END = Position(OVER, [], None, [1.0, -1.0])


class Script:
    """A line that says the positions of a script, one after the other."""

    def __init__(self, *positions: Position) -> None:
        self.positions = list(positions)
        self.calls: list[object] = []

    def start(
        self,
        game_seed: int,
        *,
        opening_plies: int,
        parameters: Mapping[str, Value],
        actions: Sequence[int],
    ) -> int:
        self.calls.append(("start", game_seed, opening_plies, dict(parameters), list(actions)))
        return 7

    def act(self, episode: int, step: int, action: int) -> None:
        self.calls.append(("act", episode, step, action))

    def wait(self, episode: int, step: int) -> Position:
        self.calls.append(("wait", episode, step))
        return self.positions.pop(0)

    def end(self, episode: int) -> None:
        self.calls.append(("end", episode))

    def flush(self) -> None:
        self.calls.append("flush")


def test_an_action_is_sent_without_waiting_and_the_next_look_waits_once() -> None:
    line = Script(FIRST, END)
    state = ServedGame(SPEC).start_on(line, 5, opening_plies=4)
    assert state.to_move() == 0
    assert list(state.legal_actions()) == [0, 3]
    assert np.flatnonzero(state.legal_mask()).tolist() == [0, 3]
    assert list(state.returns()) == [0.0, 0.0]
    state.apply(3)
    assert line.calls == [("start", 5, 4, {}, []), ("wait", 7, 0), ("act", 7, 0, 3)]
    assert state.to_move() == OVER
    assert list(state.returns()) == [1.0, -1.0]
    assert line.calls[3:] == [("wait", 7, 1)]
    state.leave()
    assert line.calls[4:] == []


def test_an_illegal_action_is_refused_and_changes_nothing() -> None:
    line = Script(FIRST)
    state = ServedGame(SPEC).start_on(line, 5, opening_plies=4)
    for action in (1, True, "3"):
        with pytest.raises(IllegalActionError, match=r"is not in \[0, 3\]"):
            state.apply(action)  # type: ignore[arg-type]
    assert state.actions == []
    state.leave()
    assert line.calls[-1] == ("end", 7)


def test_an_observation_is_new_each_time_and_of_the_seat_to_move_alone() -> None:
    state = ServedGame(SPEC).start_on(Script(FIRST), 5, opening_plies=4)
    state.observation(0).fill(9)
    assert not state.observation(0).any()
    with pytest.raises(UnsupportedGameError, match="not seat 1"):
        state.observation(1)


def test_it_is_told_in_the_words_of_its_server_where_it_has_some() -> None:
    plain, with_text = FIRST, FIRST._replace(text="Nobody has moved.", names=["left", "middle"])
    states = [ServedGame(SPEC).start_on(Script(p), 5, opening_plies=4) for p in (plain, with_text)]
    assert [state.describe() for state in states] == [
        "Connect Four after 0 moves.",
        "Nobody has moved.",
    ]
    assert [state.action_name(3) for state in states] == ["action 3", "middle"]
    assert states[1].action_name(1) == "action 1"


@pytest.mark.parametrize(
    ("served", "command"), [("", ()), ("cloud", ()), (SERVER, ("x",)), (CHILD, ())]
)
def test_who_plays_it_must_be_said(served: str, command: tuple[str, ...]) -> None:
    with pytest.raises(UnsupportedGameError, match="far_four: served must be"):
        ServedGame(replace(SPEC, served=served), command=command)


def test_a_game_without_rules_here_starts_only_at_its_server() -> None:
    game = ServedGame(SPEC)
    assert not can_replay(game)
    with pytest.raises(UnsupportedGameError, match="far_four is played elsewhere"):
        game.start(1, opening_plies=4)


def test_rules_that_are_here_show_what_was_played() -> None:
    game = serve_rules(connect_four.GAME, id="far_four", title="Far", capability="cpu")
    assert can_replay(game)
    assert game.spec.served == SERVER
    assert game.picture == connect_four.GAME.picture
    ours, theirs = (g.start(3, opening_plies=4) for g in (game, connect_four.GAME))
    assert list(ours.opening) == list(theirs.opening)


def test_parameters_go_to_the_server_and_to_the_rules() -> None:
    game: Game = serve_rules(dice_walk.GAME, id="far_walk", title="Far")
    name = dice_walk.GAME.spec.parameters[0].name
    lower = type(dice_walk.GAME.spec.parameters[0].default)(dice_walk.GAME.parameters[name])
    other = game.configured({name: lower})
    assert other.parameters == game.parameters
    line = Script(FIRST)
    assert isinstance(other, ServedGame)
    other.start_on(line, 5, opening_plies=0)
    assert line.calls == [("start", 5, 0, dict(game.parameters), [])]
    with pytest.raises(ParameterError):
        game.configured({"nonsense": 1})
    with pytest.raises(ParameterError):
        ServedGame(SPEC).configured({"nonsense": 1})
    assert ServedGame(SPEC).configured({}).rules is None


def message(**changed: Any) -> StateMessage:
    plain = {"episode": 1, "step": 0, "seat": 0, "legal": [0], "observation": SEEN.tolist()}
    return StateMessage(**(plain | changed))


def test_observations_come_as_lists_or_as_raw_bytes() -> None:
    observation = np.arange(SEEN.size, dtype=np.float32).reshape(SEEN.shape)
    listed = read_position(message(observation=observation.tolist()), b"", SPEC, step=0)
    flat = read_position(message(observation=observation.ravel().tolist()), b"", SPEC, step=0)
    raw = b"\0\0\0\0" + observation.astype("<f4").tobytes()
    packed = read_position(message(observation=None, at=4), raw, SPEC, step=0)
    for position in (listed, flat, packed):
        assert position.observation is not None
        np.testing.assert_array_equal(position.observation, observation)
        assert position.observation.dtype == np.float32


def test_an_end_has_its_returns() -> None:
    end = read_position(message(seat=OVER, returns=[1.0, -1.0], text="won"), b"", SPEC, step=0)
    assert end == END._replace(legal=(), text="won")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"step": 3}, "after 3 actions, 0 were played"),
        ({"seat": 2}, "seat 2 is to move"),
        ({"legal": []}, "legal actions must be"),
        ({"legal": [7]}, "in 0..6"),
        ({"legal": [1, 0]}, "ascending"),
        ({"names": ["a", "b"]}, "2 names for 1 legal"),
        ({"observation": [1.0]}, "no observation"),
        ({"observation": {}}, "no observation"),
        ({"observation": [float("nan")] * SEEN.size}, "finite"),
        ({"at": 1}, "no observation"),
        ({"seat": OVER}, "returns must be 2"),
        ({"seat": OVER, "returns": [float("nan"), 0.0]}, "returns must be 2"),
    ],
)
def test_what_is_no_state_of_the_game_is_named(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(ServerFaultError, match=says):
        read_position(message(**changed), b"", SPEC, step=0)


def test_who_decides_cannot_change_what_is_legal() -> None:
    legal = read_position(message(), b"", SPEC, step=0).legal
    assert isinstance(legal, tuple)
    assert legal


@pytest.mark.parametrize(
    ("dtype", "said", "says"),
    [
        ("int8", [1.7], "1.7"),
        ("uint8", [300], "300"),
        ("bool", [5], "5"),
        ("float32", ["7"], "'7'"),
    ],
)
def test_a_number_that_the_dtype_cannot_hold_is_not_converted(
    dtype: str, said: list[object], says: str
) -> None:
    spec = replace(SPEC, observation_dtype=dtype, observation_shape=(1,), observation_parts=())
    with pytest.raises(
        ServerFaultError, match=rf"no observation of {dtype} .*{says}.* (not|out) of"
    ):
        read_position(message(observation=said), b"", spec, step=0)


@pytest.mark.parametrize(
    ("dtype", "said"), [("uint64", [2**64 - 1, 1]), ("int64", [2**53 + 1, 1.0]), ("bool", [0, 1])]
)
def test_a_number_that_the_dtype_can_hold_is_kept_as_it_is(dtype: str, said: list[float]) -> None:
    spec = replace(SPEC, observation_dtype=dtype, observation_shape=(2,), observation_parts=())
    observation = read_position(message(observation=said), b"", spec, step=0).observation
    assert observation is not None
    assert observation.tolist() == said


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_bytes_of_any_kind_are_a_frame_or_refused(text: bytes | str) -> None:
    with suppress(MessageError):
        assert isinstance(read_frame(text), list)


def test_deep_brackets_are_refused() -> None:
    with pytest.raises(MessageError):
        read_frame(
            b'[{"kind":"state","episode":1,"step":0,"seat":0,"observation":' + b"[" * 100_000
        )


def test_what_has_its_default_is_not_sent() -> None:
    frame = encode_frame([PlayerHello(1, "far_four"), Act(1, 0, 3)])
    assert frame == (
        b'[{"kind":"hello","protocol":1,"game":"far_four"},'
        b'{"kind":"act","episode":1,"step":0,"action":3}]'
    )


def say_of(twin: State, **changed: Any) -> Position:
    """Return the truth about a state, or something else."""
    return Position(twin.to_move(), list(twin.legal_actions()), SEEN, ())._replace(**changed)


def test_an_episode_that_is_checked_goes_on_as_long_as_our_rules_say_the_same() -> None:
    served = serve_rules(connect_four.GAME, id="far_four", title="Connect Four elsewhere")
    twin = connect_four.GAME.start(5, opening_plies=0)
    line = Script(say_of(twin))
    state = served.start_on(line, 5, opening_plies=0, is_checked=True)
    assert state.to_move() == 0
    for action in (3, 3, 3, 3, 3, 3):
        state.apply(action)
        twin.apply(action)
        line.positions.append(say_of(twin))
        assert list(state.legal_actions()) == list(twin.legal_actions())


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"seat": 1}, "it says that seat 1 is to move, by our rules 0"),
        ({"seat": OVER, "legal": [], "returns": (1.0, -1.0)}, "seat -1 is to move, by our rules 0"),
        ({"legal": [0, 1, 2]}, r"\[0, 1, 2\] are legal, by our rules \[0, 1, 2, 3, 4, 5, 6\]"),
    ],
)
def test_a_server_that_hides_moves_is_found_in_an_episode_that_is_checked(
    changed: dict[str, Any], says: str
) -> None:
    served = serve_rules(connect_four.GAME, id="far_four", title="Connect Four elsewhere")
    lie = say_of(connect_four.GAME.start(5, opening_plies=0), **changed)
    state = served.start_on(Script(lie), 5, opening_plies=0, is_checked=True)
    with pytest.raises(ServerFaultError, match=says):
        state.to_move()
    unseen = served.start_on(Script(lie), 5, opening_plies=0)
    assert unseen.to_move() == lie.seat


def test_what_goes_on_or_has_no_rules_here_is_not_checked() -> None:
    served = serve_rules(connect_four.GAME, id="far_four", title="Connect Four elsewhere")
    lie = say_of(connect_four.GAME.start(5, opening_plies=0), seat=1)
    assert served.start_on(Script(lie), 5, opening_plies=0, actions=[3], is_checked=True).to_move()
    assert ServedGame(SPEC).start_on(Script(lie), 5, opening_plies=0, is_checked=True).to_move()


def test_the_end_of_an_episode_that_is_checked_is_compared_too() -> None:
    served = serve_rules(connect_four.GAME, id="far_four", title="Connect Four elsewhere")
    twin = connect_four.GAME.start(5, opening_plies=0)
    line = Script(say_of(twin))
    state = served.start_on(line, 5, opening_plies=0, is_checked=True)
    for action in (0, 1, 0, 1, 0, 1, 0):
        state.apply(action)
        twin.apply(action)
        line.positions.append(say_of(twin))
    assert state.to_move() == OVER
