"""Positions to decide in, and matches to the end, for the tests of the policies."""

from collections.abc import Sequence
from random import Random

from arena.games import registry
from arena.games.base import OVER, Game
from arena.games.openspiel import OpenSpielGame
from arena.policies import registry as policies
from arena.policies.base import Policy, Row
from arena.policies.spec import parse_policy

DOTS = OpenSpielGame(
    "dots_and_boxes",
    title="Dots and boxes: who closes a box moves again",
    opening_plies=0,
    fixed={"num_rows": 1, "num_cols": 2},
)


def build(text: str, game: Game) -> Policy:
    kind, parameters = parse_policy(text)
    return policies.get(kind).build(game, parameters)


def row_after(game: Game, actions: Sequence[int], game_seed: int = 1) -> Row:
    state = game.start(game_seed, opening_plies=0)
    for action in actions:
        state.apply(action)
    return Row(state, state.to_move(), game_seed)


def random_row(game: Game, seed: int, n_steps: int) -> Row | None:
    """Return the decision after so many random steps, or None when the episode ends before."""
    state, rng = game.start(seed, opening_plies=0), Random(seed)
    for _ in range(n_steps):
        if state.to_move() != OVER:
            state.apply(rng.choice(state.legal_actions()))
    return Row(state, state.to_move(), seed) if state.to_move() != OVER else None


def score(name: str, one: str, other: str, *, n_blocks: int) -> float:
    """Return the mean score of one policy against another: each opening in both seat orders."""
    game = registry.get(name)
    pair = build(one, game), build(other, game)
    points = 0.0
    for seed in range(n_blocks):
        for place in range(2):
            seats = pair if place == 0 else pair[::-1]
            points += (match(game, seats, seed)[place] + 1) / 2
    return points / (2 * n_blocks)


def match(game: Game, seats: Sequence[Policy], game_seed: int) -> Sequence[float]:
    state = game.start(game_seed, opening_plies=game.spec.opening_plies)
    while (seat := state.to_move()) != OVER:
        (action,) = seats[seat].act([Row(state, seat, game_seed)])
        state.apply(action)
    return state.returns()
