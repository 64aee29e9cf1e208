"""Policies that read what a player of Pokemon Showdown sees: on made-up sights, and in battles."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from arena.errors import UnsupportedGameError
from arena.games import registry as games
from arena.games.base import State
from arena.games.catalog import showdown_gen1random
from arena.games.showdown.layout import BLOCKS, N_ACTIONS, SIZE, columns, names_of, start_of
from arena.local_play import play
from arena.policies import registry
from arena.policies.base import Row
from tests.catalogs import needs_simulator

GAME = showdown_gen1random.GAME


def see(**features: list[float]) -> Any:
    """Return an observation by `block__name`; what is not said is 0."""
    numbers = np.zeros(SIZE, np.float32)
    for name, values in features.items():
        block, _, number = name.partition("__")
        numbers[columns(block, number)] = np.resize(values + [0.0] * 6, BLOCKS[block])
    return numbers


# Both are out, whole and in the first place; nobody threatens anybody.
CALM = {
    "own_pokemon__is_active": [1.0],
    "own_pokemon__hp": [1.0, 1.0, 1.0],
    "their_pokemon__is_active": [1.0],
    "their_pokemon__hp": [1.0],
    "own_move__accuracy": [1.0, 1.0, 1.0, 1.0],
    "own_move__effectiveness": [0.25, 0.25, 0.25, 0.25],
}


def decide(policy: str, legal: list[int], **features: list[float]) -> int:
    observation = see(**(CALM | features))
    state = SimpleNamespace(
        legal_actions=lambda: legal, observation=lambda seat: observation, actions=[]
    )
    row = Row(cast(State, state), 0, 5)
    return registry.get(policy).build(GAME, {}).act([row])[0]


def test_the_layout_fills_an_observation() -> None:
    *_, last = BLOCKS
    assert start_of(last) + BLOCKS[last] * len(names_of(last)) == SIZE == 618
    assert N_ACTIONS == 10


@pytest.mark.parametrize("policy", ["max_damage", "showdown_heuristics"])
def test_other_games_are_refused(policy: str) -> None:
    with pytest.raises(UnsupportedGameError, match="battles of Pokemon Showdown"):
        registry.get(policy).build(games.get("connect_four"), {})


def test_most_damage_is_taken_among_what_is_legal() -> None:
    damage = [0.1, 0.9, 0.3, 0.2]
    assert decide("max_damage", [0, 1, 2, 3, 5], own_move__damage=damage) == 1
    assert decide("max_damage", [0, 2, 3, 5], own_move__damage=damage) == 2
    assert decide("max_damage", [5, 6], own_move__damage=damage) in (5, 6)


@pytest.mark.parametrize(
    ("expected", "features"),
    [
        # A blow that is likely to be the last comes before one that is only strong.
        (1, {"own_move__damage": [0.3, 0.6], "their_pokemon__hp": [0.5]}),
        (2, {"own_move__damage": [0.3, 0.3], "own_move__sleeps": [0.0, 0.0, 1.0]}),
        (
            1,
            {
                "own_move__damage": [0.3, 0.4],
                "own_move__sleeps": [0.0, 0.0, 1.0],
                "their_pokemon__par": [1.0],
            },
        ),
        (
            1,
            {
                "own_move__damage": [0.1, 0.2],
                "own_move__sleeps": [0.0, 0.0, 1.0],
                "own_move__effectiveness": [0.25, 0.25, 0.0],
            },
        ),
        (
            0,
            {
                "own_move__damage": [0.2],
                "own_move__confuses": [0.0, 1.0],
                "their_side__confusion": [1.0],
            },
        ),
        (
            0,
            {
                "own_move__damage": [0.2],
                "own_move__paralyses": [0.0, 1.0],
                "their_side__substitute": [1.0],
            },
        ),
        # Healing where it is needed, preparing where there is time.
        (
            3,
            {
                "own_move__damage": [0.3],
                "own_move__heals": [0.0, 0.0, 0.0, 1.0],
                "own_move__is_status": [0.0, 0.0, 0.0, 1.0],
                "own_pokemon__hp": [0.2, 1.0],
            },
        ),
        (1, {"own_move__damage": [0.3], "own_move__raises_own": [0.0, 1.0]}),
        (
            0,
            {
                "own_move__damage": [0.3],
                "own_move__raises_own": [0.0, 1.0],
                "own_pokemon__worst_damage": [0.5, 0.5, 0.5],
            },
        ),
        # Nobody explodes who is whole; who is nearly gone does.
        (0, {"own_move__damage": [0.4, 0.9], "own_move__faints_user": [0.0, 1.0]}),
        (
            1,
            {
                "own_move__damage": [0.4, 0.9],
                "own_move__faints_user": [0.0, 1.0],
                "own_pokemon__hp": [0.1],
            },
        ),
        # Who stands much better comes in; a little better is not worth the turn.
        (5, {"own_move__damage": [0.1], "own_pokemon__best_damage": [0.1, 1.2]}),
        (0, {"own_move__damage": [0.1], "own_pokemon__best_damage": [0.1, 0.3]}),
    ],
)
def test_rules_of_thumb(expected: int, features: dict[str, list[float]]) -> None:
    assert decide("showdown_heuristics", [0, 1, 2, 3, 5], **features) == expected


def test_who_must_be_replaced_is_followed_by_who_stands_best() -> None:
    best = {"own_pokemon__best_damage": [0.0, 0.4, 0.9], "field__must_switch": [1.0]}
    assert decide("showdown_heuristics", [5, 6], **best) == 6


@needs_simulator
@pytest.mark.parametrize(
    ("weaker", "stronger"), [("random", "max_damage"), ("max_damage", "showdown_heuristics")]
)
def test_each_beats_the_one_before(weaker: str, stronger: str) -> None:
    matches = play(GAME, [weaker, stronger], 24, seed=7)
    assert all(match.guilty_seat is None for match in matches)
    n_won = sum(match.lineup[match.ranks.index(0)] == stronger for match in matches)
    assert n_won >= 16
