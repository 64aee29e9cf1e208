"""Random lineups: every set of agents equally likely, nobody against itself."""

from collections import Counter
from itertools import permutations

import pytest

from arena.pairing.base import Field
from arena.pairing.catalog.random import PAIRING


@pytest.mark.parametrize("n_seats", [2, 3])
def test_every_lineup_is_equally_likely(n_seats: int) -> None:
    lineups = PAIRING.pair(Field(5, n_seats), 60_000, seed=4)
    n_kinds = 20 if n_seats == 2 else 60
    seen = Counter(lineups)
    assert set(seen) == set(permutations(range(5), n_seats))
    expected = 60_000 / n_kinds
    chi_square = sum((n - expected) ** 2 / expected for n in seen.values())
    assert chi_square < n_kinds + 5 * (2 * n_kinds) ** 0.5


def test_other_seeds_give_other_lineups() -> None:
    drawn = {tuple(PAIRING.pair(Field(8, 2), 10, seed=seed)) for seed in range(20)}
    assert len(drawn) == 20
