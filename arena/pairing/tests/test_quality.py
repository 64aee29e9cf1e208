"""TrueSkill quality: the formula of the package, all play, and a warning for close fields."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import trueskill

from arena.conformance.standings import standing
from arena.pairing.base import Field
from arena.pairing.catalog.quality import PAIRING, draw_quality
from arena.ratings.tests.simulated import simulated

KNOWN = standing(Field(9, 2), simulated(9, 600, seed=5).results)


def test_the_quality_is_that_of_the_package() -> None:
    ratings = [trueskill.Rating(float(m), float(s)) for m, s in zip(KNOWN.mu, KNOWN.sd)]  # noqa: B905
    ours = draw_quality(KNOWN)
    for i, j in ((0, 1), (3, 7), (8, 2)):
        assert ours[i, j] == pytest.approx(trueskill.quality_1vs1(ratings[i], ratings[j]))


def test_all_play_alike() -> None:
    lineups = PAIRING.choose(standing(Field(9, 2)), 90, seed=1)
    played = Counter(agent for lineup in lineups for agent in lineup)
    assert max(played.values()) - min(played.values()) <= 4
    assert len({frozenset(lineup) for lineup in lineups}) > 20


def test_close_agents_meet() -> None:
    place = {agent: at for at, agent in enumerate(np.argsort(-KNOWN.mu).tolist())}
    lineups = PAIRING.choose(KNOWN, 8, seed=1)
    assert np.mean([abs(place[i] - place[j]) for i, j in lineups]) < 3


def test_a_close_field_is_warned_of() -> None:
    assert PAIRING.warning(replace(KNOWN, spread=8.3)) is None
    assert PAIRING.warning(replace(standing(Field(9, 2)), spread=2.1)) is None
    warning = PAIRING.warning(replace(KNOWN, spread=2.1))
    assert warning is not None
    assert "spread by 2.1" in warning
    assert "choose order_information" in warning
