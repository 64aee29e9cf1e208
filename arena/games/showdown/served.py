"""Battles on a server of Pokemon Showdown as games: what `./run showdown serve` plays."""

from collections.abc import Mapping
from typing import Final

from arena.errors import ParameterError
from arena.games.base import SERVER, GameSpec
from arena.games.served import ServedGame
from arena.games.showdown.game import MAX_STEPS, RULES_VERSION
from arena.games.showdown.layout import N_ACTIONS, PARTS, SIZE
from arena.parameters import Parameter

OPPONENTS: Final = ("heuristics", "max_power", "random")
"""Players that poke-env has: SimpleHeuristicsPlayer, MaxBasePowerPlayer, RandomPlayer."""
OPPONENT: Final = Parameter(
    "opponent", OPPONENTS[0], f"The player of poke-env: {', '.join(OPPONENTS)}."
)


class AgainstPokeEnv(ServedGame):
    """A game of one seat, in which the other account is played by poke-env."""

    def configured(self, parameters: Mapping[str, object]) -> "AgainstPokeEnv":
        """Return the same game against another player. Raises ParameterError."""
        opponent = parameters.get(OPPONENT.name, OPPONENT.default)
        if opponent not in OPPONENTS:
            rule = f"must be one of {', '.join(OPPONENTS)}, got {opponent!r:.60}"
            raise ParameterError(self.spec.id, OPPONENT.name, rule)
        other = AgainstPokeEnv(self.spec)
        other._parameters = dict(super().configured(parameters).parameters)
        return other


def make_server_game(id: str, title: str, *, n_seats: int) -> ServedGame:
    """Return the game of a server; one seat: against a player of poke-env, with a score."""
    is_against = n_seats == 1
    spec = GameSpec(
        id=id,
        title=title,
        n_seats=n_seats,
        n_actions=N_ACTIONS,
        observation_shape=(SIZE,),
        observation_dtype="float32",
        observation_parts=PARTS,
        has_chance=True,
        has_hidden_information=True,
        opening_plies=0,
        max_steps=MAX_STEPS,
        # What is seen and offered is worked out by the code of the game in process.
        rules_version=RULES_VERSION,
        parameters=(OPPONENT,) if is_against else (),
        is_zero_sum=not is_against,
        score_range=(0.0, 1.0) if is_against else None,
        is_replayable=False,
        served=SERVER,
    )
    return AgainstPokeEnv(spec) if is_against else ServedGame(spec)
