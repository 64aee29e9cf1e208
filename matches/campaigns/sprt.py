"""The sequential test of two agents: its parameters, and what ratings say of the two beforehand.

The ratings count for what others know of them: the results of the two against each other are the
blocks of the test itself.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt

from arena.parameters import Value
from arena.ratings.counts import PairCounts
from arena.verdicts.sprt import EloModel, SequentialTest
from arena.verdicts.sprt_forecast import Gap
from matches.models import Leaderboard
from matches.ratings.evidence import Evidence, read_results
from matches.ratings.fitting import fit_ratings

# Others whose results say how far apart the two are: those that they met most often.
MOST_OPPONENTS = 60


def read_test(parameters: Mapping[str, Value]) -> SequentialTest:
    """Return the sequential test of these parameters. Raises VerdictError."""
    numbers = {name: float(parameters[name]) for name in ("elo0", "elo1", "alpha", "beta")}
    return SequentialTest(**numbers, model=EloModel(str(parameters["model"])))


def estimate_gap(evidence: Evidence) -> Gap:
    """Return the gap in rating of two agents but for their own results, and how sure it is."""
    board, boards, pair = evidence.board, evidence.boards, evidence.agents
    agents = [*pair, *_most_met(boards, pair)]
    counts = Evidence(board, agents, boards).counts
    settled = fit_ratings(board, agents, _counts_beyond(len(pair), counts))
    joint = settled.covariance
    if joint is None:
        raise ValueError(f"{len(agents)} agents are fitted without a covariance")
    variance = float(joint[0, 0] + joint[1, 1] - 2 * joint[0, 1])
    gap = float(settled.mu[0] - settled.mu[1])
    return Gap(gap, sqrt(variance), board.draw_probability)


def _most_met(boards: Sequence[Leaderboard], pair: Sequence[int]) -> list[int]:
    """Return the others that one of the two met, those met most often first."""
    times: Counter[int] = Counter()
    for first, second, *results in read_results(pair, [board.pk for board in boards]):
        times.update(dict.fromkeys({first, second} - set(pair), sum(results)))
    ranked = sorted(times, key=lambda agent: (-times[agent], agent))
    return ranked[:MOST_OPPONENTS]


def _counts_beyond(n: int, counts: PairCounts) -> PairCounts:
    """Return the counts less those of the first n agents among each other."""
    others = (counts.first >= n) | (counts.second >= n)
    columns = (counts.first, counts.second)
    times = (counts.n_first_wins, counts.n_draws, counts.n_second_wins)
    return PairCounts(*(column[others] for column in (*columns, *times)))
