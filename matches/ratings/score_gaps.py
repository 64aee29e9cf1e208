"""How far the scores of two agents lie apart, seed by seed: both played the same game seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arena.games import registry as games
from arena.games.base import GameSpec
from arena.ratings.score_means import summarize_scores
from arena.ratings.scores import FORFEITED, compare_scores
from matches.models import Leaderboard, Score

# Seeds that are compared: some 20 ms. In the order of their numbers, which are hashes: any sample
# is as good, and both agents' rows are read in it by an index.
MOST_SEEDS = 5_000


class Gap(NamedTuple):
    """A game seed, both scores (None after a forfeit), both matches, and the first's lead."""

    game_seed: int
    scores: tuple[float | None, float | None]
    matches: tuple[int, int]
    lead: float | None


@dataclass(frozen=True)
class ScoreGaps:
    """Two agents on their common seeds; gaps: one a seed, the greatest lead of the first first.

    mean, low, high: of the lead of the first, with its 95 % interval; None where it is not known.
    n_without: seeds whose lead is not known, as one forfeited and the least score is not declared.
    """

    gaps: Sequence[Gap]
    n_better: int
    n_equal: int
    n_worse: int
    n_without: int
    mean: float | None
    low: float | None
    high: float | None
    is_cut: bool


def read_gaps(board: Leaderboard, first: int, second: int) -> ScoreGaps:
    """Return how two agents scored on the seeds that both have played: two queries."""
    spec = games.get(board.game).spec
    of_first, of_second = (_read_scores(board, agent) for agent in (first, second))
    gaps, counts = [], [0, 0, 0]
    for seed in sorted(of_first.keys() & of_second.keys()):
        (score, match), (other, other_match) = of_first[seed], of_second[seed]
        better, lead = compare_on_seed(spec, score, other)
        counts[1 - better] += 1
        gaps.append(Gap(seed, (score, other), (match, other_match), lead))
    with_lead = [gap for gap in gaps if gap.lead is not None]
    seeds = np.array([gap.game_seed for gap in with_lead], np.int64)
    leads = np.array([gap.lead for gap in with_lead], np.float64)
    summary = summarize_scores(np.zeros(len(with_lead), np.int64), seeds, leads)
    mean, low, high = (
        float(column[0]) if len(with_lead) >= n else None
        for column, n in ((summary.mean, 1), (summary.low, 2), (summary.high, 2))
    )
    gaps.sort(key=lambda gap: (gap.lead is None, -(gap.lead or 0.0), gap.game_seed))
    is_cut = max(len(of_first), len(of_second)) >= MOST_SEEDS
    n_better, n_equal, n_worse = counts
    n_without = len(gaps) - len(with_lead)
    return ScoreGaps(gaps, n_better, n_equal, n_worse, n_without, mean, low, high, is_cut)


def compare_on_seed(
    spec: GameSpec, score: float | None, other: float | None
) -> tuple[int, float | None]:
    """Return 1, 0 or -1 for the better, equal or worse of two scores, and the lead of the first.

    A forfeit, None, is below all; its lead is that of the least score, where that is declared.
    """
    first, second = (FORFEITED if value is None else value for value in (score, other))
    least = spec.score_range[0] if spec.score_range else None
    of_one, of_two = (least if value is None else value for value in (score, other))
    lead = None if of_one is None or of_two is None else of_one - of_two
    return compare_scores(first, second, spec.score_margin), lead


def _read_scores(board: Leaderboard, agent: int) -> dict[int, tuple[float | None, int]]:
    """Return score and match of an agent by game seed; of several the first in planned order."""
    rows = Score.objects.filter(leaderboard=board, agent=agent).order_by("game_seed")
    scores: dict[int, tuple[int, float | None, int]] = {}
    columns = ("game_seed", "sequence", "score", "match_id")
    for seed, sequence, score, match in rows.values_list(*columns)[:MOST_SEEDS]:
        if seed not in scores or sequence < scores[seed][0]:
            scores[seed] = (sequence, score, match)
    return {seed: (score, match) for seed, (_, score, match) in scores.items()}
