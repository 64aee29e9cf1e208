"""The bound on matches is that of the best shares of pairs, and track-and-stop plays these."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import xlog1py
from scipy.stats import norm

from arena.ratings.base import BETA
from arena.ratings.counts import Floats
from arena.verdicts.futures import match_information
from benchmarks.campaigns import plans
from benchmarks.campaigns.bounds import (
    bound_matches,
    find_shares,
    list_ordered,
    tell_apart,
    track_shares,
)
from benchmarks.campaigns.hard import campaign
from benchmarks.campaigns.hard.rules import RULES
from benchmarks.campaigns.worlds import WORLDS, Ledger

pytestmark = pytest.mark.no_cover

SKILLS = np.array([25.0, 30.0, 20.0, 28.0])


def rate_by_hand(mu: Floats, question: str, margin: float, shares: Floats) -> float:
    """Return what a match tells against the nearest other answer, by generalised inverses."""
    n, total = len(mu), np.zeros((len(mu), len(mu)))
    for share, i, j in zip(shares, *np.triu_indices(n, 1), strict=True):
        pull = np.zeros(n)
        pull[[i, j]] = 1, -1
        total += share * tell_apart(np.abs(mu[i] - mu[j]), margin) * np.outer(pull, pull)
    joint = np.linalg.pinv(total)
    rates = []
    for one, other in zip(*list_ordered(mu, question), strict=True):
        pull = np.zeros(n)
        pull[[one, other]] = 1, -1
        rates.append((mu[one] - mu[other] + margin) ** 2 / (2 * pull @ joint @ pull))
    return float(min(rates))


@pytest.mark.parametrize("question", ["best", "rank_all"])
def test_no_other_shares_tell_more(question: str) -> None:
    optimum = find_shares(SKILLS, question, 1.0)
    assert optimum.shares.sum() == pytest.approx(1)
    assert optimum.rate == pytest.approx(rate_by_hand(SKILLS, question, 1.0, optimum.shares))

    def tell_less(logits: Floats) -> float:
        shares = np.exp(logits - logits.max())
        return -rate_by_hand(SKILLS, question, 1.0, shares / shares.sum())

    rng = np.random.default_rng(1)
    tries = [minimize(tell_less, rng.normal(size=6), method="Nelder-Mead") for _ in range(4)]
    assert -min(one.fun for one in tries) < 1.02 * optimum.rate


@pytest.mark.parametrize("gap", [1.0, 5.0, 20.0, 60.0])
@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_of_two_agents_it_is_the_divergence_of_their_matches(gap: float, margin: float) -> None:
    bound = bound_matches(np.array([25.0, 25.0 + gap]), "best", margin, 0.05)
    win, turned = norm.cdf(np.array([gap, -margin]) / (np.sqrt(2) * BETA))
    divergence = win * np.log(win / turned) + (
        xlog1py(1 - win, -win) - (1 - win) * np.log1p(-turned)
    )
    assert bound == pytest.approx(np.log(1 / 0.12) / divergence, rel=1e-4)


def test_equals_are_never_told_apart_without_a_margin() -> None:
    assert bound_matches(np.array([25.0, 25.0, 20.0]), "rank_all", 0.0, 0.05) == np.inf
    information = tell_apart(np.zeros(1), 0.0)
    assert information == pytest.approx(match_information(np.zeros(1)), rel=1e-3)


def test_more_is_needed_for_less_error_and_closer_agents() -> None:
    close = (SKILLS - 25) / 2
    assert bound_matches(SKILLS, "best", 0.0, 0.01) > bound_matches(SKILLS, "best", 0.0, 0.05)
    assert bound_matches(close, "best", 0.0, 0.05) > 3 * bound_matches(SKILLS, "best", 0.0, 0.05)


def test_an_answer_is_the_order_of_some_pairs() -> None:
    assert [ends.tolist() for ends in list_ordered(SKILLS, "best")] == [[1, 1, 1], [3, 0, 2]]
    assert len(list_ordered(SKILLS, "top_k")[0]) == 3
    assert len(list_ordered(SKILLS, "rank_all")[0]) == 6


def test_track_and_stop_plays_the_best_shares_and_leaves_nobody_behind() -> None:
    ledger = Ledger(WORLDS["gauss"](8, np.random.default_rng(3)), np.random.default_rng(1))
    planner = track_shares("best", 1.0)
    for _ in range(12):
        ledger.in_flight += planner(ledger, 8)
        ledger.finish_blocks(8)
    counts = ledger.count_pairs()
    ends = np.concatenate([counts.first, counts.second])
    times = np.tile(counts.n_first_wins + counts.n_draws + counts.n_second_wins, 2)
    n_met = np.bincount(ends, times, 8)
    # The root of 192 matches, less what was played before it was that many.
    assert n_met.min() >= 10
    assert n_met[ledger.world.truth.argmax()] > 1.5 * n_met.mean()


def test_it_is_a_plan_of_campaigns() -> None:
    task = plans.Task("best", "gauss", 6, 1.0, 4_000, plans.TRACKED, 1)
    held = campaign.hold_campaign(task, RULES["campaigns"])
    assert held.is_decided
