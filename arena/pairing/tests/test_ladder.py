"""Ladder: neighbours only, and those first that met least."""

import numpy as np

from arena.conformance.standings import standing
from arena.pairing.base import Field
from arena.pairing.catalog.ladder import PAIRING

CHAIN = np.array([(i, i + 1, 1) for i in range(5)] * 3)


def test_only_neighbours_meet() -> None:
    here = standing(Field(6, 2), CHAIN)
    assert np.argsort(-here.mu).tolist() == list(range(6))
    assert {j - i for i, j in PAIRING.choose(here, 20, seed=1)} == {1}


def test_those_that_met_least_meet() -> None:
    here = standing(Field(6, 2), CHAIN, n_in_flight={(0, 1): 2, (2, 3): 2, (4, 5): 2, (0, 5): 9})
    assert set(PAIRING.choose(here, 2, seed=1)) == {(1, 2), (3, 4)}
    assert len(set(PAIRING.choose(standing(Field(6, 2), CHAIN), 5, seed=1))) == 5


def test_three_neighbours_meet_in_three_seats() -> None:
    here = standing(Field(6, 3), CHAIN)
    assert all(max(trio) - min(trio) == 2 for trio in PAIRING.choose(here, 9, seed=1))
