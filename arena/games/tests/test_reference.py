"""What who trains for a game must know: parts of observations, names of actions, facts."""

from dataclasses import replace

import numpy as np
import pytest

from arena.errors import UnsupportedGameError
from arena.games import registry
from arena.games.observations import parts
from arena.games.openspiel import OpenSpielGame
from arena.games.reference import describe_game
from tests.catalogs import each_game


def read_facts(name: str) -> dict[str, str]:
    return dict(describe_game(registry.get(name)).facts)


@each_game(registry.names())
def test_every_shipped_game_says_what_is_observed(name: str) -> None:
    reference = describe_game(registry.get(name), "v")
    spec = registry.get(name).spec
    assert reference.observation[0].first == 0
    assert reference.observation[-1].last == spec.observation_shape[0] - 1
    assert len(reference.actions) + reference.n_left_out == spec.n_actions
    assert dict(reference.facts)["version of the rules"] == "v"


def test_parts_must_fill_the_first_axis() -> None:
    spec = registry.get("connect_four").spec
    with pytest.raises(UnsupportedGameError, match="of 2 in all, observation_shape begins with 3"):
        replace(spec, observation_parts=parts("mine", "yours"))


def test_what_the_planes_are_said_to_be_is_what_they_are() -> None:
    state = registry.get("othello").start(1, opening_plies=0)
    own, other = ((state.observation(seat)[1], state.observation(seat)[2]) for seat in (0, 1))
    assert np.array_equal(own[0], other[1]), "as the seat sees it"
    state = registry.get("backgammon").start(1, opening_plies=0)
    flags = [state.observation(seat)[[194, 197]].tolist() for seat in (0, 1)]
    assert flags[state.to_move()] == [1.0, 0.0]
    assert flags[1 - state.to_move()] == [0.0, 1.0]
    assert sum(state.observation(0)[198:]) in range(2, 13), "the dice"


def test_names_that_mean_several_things_stand_side_by_side() -> None:
    named = {one.action: one.names for one in describe_game(registry.get("kuhn_poker")).actions}
    assert {name for names in named.values() for name in names} == {"check", "fold", "bet", "call"}


def test_facts_tell_teams_scores_parameters_and_what_cannot_be_replayed() -> None:
    assert read_facts("skill_teams")["seats"] == ("4, in teams (team 0: 0 and 2; team 1: 1 and 3)")
    assert read_facts("cart_pole")["result"] == (
        "a score from 0 to 500, compared on equal game seeds"
    )
    assert "by default" in read_facts("skill_game")["parameter duration_s"]
    assert "none" in read_facts("kuhn_poker")["openings"]
    assert read_facts("llmserve_static_workload")["task of"] == "LLMServe"
    assert "task of" not in read_facts("cart_pole")
    spec = registry.get("skill_game").spec
    unsure = OpenSpielGame("goofspiel")
    unsure._spec = replace(
        unsure.spec, is_replayable=False, is_zero_sum=False, observation_parts=()
    )
    reference = describe_game(unsure)
    assert dict(reference.facts)["replayed"] == "cannot be"
    assert "of their own" in dict(reference.facts)["result"]
    assert reference.observation == ()
    assert spec.observation_parts
