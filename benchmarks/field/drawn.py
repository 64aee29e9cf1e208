"""Who played whom and how it ended, drawn from a seed: arrays of a few bytes a match."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FIRST_WINS, DRAW, SECOND_WINS = 0, 1, 2
# So many of all matches are the first agent's.
BUSY_SHARE = 0.1
FORFEITS, VOIDS, CANCELLED, RETRIED, DRAWS = 0.01, 0.0005, 0.0005, 0.005, 0.06
SPREAD = 4.0


@dataclass(frozen=True)
class Drawn:
    """Places of the agents at either seat and how it ended, one element per match."""

    skills: Floats
    first: Ints
    second: Ints
    result: Ints
    is_forfeit: Bools
    is_void: Bools
    is_cancelled: Bools
    is_retried: Bools

    @property
    def is_counted(self) -> Bools:
        return ~(self.is_void | self.is_cancelled)

    @property
    def losing_seat(self) -> Ints:
        return np.where(self.result == FIRST_WINS, 1, 0)


def draw_matches(n_agents: int, n_matches: int, *, seed: int) -> Drawn:
    """Return matches in blocks of two, the seats changed; place 0 is in a tenth of them."""
    rng = np.random.default_rng(seed)
    skills = rng.normal(0.0, SPREAD, n_agents)
    n_blocks = -(-n_matches // 2)
    one = rng.integers(0, n_agents, n_blocks)
    # An agent with very many matches is the worst case of its page.
    one[rng.random(n_blocks) < BUSY_SHARE] = 0
    other = (one + rng.integers(1, n_agents, n_blocks)) % n_agents
    first = np.column_stack((one, other)).ravel()[:n_matches]
    second = np.column_stack((other, one)).ravel()[:n_matches]
    chance = 1 / (1 + np.exp((skills[second] - skills[first]) / SPREAD))
    result = np.where(rng.random(n_matches) < chance, FIRST_WINS, SECOND_WINS)
    result[rng.random(n_matches) < DRAWS] = DRAW
    is_void = rng.random(n_matches) < VOIDS
    is_forfeit = (rng.random(n_matches) < FORFEITS) & (result != DRAW)
    # One of each for sure: pages of few matches must ask as much as those of many.
    is_void[0] = True
    is_cancelled = (rng.random(n_matches) < CANCELLED) & ~is_void
    is_lost = np.where(first == 0, result == SECOND_WINS, (second == 0) & (result == FIRST_WINS))
    is_forfeit[np.argmax(is_lost & ~is_void & ~is_cancelled)] = True
    return Drawn(
        skills=skills,
        first=first,
        second=second,
        result=result,
        is_forfeit=is_forfeit,
        is_void=is_void,
        is_cancelled=is_cancelled,
        is_retried=rng.random(n_matches) < RETRIED,
    )
