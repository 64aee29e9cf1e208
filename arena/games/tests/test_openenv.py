"""What a catalog file says of an environment of OpenEnv, and what becomes of its answers."""

from collections.abc import Iterator
from math import log1p
from typing import Any

import pytest

from arena.errors import (
    IllegalActionError,
    MessageError,
    ParameterError,
    ServerFaultError,
    UnsupportedGameError,
)
from arena.games.base import OVER
from arena.games.openenv.episode import Episode
from arena.games.openenv.game import OpenEnvGame
from arena.games.openenv.messages import (
    ErrorAnswer,
    Observation,
    ObservationAnswer,
    read_answer,
    write_message,
)
from arena.games.openenv.numbers import Log, Number, Numbers, OneOf, make_reader


def make_game(**changed: Any) -> OpenEnvGame:
    fields: dict[str, Any] = {
        "title": "Some environment",
        "action": {"move": ("left", "right", "stay"), "force": (1, 2)},
        "observation": {"at": 10, "load.queue": Log(2), "mood": ("low", "high")},
        "max_steps": 5,
    }
    return OpenEnvGame("some", **{**fields, **changed})


def make_observation(
    *, done: bool = False, reward: float | None = None, **more: Any
) -> Observation:
    fields = {"at": 5, "load": {"queue": 3.0}, "mood": "high", **more}
    return Observation(fields, reward, done)


def begin(**changed: Any) -> Episode:
    episode = Episode(make_game(**changed).layout)
    episode.see(make_observation())
    return episode


@pytest.mark.parametrize(
    ("form", "value", "numbers"),
    [
        (2, 3, [1.5]),
        (1, True, [1.0]),
        (Log(2), 3, [log1p(3) / 2]),
        (Log(), -3.0, [-log1p(3)]),
        (("a", 1, None), 1, [0.0, 1.0, 0.0]),
        (["a", 1, True], True, [0.0, 0.0, 1.0]),
        (Numbers(3, 2), [[1, 2], 3], [0.5, 1.0, 1.5]),
        (Numbers(1), 4, [4.0]),
        (Number(4), 1, [0.25]),
        (OneOf(("a",)), "a", [1.0]),
    ],
)
def test_a_field_becomes_numbers(form: object, value: object, numbers: list[float]) -> None:
    reader = make_reader(form)
    assert reader.read(value) == numbers
    assert reader.size == len(numbers)


@pytest.mark.parametrize(
    ("form", "value", "why"),
    [
        (1, None, "must be a finite number, is None"),
        (1, "7", "must be a finite number, is '7'"),
        (1, 10**400, "must be a finite number, is 1"),
        (1, 1e39, "must be a finite number, is 1e"),
        (1, float("nan"), "must be a finite number, is nan"),
        (Numbers(3), [1, 2], "must hold 3 numbers, holds 2"),
        (Numbers(3), "abc", "must be a finite number, is 'abc'"),
        (("a", 1), True, r"must be one of \['a', 1\], is True"),
    ],
)
def test_what_does_not_fit_its_field_is_refused(form: object, value: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        make_reader(form).read(value)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"action": {}}, "some: action must name fields with a value or more each, has none"),
        ({"action": {"a": (), "b": (1,)}}, r"each, \['a'\] have none"),
        ({"observation": {}}, "observation must name a field or more, has none"),
        ({"observation": {"at": 0}}, "at has the scale 0: must be above 0"),
        ({"observation": {"at": float("inf")}}, "at has the scale inf"),
        ({"observation": {"at": ()}}, "at is of no number: must be of 1 or more"),
        ({"observation": {"at": True}}, "at is True: write 1 for a bool or a number"),
        ({"observation": {"at": "log"}}, "at is 'log': must be a number to divide by, a tuple"),
        ({"seed_bits": 64}, r"seed_bits must be 1\.\.63, is 64"),
        ({"reset": {"seed": 1}}, "reset has 'seed', which is that of the match"),
    ],
)
def test_a_file_that_cannot_be_used_names_what_is_wrong(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(UnsupportedGameError, match=why):
        make_game(**changed)


def test_what_reset_is_given_are_the_seed_and_the_parameters() -> None:
    game = make_game(reset={"task": "easy"}, seed_bits=8)
    assert game.make_reset(0x1FF, game.parameters) == {"task": "easy", "seed": 0xFF}
    hard = game.configured({"task": "hard"})
    assert (hard.parameters, game.parameters) == ({"task": "hard"}, {"task": "easy"})
    assert hard.layout is game.layout
    with pytest.raises(ParameterError, match="tusk"):
        game.configured({"tusk": "hard"})


def test_lists_may_be_nested_as_deep_as_json_is() -> None:
    deep: list[Any] = [1, [2]]
    for _ in range(5_000):
        deep = [deep]
    assert Numbers(2).read(deep) == [1.0, 2.0]


def test_of_lists_that_hold_too_much_no_more_is_read_than_is_due() -> None:
    read = list[int]()

    class Long(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            for number in range(100):
                read.append(number)
                yield number

    with pytest.raises(ValueError, match="must hold 3 numbers, holds more"):
        Numbers(3).read(Long())
    assert read == [0, 1, 2, 3]


def test_a_step_is_a_decision_for_each_field() -> None:
    game = make_game()
    assert (game.spec.n_actions, game.spec.max_steps, game.spec.n_seats) == (3, 10, 1)
    assert game.spec.observation_shape == (8,)
    episode = begin()
    features = [0.5, log1p(3) / 2, 0.0, 1.0]
    assert episode.observation() == [*features, 0.0, 0.0, 1.0, 0.0]
    assert episode.names() == ["move left", "move right", "move stay"]
    assert episode.choose(1) is None
    assert episode.observation() == [*features, 0.5, 0.0, 0.0, 1.0]
    assert episode.legal() == [0, 1]
    assert episode.choose(0) == {"move": "right", "force": 1}
    assert episode.actions == [1, 0]


def test_of_one_field_nothing_is_chosen_before() -> None:
    episode = begin(action={"move": ("left",)})
    assert episode.observation() == [0.5, log1p(3) / 2, 0.0, 1.0]
    assert [part.holds for part in make_game(action={"m": (1,)}).spec.observation_parts] == [
        "at", "load.queue", "mood"
    ]  # fmt: skip
    assert episode.choose(0) == {"move": "left"}


@pytest.mark.parametrize("action", [3, -1, True, "1"])
def test_a_choice_that_is_none_is_illegal_and_changes_nothing(action: Any) -> None:
    episode = begin()
    with pytest.raises(IllegalActionError, match=r"some: .* is not in 0\.\.2"):
        episode.choose(action)
    assert episode.actions == []


def test_the_return_is_the_sum_of_the_rewards_of_steps() -> None:
    episode = Episode(make_game().layout)
    episode.see(make_observation(reward=100.0))
    assert episode.text() == "0 steps taken."
    for reward, is_last in ((0.5, False), (None, False), (True, True)):
        episode.choose(0)
        episode.choose(0)
        episode.see(make_observation(reward=reward, done=is_last))
        assert episode.seat() == (OVER if is_last else 0)
    assert episode.score == 1.5
    assert episode.text() == "The episode is over after 3 steps: the score is 1.5."
    assert episode.legal() == []
    with pytest.raises(IllegalActionError, match="is not in nothing"):
        episode.choose(0)


@pytest.mark.parametrize("reward", [1.7e38, -1.7e38, 1e308])
def test_rewards_whose_sum_has_no_place_are_the_fault_of_the_server(reward: float) -> None:
    episode = begin(action={"move": ("left",)})
    with pytest.raises(ServerFaultError, match=r"its reward: .* makes .* of all"):
        see_thrice(episode, reward)


def see_thrice(episode: Episode, reward: float) -> None:
    for _ in range(3):
        episode.choose(0)
        episode.see(make_observation(reward=reward))


def test_how_far_it_is_stands_in_its_text() -> None:
    episode = begin()
    episode.choose(0)
    episode.choose(0)
    episode.see(make_observation(reward=0.25))
    assert episode.text() == "1 step taken. The last one earned 0.25, all 0.25."


@pytest.mark.parametrize(
    "observation",
    [
        Observation({"metadata": {"score": 0.75}}, done=True),
        Observation({"metadata": {}}, done=True, metadata={"score": 0.75}),
    ],
)
def test_the_return_may_be_a_field_of_the_last_observation(observation: Observation) -> None:
    episode = begin(score="metadata.score", action={"move": ("left",)})
    episode.choose(0)
    episode.see(observation)
    assert episode.score == 0.75
    assert not episode.asks_state


def test_the_return_may_stand_in_the_state() -> None:
    episode = begin(score="state.score", action={"move": ("left",)})
    assert not episode.asks_state
    episode.choose(0)
    episode.see(make_observation(done=True))
    assert episode.asks_state
    episode.see_state({"score": 3})
    assert episode.score == 3.0


@pytest.mark.parametrize(
    ("score", "why"),
    [
        ("metadata.score", r"metadata\.score is missing; there is \['at', 'done', 'huge', 'load'"),
        ("at.score", r"at\.score is missing; there is 5"),
        ("mood", "mood must be a finite number, is 'high'"),
        ("done", "done must be a finite number, is True"),
        ("huge", "huge must be a finite number, is 1000"),
    ],
)
def test_a_score_that_is_none_is_the_fault_of_the_server(score: str, why: str) -> None:
    episode = begin(score=score, action={"move": ("left",)})
    episode.choose(0)
    with pytest.raises(ServerFaultError, match=f"its score: {why}"):
        episode.see(make_observation(done=True, huge=10**400))


def test_a_field_that_is_missing_is_the_fault_of_the_server() -> None:
    episode = Episode(make_game().layout)
    with pytest.raises(ServerFaultError, match=r"its observation: load\.queue is missing; there"):
        episode.see(make_observation(load={}))


def test_messages_are_written_and_read() -> None:
    assert write_message("state") == b'{"type":"state"}'
    assert write_message("reset", {"seed": 1}) == b'{"type":"reset","data":{"seed":1}}'
    message = '{"type":"observation","data":{"observation":{"a":1},"reward":1,"done":true}}'
    assert read_answer(message) == ObservationAnswer(Observation({"a": 1}, 1.0, True))
    refused = read_answer('{"type":"error","data":{"code":"X","message":"m","more":1}}')
    assert isinstance(refused, ErrorAnswer)
    assert str(refused.data) == "X: m"
    for nonsense in ("[", "{}", '{"type":"observation","data":{"observation":{"a":NaN}}}'):
        with pytest.raises(MessageError, match="no answer of OpenEnv"):
            read_answer(nonsense)
