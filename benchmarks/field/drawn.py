"""Who played whom and how it ended, drawn from a seed: arrays of a few bytes a match."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FIRST_WINS, DRAW, SECOND_WINS = 0, 1, 2
BUSY_SHARE = 0.1
"""So many of all matches are the first agent's."""
FORFEITS, VOIDS, CANCELLED, RETRIED, DRAWS = 0.01, 0.0005, 0.0005, 0.005, 0.06
_SPREAD = 4.0


@dataclass(frozen=True)
class Drawn:
    """Places of the agents at either seat and how it ended, one element per match."""

    skills: Floats
    first: Ints
    second: Ints
    result: Ints
    is_forfeit: NDArray[np.bool_]
    is_void: NDArray[np.bool_]
    is_cancelled: NDArray[np.bool_]
    is_retried: NDArray[np.bool_]

    @property
    def is_counted(self) -> NDArray[np.bool_]:
        """Which matches have an outcome."""
        return ~(self.is_void | self.is_cancelled)


@dataclass(frozen=True)
class Pairs:
    """How often two places met in these seats and how it ended."""

    first: Ints
    second: Ints
    counts: Ints  # [pairs, 3]: first wins, draws, second wins


def draw(n_agents: int, n_matches: int, *, seed: int) -> Drawn:
    """Return matches in blocks of two, the seats changed; place 0 is in a tenth of them."""
    rng = np.random.default_rng(seed)
    skills = rng.normal(0.0, _SPREAD, n_agents)
    n_blocks = -(-n_matches // 2)
    one = rng.integers(0, n_agents, n_blocks)
    one[rng.random(n_blocks) < BUSY_SHARE] = 0
    other = (one + rng.integers(1, n_agents, n_blocks)) % n_agents
    first = np.column_stack((one, other)).ravel()[:n_matches]
    second = np.column_stack((other, one)).ravel()[:n_matches]
    chance = 1 / (1 + np.exp((skills[second] - skills[first]) / _SPREAD))
    result = np.where(rng.random(n_matches) < chance, FIRST_WINS, SECOND_WINS)
    result[rng.random(n_matches) < DRAWS] = DRAW
    is_void = rng.random(n_matches) < VOIDS
    return Drawn(
        skills=skills,
        first=first,
        second=second,
        result=result,
        is_forfeit=(rng.random(n_matches) < FORFEITS) & (result != DRAW),
        is_void=is_void,
        is_cancelled=(rng.random(n_matches) < CANCELLED) & ~is_void,
        is_retried=rng.random(n_matches) < RETRIED,
    )


def pairs(drawn: Drawn, until: int) -> Pairs:
    """Return the counts of the first matches."""
    counted = drawn.is_counted[:until]
    first, second = drawn.first[:until][counted], drawn.second[:until][counted]
    result = drawn.result[:until][counted]
    n_agents = len(drawn.skills)
    keys, places = np.unique(first * n_agents + second, return_inverse=True)
    counts = np.bincount(places * 3 + result, minlength=3 * len(keys)).reshape(-1, 3)
    return Pairs(keys // n_agents, keys % n_agents, counts)


def tallies(drawn: Drawn, until: int) -> Ints:
    """Return [agents, 5]: matches, wins, draws, losses and forfeits of each place."""
    counted = drawn.is_counted[:until]
    result, forfeit = drawn.result[:until][counted], drawn.is_forfeit[:until][counted]
    found = np.zeros((len(drawn.skills), 5), np.int64)
    for seats, won, lost in (
        (drawn.first, FIRST_WINS, SECOND_WINS),
        (drawn.second, SECOND_WINS, FIRST_WINS),
    ):
        places = seats[:until][counted]
        of_all = (
            np.ones_like(result, bool),
            result == won,
            result == DRAW,
            result == lost,
            (result == lost) & forfeit,
        )
        for column, chosen in enumerate(of_all):
            found[:, column] += np.bincount(places[chosen], minlength=len(found))
    return found
