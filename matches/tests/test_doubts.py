"""Which assumption of the rating model is said to be in doubt, and when."""

from dataclasses import replace

import numpy as np
import pytest

from arena.ratings.pair_variance import NO_PAIR_VARIANCE
from arena.verdicts.drift import PARTS, Drift
from arena.verdicts.evidence import ModelChecks
from matches.campaigns.doubts import CLEAR, SURE, describe_doubts, is_in_doubt

NAMES = ("ada", "bob", "cleo")
STAYS = Drift(0.0, np.zeros((PARTS, len(NAMES))), 0.1)
AS_RANKED = ModelChecks(1.0, 400, NO_PAIR_VARIANCE, STAYS)


def said_of(checks: ModelChecks) -> list[str]:
    return describe_doubts(checks, NAMES)


def test_of_results_as_a_ranking_brings_them_nothing_is_said() -> None:
    assert not is_in_doubt(AS_RANKED)
    assert said_of(AS_RANKED) == []


def test_blocks_are_said_to_depend_on_each_other_once_there_are_enough() -> None:
    repeating = replace(AS_RANKED, dispersion=2.0)
    assert is_in_doubt(repeating)
    assert said_of(repeating) == [
        "The two games of a block depend on each other: they count as 1.0 games."
    ]
    assert not is_in_doubt(replace(repeating, n_blocks=10))
    assert not is_in_doubt(replace(repeating, n_blocks=0))


def test_pairs_are_said_to_depart_by_elo() -> None:
    pairs = NO_PAIR_VARIANCE._replace(variance=16.0, excess=CLEAR)
    departing = replace(AS_RANKED, pairs=pairs)
    assert is_in_doubt(departing)
    [sentence] = said_of(departing)
    assert sentence.startswith("Pairs depart from every ranking by one number, by 1")
    assert not is_in_doubt(replace(departing, pairs=pairs._replace(excess=CLEAR - 0.1)))
    # It may be a walk that pairs show.
    assert not is_in_doubt(replace(departing, drift=STAYS._replace(chance=0.6)))


@pytest.mark.parametrize(
    ("excess", "chance", "is_said"),
    [(CLEAR, 0.5, True), (0.5, SURE, True), (0.5, 0.5, False), (CLEAR, float("nan"), False)],
)
def test_strength_is_said_to_drift_since_it_turned(
    excess: float, chance: float, *, is_said: bool
) -> None:
    departures = np.zeros((PARTS, len(NAMES)))
    # It does worse until half of the blocks are played, and better since.
    departures[:, 1] = np.repeat([-2.0, 2.0], PARTS // 2)
    drift = Drift(excess, departures, chance, np.linspace(1, 0.2, PARTS))
    checks = replace(AS_RANKED, drift=drift)
    assert is_in_doubt(checks) is is_said
    sentences = said_of(checks)
    assert [text.partition(" most:")[0] for text in sentences] == [
        "Strength drifts, that of bob (since about 50 % of the newest blocks)"
    ] * is_said


def test_who_drifts_is_not_said_while_it_is_likelier_that_nobody_does() -> None:
    assert not is_in_doubt(replace(AS_RANKED, drift=STAYS._replace(excess=CLEAR, chance=0.4)))
