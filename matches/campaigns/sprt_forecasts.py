"""What a sequential test of two agents will take, by its blocks and by what ratings say of the two.

The ratings count for what others know of them: the results of the two against each other are the
blocks of the test itself.
"""

from collections import Counter
from collections.abc import Sequence
from math import sqrt
from typing import Any

from arena.ratings.counts import PairCounts
from arena.verdicts.sprt import SequentialTest
from arena.verdicts.sprt_forecast import Gap, forecast_test
from matches.ledger.costs import Cost
from matches.models import Leaderboard
from matches.ratings.comparisons import results_of
from matches.ratings.evidence import boards_of, evidence
from matches.ratings.fitting import fit

MOST_OPPONENTS = 60
"""Others whose results say how far apart the two are: those that they met most often."""


def ahead(
    test: SequentialTest,
    counts: Sequence[int],
    gap: Gap,
    cost: Cost,
    *,
    limit: int,
    n_more: int,
    seed: int,
) -> dict[str, Any]:
    """Return the matches until a test ends with what they cost, and what n_more would change."""
    found, more = forecast_test(test, counts, gap, limit=limit, seed=seed, n_more=n_more)
    return {
        "matches": found.matches,
        "low": found.low,
        "high": found.high,
        "decided": found.decided,
        "accepted": found.accepted,
        "round_robin": None,
        "cost": cost.of(found.matches),
        "more": {
            "n_matches": n_more,
            "now": None,
            "then": None,
            "verdict": more.verdict,
            "llr_now": more.now,
            "llr_then": more.then,
        },
    }


def gap_between(leaderboard: Leaderboard, pair: Sequence[int]) -> Gap:
    """Return the gap in rating of two agents but for their own results, and how sure it is."""
    boards = boards_of(leaderboard, pair)
    agents = [*pair, *_opponents(boards, pair)]
    known = _beyond(evidence(leaderboard, agents, boards=boards), n=len(pair))
    settled = fit(leaderboard, agents, known)
    joint = settled.covariance
    if joint is None:
        raise ValueError(f"{len(agents)} agents are fitted without a covariance")
    variance = float(joint[0, 0] + joint[1, 1] - 2 * joint[0, 1])
    gap = float(settled.mu[0] - settled.mu[1])
    return Gap(gap, sqrt(variance), leaderboard.draw_probability)


def _opponents(boards: Sequence[Leaderboard], pair: Sequence[int]) -> list[int]:
    """Return the others that one of the two met, those met most often first."""
    times: Counter[int] = Counter()
    for first, second, *results in results_of(pair, [board.pk for board in boards]):
        times.update(dict.fromkeys({first, second} - set(pair), sum(results)))
    ranked = sorted(times, key=lambda agent: (-times[agent], agent))
    return ranked[:MOST_OPPONENTS]


def _beyond(counts: PairCounts, *, n: int) -> PairCounts:
    """Return the counts less those of the first n agents among each other."""
    others = (counts.first >= n) | (counts.second >= n)
    columns = (counts.first, counts.second)
    times = (counts.n_first_wins, counts.n_draws, counts.n_second_wins)
    return PairCounts(*(column[others] for column in (*columns, *times)))
