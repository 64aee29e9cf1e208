"""An episode of the SDK that is a battle on the server."""

import argparse
from collections.abc import Callable
from typing import Any, Final

from gameservers.showdown.battle import Battle
from gameservers.showdown.errors import BattleError
from gameservers.showdown.pairs import Pair, Pool
from gameservers.showdown.settings import AGAINST

N_ACTIONS: Final = 10
"""Four moves by slot, six switches by place in the team."""


class Episode:
    """A battle from the time that its accounts look for each other."""

    observation_dtype, n_actions = "float32", N_ACTIONS

    def __init__(self, options: argparse.Namespace, pool: Pool, size: int) -> None:
        self.game, self.rules_version = options.game, int(options.rules_version)
        self.n_seats = 1 if options.game == AGAINST else 2
        self.observation_shape = (size,)
        self._pool, self._pair, self._opponent = pool, None, ""

    _pair: Pair | None

    def reset(self, seed: int, opening_plies: int, parameters: dict[str, Any]) -> None:
        """Note the opponent; the server draws teams and dice, so the seed is of no use."""
        del seed
        if opening_plies:
            raise BattleError(f"opening_plies must be 0, is {opening_plies}")
        self._opponent = str(parameters.get("opponent", "")) if self.n_seats == 1 else ""

    async def ready(self) -> None:
        """Begin the battle, or send what was chosen; wait until a seat is asked."""
        if self._pair is None:
            self._pair = await self._pool.begin(self._opponent)
        await self._battle.ready()

    def seat(self) -> int:
        """Return the seat that decides."""
        return self._battle.seat

    def legal(self) -> list[int]:
        """Return what that seat may choose."""
        assert self._battle.look
        return self._battle.look.legal

    def names(self) -> list[str]:
        """Return what the actions are called."""
        assert self._battle.look
        return self._battle.look.names

    def observation(self) -> bytes:
        """Return what that seat sees."""
        assert self._battle.look
        return self._battle.look.observation

    def text(self) -> str:
        """Return which turn it is."""
        look = self._battle.look
        return f"Turn {look.turn}." if look else "The battle is over."

    def apply(self, action: int) -> None:
        """Choose for the seat that is asked; it is sent while `ready` waits."""
        self._battle.apply(action)

    def returns(self) -> list[float]:
        """Return 1, -1 or 0 for a tie; of one seat its score: 1, 0 or a half."""
        returns = self._battle.returns
        return returns if self.n_seats > 1 else [(value + 1) / 2 for value in returns]

    def close(self) -> None:
        """Give the accounts back."""
        if self._pair is not None:
            self._pool.take_back(self._opponent, self._pair)

    @property
    def _battle(self) -> Battle:
        assert self._pair
        assert self._pair.battle
        return self._pair.battle


def make_episodes(options: argparse.Namespace, pool: Pool, size: int) -> Callable[[], Episode]:
    """Return what makes an episode; size: the numbers of an observation."""
    return lambda: Episode(options, pool, size)
