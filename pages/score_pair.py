"""What the page of two agents says of a one-seat game: their differences on equal seeds."""

from typing import Any

from matches.models import Agent, Leaderboard
from matches.ratings.score_gaps import MOST_SEEDS, Gap, read_gaps
from matches.ratings.standings import format_mean
from matches.store.catalog import is_scored_game
from matches.store.formats import format_score
from pages.plots.score_gaps import draw_histogram

N_SHOWN = 5
"""Seeds that are named at both ends."""


def describe_gaps(board: Leaderboard | None, first: Agent, second: Agent) -> dict[str, Any] | None:
    """Return how the two scored on their common seeds; None of games with more seats."""
    if board is None or not is_scored_game(board.game):
        return None
    score_gaps = read_gaps(board, first.pk, second.pk)
    with_lead = [gap for gap in score_gaps.gaps if gap.lead is not None]
    shown = (
        with_lead
        if len(with_lead) <= 2 * N_SHOWN
        else [*with_lead[:N_SHOWN], *with_lead[-N_SHOWN:]]
    )
    mean, interval = "", ""
    if score_gaps.mean is not None:
        mean, interval = format_mean(score_gaps.mean, score_gaps.low, score_gaps.high)
    return {
        "found": score_gaps,
        "n_seeds": len(score_gaps.gaps),
        "mean": mean if mean.startswith("-") or not mean else f"+{mean}",
        "interval": interval,
        "histogram": draw_histogram([gap.lead for gap in with_lead if gap.lead is not None]),
        "rows": [_describe_gap(gap) for gap in shown],
        "most_seeds": MOST_SEEDS,
    }


def _describe_gap(gap: Gap) -> dict[str, Any]:
    scores = ["forfeit" if score is None else format_score(score, None) for score in gap.scores]
    lead = format_score(gap.lead or 0.0, None)
    return {
        "first": {"score": scores[0], "match": gap.matches[0]},
        "second": {"score": scores[1], "match": gap.matches[1]},
        "lead": f"+{lead}" if (gap.lead or 0) > 0 else lead,
    }
