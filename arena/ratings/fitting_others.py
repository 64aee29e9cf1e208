"""Who fits an agent: an opponent about as strong, a teacher that is stronger but in reach.

Games of two sides are compared by ratings, games of one seat by mean scores.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, hypot, isfinite, sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

from arena.ratings.base import BETA, DRAW_PROBABILITY, Z95, RatingError, unit_draw_margin

OPPONENT, TEACHER = "opponent", "teacher"
PURPOSES: Final = (OPPONENT, TEACHER)
CERTAIN: Final = 0.95
"""P(stronger) from which somebody may teach: fewer than one teacher in twenty is none."""
LEAST_SHARE: Final = 0.1
"""Of the points: who wins less learns little from losing. Held, Geng, Florensa and Abbeel (2017,
Automatic Goal Generation for Reinforcement Learning Agents) take goals reached in 0.1 to 0.9.
"""
BEST_SHARE: Final = 0.25
"""Of a teacher's games the learner wins about one in four: a gap of one beta."""
_NORMAL = NormalDist()


class Strength(NamedTuple):
    """A rating or a mean score, and the standard deviation of the doubt about it."""

    value: float
    sd: float


@dataclass(frozen=True)
class Rules:
    """How a match of two sides goes; n_performances: how many agents play on both together."""

    n_performances: int = 2
    draw_probability: float = DRAW_PROBABILITY


@dataclass(frozen=True)
class Meeting:
    """What is known of an opponent from the view of one agent.

    lead: of the other over the agent, in ratings or mean scores, with its 95 % interval from low to
    high. p_stronger: that the other is. share: the part of the points that the agent may expect
    against it, at the lead and at both ends of its interval, None where nobody plays another.
    quality: 1 for a match of two that are known to be equal, less for each doubt and lead.
    """

    lead: float
    low: float
    high: float
    p_stronger: float
    share: float | None
    share_low: float | None
    share_high: float | None
    quality: float


def compare(own: Strength, other: Strength, rules: Rules | None) -> Meeting:
    """Return what is known of `other` as seen by `own`; rules: None for a game of one seat.

    Both count as independent. Raises RatingError for what is not finite.
    """
    if not all(map(isfinite, (*own, *other))) or own.sd < 0 or other.sd < 0:
        raise RatingError(f"strengths must be finite and their doubts 0 or more: {own}, {other}")
    lead, sd = other.value - own.value, hypot(own.sd, other.sd)
    low, high = lead - Z95 * sd, lead + Z95 * sd
    share = share_low = share_high = None
    if rules:
        share, share_low, share_high = (_expect_share(-gap, rules) for gap in (lead, high, low))
    quality = _measure_quality(lead, sd, rules) if rules else 1 / (1 + hypot(lead, sd))
    return Meeting(lead, low, high, _find_chance(lead, sd), share, share_low, share_high, quality)


def choose(meetings: Mapping[int, Meeting], purpose: str) -> list[int]:
    """Return whose meetings fit the purpose, the best first; of equals the lowest number."""
    fits, order = _RULES[purpose]
    fitting = [number for number, meeting in meetings.items() if fits(meeting)]
    return sorted(fitting, key=lambda number: (order(meetings[number]), number))


def seek(own: Strength, purpose: str, rules: Rules | None) -> float:
    """Return about what strength fits best: where to look among very many others."""
    if purpose == OPPONENT:
        return own.value
    if rules is None:
        return own.value - _NORMAL.inv_cdf(1 - CERTAIN) * own.sd
    return own.value - _NORMAL.inv_cdf(BEST_SHARE) * sqrt(rules.n_performances) * BETA


def _find_chance(lead: float, sd: float) -> float:
    """Return P(what is known as lead with this doubt is above 0)."""
    if sd > 0:
        return _NORMAL.cdf(lead / sd)
    return 0.5 if lead == 0 else float(lead > 0)


def _expect_share(lead: float, rules: Rules) -> float:
    """Return the part of the points of an agent whose rating is higher by lead."""
    unit = lead / (sqrt(rules.n_performances) * BETA)
    margin = unit_draw_margin(rules.draw_probability)
    return (_NORMAL.cdf(unit - margin) + _NORMAL.cdf(unit + margin)) / 2


def _measure_quality(lead: float, sd: float, rules: Rules) -> float:
    """Return the chance of a draw relative to two equal agents whose skills are known exactly.

    Where a draw means equal performances. Source: Herbrich, Minka and Graepel, TrueSkill: A
    Bayesian Skill Rating System, 2006, matchmaking.
    """
    noise = rules.n_performances * BETA**2
    whole = noise + sd**2
    return sqrt(noise / whole) * exp(-(lead**2) / (2 * whole))


def _is_teacher(meeting: Meeting) -> bool:
    is_in_reach = meeting.share is None or meeting.share >= LEAST_SHARE
    return meeting.p_stronger >= CERTAIN and is_in_reach


def _order_teachers(meeting: Meeting) -> float:
    # In a game of one seat nobody loses to anybody: the next surely higher score is the next step.
    return meeting.lead if meeting.share is None else abs(meeting.share - BEST_SHARE)


_RULES: Final[Mapping[str, Sequence[Callable[[Meeting], float]]]] = {
    OPPONENT: (lambda _: True, lambda meeting: -meeting.quality),
    TEACHER: (_is_teacher, _order_teachers),
}
