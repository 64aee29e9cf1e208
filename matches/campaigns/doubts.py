"""Which assumption of the rating model a campaign's results put in doubt, in words."""

from collections.abc import Sequence
from math import inf
from typing import Final

import numpy as np

from arena.verdicts.drift import PARTS
from arena.verdicts.evidence import ModelChecks
from arena.verdicts.scale import elo_of_score, score_of_gap

DISPERSED: Final = 1.3
"""From this dispersion on blocks are said to depend on each other, of few blocks from more."""
CLEAR: Final = 3.0
"""Standard deviations beyond chance from which a departure is named."""
SURE: Final = 0.99
"""The probability that strength walks from which that is named."""
POSSIBLE: Final = 0.05
"""And from which it is said that it may, where verdicts go by it."""
_GAMES_OF_BLOCK = 2
_MOST_SCORE = 0.999


def is_in_doubt(checks: ModelChecks) -> bool:
    """Return whether some assumption does not hold."""
    return (
        _is_dispersed(checks)
        or _are_departing(checks)
        or _is_drifting(checks)
        or _may_drift(checks)
    )


def _is_dispersed(checks: ModelChecks) -> bool:
    # The variance of a variance: of few blocks it is mostly what was thought of them before.
    by_chance = CLEAR * (2 / checks.n_blocks) ** 0.5 if checks.n_blocks else inf
    return checks.dispersion >= max(DISPERSED, 1 + by_chance)


def _are_departing(checks: ModelChecks) -> bool:
    # Where strength walks, that is what pairs show.
    return checks.pairs.excess >= CLEAR and not checks.drift.is_likely


def _is_drifting(checks: ModelChecks) -> bool:
    drift = checks.drift
    return drift.is_likely and (drift.excess >= CLEAR or drift.chance >= SURE)


def _may_drift(checks: ModelChecks) -> bool:
    drift = checks.drift
    return drift.speeds is not None and drift.chance >= POSSIBLE and not _is_drifting(checks)


def describe_doubts(checks: ModelChecks, names: Sequence[str]) -> list[str]:
    """Return a sentence for each assumption that does not hold; what follows is in the verdict.

    names: of the agents, by position.
    """
    doubts: list[str] = []
    if _is_dispersed(checks):
        n_games = _GAMES_OF_BLOCK / checks.dispersion
        doubts.append(
            f"The two games of a block depend on each other: they count as {n_games:.1f} games."
        )
    if _are_departing(checks):
        apart = elo_of_score(min(_MOST_SCORE, score_of_gap(checks.pairs.variance**0.5)))
        doubts.append(
            "Pairs depart from every ranking by one number, "
            f"by {apart:.0f} Elo or so: what two did against each other counts for their order."
        )
    if _is_drifting(checks):
        doubts.append(
            f"Strength drifts, that of {_find_drifting(checks, names)} most: newer results count "
            "for more."
        )
    if _may_drift(checks):
        percent = f"{100 * checks.drift.chance:.0f} %"
        doubts.append(f"Strength may drift ({percent}): the answer is as much less sure.")
    return doubts


def _find_drifting(checks: ModelChecks, names: Sequence[str]) -> str:
    """Return the agent that departs most, and since which part of the newest blocks."""
    departures = checks.drift.departures
    agent = int((departures**2).sum(axis=0).argmax())
    course = np.cumsum(departures[:, agent])
    # The point from which it goes another way: where what had summed up turns round.
    part = int(np.abs(course[:-1]).argmax()) + 1
    return f"{names[agent]} (since about {100 * part // PARTS} % of the newest blocks)"
