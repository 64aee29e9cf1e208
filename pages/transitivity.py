"""Whether one number misleads on a board, ready for its template."""

from typing import NamedTuple

from arena.ratings.base import Z95
from matches.models import Leaderboard
from matches.ratings import transitivity
from matches.ratings.transitivity import Cycle, Finding
from matches.store.formats import format_number, format_signed
from pages.elo import describe_scale

LEAST_FITTED = 100
"""Matches that have to be counted before a page says what the first seat is worth, and draws."""
_LEAST_DRAWN = 0.01


class ShownCycle(NamedTuple):
    """A cycle and what is said of it."""

    round: Cycle
    text: str


class ShownFinding(NamedTuple):
    """A finding with its cycles in words."""

    finding: Finding
    cycles: list[ShownCycle]


def describe_board(board: Leaderboard) -> ShownFinding | None:
    """Return what is shown of a board, None where there is nothing to say."""
    finding = transitivity.examine_board(board)
    if finding is None:
        return None
    cycles = []
    for cycle in finding.cycles:
        names = [agent.name for agent in cycle.agents]
        # The last one beats the first: that closes the cycle.
        beats = zip(names, [*names[1:], names[0]], cycle.shares, strict=True)
        texts = [f"{winner} beats {loser} ({share:.0%})" for winner, loser, share in beats]
        cycles.append(ShownCycle(cycle, ", ".join(texts)))
    return ShownFinding(finding, cycles)


def describe_seat_advantage(board: Leaderboard) -> str:
    """Return what sitting first is worth in points of Elo, with its 95 % interval.

    Empty where it is unknown, or too few matches tell it.
    """
    if board.seat_mu is None or board.seat_sd is None or board.n_counted < LEAST_FITTED:
        return ""
    per = describe_scale(board)["per"]
    half = format_number(per * Z95 * board.seat_sd)
    return f"{format_signed(per * board.seat_mu, 0)} ± {half} Elo"


def describe_draws(board: Leaderboard) -> str:
    """Return how often two equal agents draw, as fitted; empty where hardly ever or unknown.

    Games of two seats have draws, and a fitted advantage of the first.
    """
    drawn = board.fitted_draw_probability if board.seat_mu is not None else None
    if drawn is None or drawn < _LEAST_DRAWN or board.n_counted < LEAST_FITTED:
        return ""
    return f"{drawn:.0%}"
