"""The sequential test of two agents: its parameters, and what ratings say of the two beforehand.

The ratings count for what others know of them: the results of the two against each other are the
blocks of the test itself.
"""

from collections import Counter
from collections.abc import Mapping
from math import sqrt

from arena.parameters import Value
from arena.ratings.counts import PairCounts
from arena.verdicts.sprt import EloModel, SequentialTest
from arena.verdicts.sprt_forecast import Gap
from matches.ratings.evidence import Evidence, read_results
from matches.ratings.fitting import load_fit

# Others whose results say how far apart the two are: those that they met most often.
MOST_OPPONENTS = 60


def read_test(parameters: Mapping[str, Value]) -> SequentialTest:
    """Return the sequential test of these parameters. Raises VerdictError."""
    numbers = {name: float(parameters[name]) for name in ("elo0", "elo1", "alpha", "beta")}
    return SequentialTest(**numbers, model=EloModel(str(parameters["model"])))


def estimate_gap(evidence: Evidence) -> Gap:
    """Return the gap in rating of two agents but for their own results, and how sure it is."""
    board, boards, pair = evidence.board, evidence.boards, evidence.agents
    n_met: Counter[int] = Counter()
    for first, second, *results in read_results(pair, [board.pk for board in boards]):
        n_met.update(dict.fromkeys({first, second} - set(pair), sum(results)))
    opponents = sorted(n_met, key=lambda agent: (-n_met[agent], agent))[:MOST_OPPONENTS]
    agents = [*pair, *opponents]
    counts = Evidence(board, agents, boards).counts
    # What the two did against each other is the test itself, and would count twice.
    is_kept = (counts.first >= len(pair)) | (counts.second >= len(pair))
    columns = (counts.first, counts.second, counts.n_first_wins, counts.n_draws)
    others = PairCounts(*(column[is_kept] for column in (*columns, counts.n_second_wins)))
    settled = load_fit(board, agents, others).settle()
    joint = settled.covariance
    if joint is None:
        raise ValueError(f"{len(agents)} agents are fitted without a covariance")
    variance = float(joint[0, 0] + joint[1, 1] - 2 * joint[0, 1])
    gap = float(settled.mu[0] - settled.mu[1])
    return Gap(gap, sqrt(variance), settled.draw_probability)
