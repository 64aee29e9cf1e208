"""Games that were really played, at random, so that their matches can be replayed."""

from random import Random
from typing import NamedTuple

from arena.games import registry as games
from arena.games.base import OVER


class Recorded(NamedTuple):
    """The seed and the moves of a game, as an outcome has them."""

    game_seed: int
    actions: str
    n_steps: int


def play(game: str, n_games: int, *, seed: int) -> list[Recorded]:
    """Return games between two who choose at random."""
    rng = Random(seed)
    return [_played(game, rng) for _ in range(n_games)]


def _played(game: str, rng: Random) -> Recorded:
    rules, game_seed = games.get(game), rng.getrandbits(32)
    state = rules.start(game_seed, opening_plies=rules.spec.opening_plies)
    while state.to_move() != OVER:
        state.apply(rng.choice(list(state.legal_actions())))
    actions = list(state.actions)
    return Recorded(game_seed, " ".join(map(str, actions)), len(actions))
