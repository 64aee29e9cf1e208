"""Which of two agents is better, and how their matches ended."""

from dataclasses import dataclass
from math import hypot, sqrt
from statistics import NormalDist

from arena.games import registry as games
from arena.ratings.base import BETA, unit_draw_margin
from matches.models import Leaderboard, PairCount, Rating

_NORMAL = NormalDist()


@dataclass(frozen=True)
class HeadToHead:
    """How the matches of two agents ended, for the first of them."""

    n_wins: int
    n_draws: int
    n_losses: int


@dataclass(frozen=True)
class Expected:
    """How the next match of two opponents probably ends, by their settled mu."""

    win: float
    draw: float
    loss: float


@dataclass(frozen=True)
class Comparison:
    """The first against the second, by their settled ratings.

    p_above: P(the skill of the first is above that of the second). The two count as independent
    about the mean of the field; their covariance is not stored.
    """

    first: Rating
    second: Rating
    p_above: float
    expected: Expected
    head_to_head: HeadToHead


def compare(first: Rating, second: Rating) -> Comparison:
    """Return how two agents of one leaderboard stand to each other."""
    return Comparison(
        first=first,
        second=second,
        p_above=p_above(first, second),
        expected=_expected(first, second),
        head_to_head=head_to_head(first, second),
    )


def p_above(first: Rating, second: Rating) -> float:
    """Return P(the first is better); one half for an agent and itself."""
    doubt = hypot(first.sd, second.sd)
    gap = first.mu - second.mu
    return _NORMAL.cdf(gap / doubt) if doubt and first.pk != second.pk else 0.5


def _expected(first: Rating, second: Rating) -> Expected:
    board = _board(first)
    # In a game of teams the others of both sides count as equally strong, and add their chance.
    n_performances = 2 * games.get(board.game).spec.team_size
    gap = (first.mu - second.mu) / (sqrt(n_performances) * BETA)
    margin = unit_draw_margin(board.draw_probability)
    win, loss = _NORMAL.cdf(gap - margin), _NORMAL.cdf(-gap - margin)
    return Expected(win=win, draw=max(0.0, 1 - win - loss), loss=loss)


def head_to_head(first: Rating, second: Rating) -> HeadToHead:
    """Return how their matches ended, whoever sat first."""
    counts = PairCount.objects.filter(leaderboard=first.leaderboard_id)
    there = counts.filter(first=first.agent_id, second=second.agent_id).first() or PairCount()
    back = counts.filter(first=second.agent_id, second=first.agent_id).first() or PairCount()
    return HeadToHead(
        n_wins=there.n_first_wins + back.n_second_wins,
        n_draws=there.n_draws + back.n_draws,
        n_losses=there.n_second_wins + back.n_first_wins,
    )


def _board(rating: Rating) -> Leaderboard:
    return rating.leaderboard
