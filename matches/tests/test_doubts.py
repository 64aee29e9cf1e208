"""Which assumption of the rating model is said to be in doubt, and when."""

from dataclasses import replace

import numpy as np
import pytest

from arena.ratings.pair_variance import NO_PAIR_VARIANCE
from arena.verdicts.drift import PARTS, Drift
from arena.verdicts.evidence import ModelChecks
from matches.campaigns.doubts import CLEAR, POSSIBLE, SURE, describe_doubts, is_in_doubt

NAMES = ("ada", "bob", "cleo")
STAYS = Drift(0.0, np.zeros((PARTS, len(NAMES))), 0.1)
SPEEDS = np.full(5, 0.2)
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
    ("excess", "chance", "sentences"),
    [
        (CLEAR, 0.5, ["Strength drifts, that of bob (since about 50 % of the newest blocks)"]),
        (0.5, SURE, ["Strength drifts, that of bob (since about 50 % of the newest blocks)"]),
        (0.5, 0.5, ["Strength may drift (50 %): the answer is as much less sure."]),
        (CLEAR, POSSIBLE, ["Strength may drift (5 %): the answer is as much less sure."]),
        (0.5, POSSIBLE - 0.01, []),
    ],
)
def test_strength_is_said_to_drift_since_it_turned_or_that_it_may(
    excess: float, chance: float, sentences: list[str]
) -> None:
    departures = np.zeros((PARTS, len(NAMES)))
    # It does worse until half of the blocks are played, and better since.
    departures[:, 1] = np.repeat([-2.0, 2.0], PARTS // 2)
    checks = replace(AS_RANKED, drift=Drift(excess, departures, chance, SPEEDS))
    assert is_in_doubt(checks) is bool(sentences)
    assert [text.partition(" most:")[0] for text in said_of(checks)] == sentences


def test_drift_is_not_said_while_verdicts_do_not_go_by_it() -> None:
    assert not is_in_doubt(replace(AS_RANKED, drift=STAYS._replace(excess=CLEAR, chance=0.4)))
