"""How far beyond a field its first and its last may be, further than a normal one has them."""

from math import exp, log

import numpy as np
import pytest

from arena.ratings.base import BETA, MU, SIGMA, unit_draw_margin
from arena.ratings.counts import Floats, Ints, count_results
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.lineage import parent_prior
from arena.ratings.model_evidence import Candidate, choose_likely, weigh_mode
from arena.ratings.posterior import NO_LINKS, Objective, Prior, find_mode
from arena.ratings.settled import FittedTerms, settle_ratings
from arena.ratings.tail_doubt import list_scales

N_AGENTS = 10
SHOWN = FittedTerms(is_shown=True)


def play_rounds(gap: float, rng: np.random.Generator) -> Ints:
    """Return rounds of a close field of which agent 0 is that far above all others."""
    return play_field(
        np.where(np.arange(N_AGENTS) == 0, gap, 0.0) + rng.normal(0, 4, N_AGENTS), rng
    )


def play_field(skill: Floats, rng: np.random.Generator) -> Ints:
    pairs = [rng.permutation(N_AGENTS).reshape(-1, 2) for _ in range(40)]
    first, second = np.concatenate(pairs).T
    lead = skill[first] - skill[second] + BETA * np.sqrt(2) * rng.normal(size=len(first))
    return np.stack([first, second, np.sign(lead).astype(int)], axis=1)


def make_objective(results: Ints, prior: Prior = NO_LINKS) -> Objective:
    margin = unit_draw_margin(0.1)
    return Objective(
        PairLikelihood(count_results(results), N_AGENTS, margin=margin, weight=1.0), prior
    )


def test_who_always_wins_may_be_far_above_a_field_that_is_close() -> None:
    counts = count_results(play_rounds(60, np.random.default_rng(1)))
    settled = settle_ratings(counts, N_AGENTS, terms=SHOWN)
    low, high = settled.gap_ends(np.zeros(9, int), np.arange(1, 10))
    # By a normal spread of the whole field alone none ended above 38.
    assert (low > 5).all()
    assert (high > 40).all()
    assert settled.high[0] - settled.mu[0] > 2 * (settled.mu[0] - settled.low[0]) > 0
    # It moves the mean of the field, about which intervals are; not how far others are apart.
    apart = settled.gap_ends(np.array([1]), np.array([2]))
    assert float((apart[1] - apart[0])[0]) < 7


@pytest.mark.no_cover
def test_a_field_with_agents_far_from_all_others_lies_within_its_intervals() -> None:
    """By a normal spread alone they held 86 %, as nobody is where the far one moves the mean."""
    held = list[float]()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        skill = MU + SIGMA * rng.standard_t(2.5, N_AGENTS)
        settled = settle_ratings(count_results(play_field(skill, rng)), N_AGENTS, terms=SHOWN)
        truth = skill - skill.mean() + settled.mu.mean()
        held.append(float(np.mean((settled.low < truth) & (truth < settled.high))))
    assert np.mean(held) > 0.92


def test_who_lost_as_well_or_drew_with_the_next_is_of_the_spread_of_the_field() -> None:
    objective = make_objective(play_rounds(6, np.random.default_rng(2)))
    assert find_scales(objective) == [[1.0] * N_AGENTS]
    chain = [(i, i + 1, kind) for i in range(N_AGENTS - 1) for kind in (1, *[0] * 90, -1)]
    ends = [(0, 1, 1), (8, 9, 1)] + [(0, 1, 0), (8, 9, 0)] * 90
    drawn = make_objective(np.array([*chain[92:-92], *ends]))
    assert find_scales(drawn) == [[1.0] * N_AGENTS]


def test_scales_of_who_always_wins_are_as_likely_as_all_together_beforehand() -> None:
    objective = make_objective(play_rounds(60, np.random.default_rng(3)))
    posterior = find_mode(objective, 1.4, np.zeros(N_AGENTS))
    thought = list_scales(objective, posterior)
    assert [one.of_agents[0] for one in thought] == [1, 3, 9]
    assert all((one.of_agents[1:] == 1).all() for one in thought)
    assert sum(exp(one.log_share) for one in thought) == pytest.approx(1)
    # Far above all others it is likelier to be of another spread than theirs.
    narrow, wide = (
        weigh_mode(one, find_mode(one, 0.7, posterior.z))
        for one in map(objective.with_scales, thought[:2])
    )
    assert wide > narrow


def test_equals_at_an_end_are_told_the_same_and_a_mirrored_field_the_mirror_image() -> None:
    """The one that was registered first had the whole tail, and P(A > B) + P(B > A) was 0.8."""
    below = [(i, j, kind) for i in range(2, 8) for j in range(i + 1, 8) for kind in (1, -1)]
    rows = [(top, other, 1) for top in (0, 1) for other in range(2, 8) for _ in range(4)] + below
    settled = settle_ratings(count_results(rows), 8, terms=SHOWN)
    assert settled.high[0] == pytest.approx(settled.high[1], rel=1e-6)
    assert settled.high[0] - settled.mu[0] > 20
    above = settled.superiorities()
    np.testing.assert_allclose(above + above.T, np.ones((8, 8)))
    assert above[0, 1] == pytest.approx(0.5)
    mirrored = settle_ratings(count_results([(j, i, kind) for i, j, kind in rows]), 8, terms=SHOWN)
    np.testing.assert_allclose(mirrored.high - MU, MU - settled.low, rtol=1e-6)
    # One more win of one of them says little of how far either may be.
    more = settle_ratings(count_results([*rows, (1, 2, 1)]), 8, terms=SHOWN)
    assert more.superiority(1, 0) < 0.55
    assert more.high[0] == pytest.approx(more.high[1], rel=0.05)


def test_equally_likely_stories_stay_or_go_together() -> None:
    settled = settle_ratings(count_results([(0, 1, 1), (0, 2, 1), (1, 2, 1)]), 3, terms=SHOWN)
    assert settled.high[0] - MU == pytest.approx(MU - settled.low[2], rel=1e-6)
    objective = make_objective(play_rounds(6, np.random.default_rng(2)))
    posterior = find_mode(objective, 1.4, np.zeros(N_AGENTS))
    # One of the mirror images alone would be little enough to leave out, but not both.
    mirrored, rare = log(0.004), log(0.0005)
    evidence = (mirrored, 0.0, rare, mirrored * (1 + 1e-12))
    kept, shares = choose_likely([Candidate(objective, posterior, one) for one in evidence])
    assert [one.evidence for one in kept] == [evidence[0], evidence[1], evidence[3]]
    assert shares.sum() == pytest.approx(1)


def test_who_only_drew_is_at_neither_end() -> None:
    """It was at both, and its scales at one of them were told as those at the other."""
    ranked = [(i, j, 1) for i in range(N_AGENTS - 1) for j in range(i + 1, N_AGENTS - 1)]
    scales = find_scales(make_objective(np.array([*ranked, (4, N_AGENTS - 1, 0)])))
    assert {one[-1] for one in scales} == {1.0}
    assert {one[0] for one in scales} == {one[-2] for one in scales} == {1.0, 3.0, 9.0}
    assert len(scales) == 6


def test_where_many_never_lost_the_spread_says_as_much() -> None:
    results = np.array([(top, top + 5, 1) for top in range(5)] * 2)
    objective = make_objective(results)
    assert find_scales(objective) == [[1.0] * N_AGENTS]


def test_who_has_not_played_is_not_as_far_away_as_who_always_wins() -> None:
    counts = count_results(play_rounds(60, np.random.default_rng(1)))
    settled = settle_ratings(counts, N_AGENTS + 1, terms=SHOWN)
    assert 1.96 * settled.spread < settled.high[-1] - MU < settled.high[0] - MU
    assert settled.superiority(0, N_AGENTS) > 0.75


def test_scales_are_of_agents_without_a_parent_and_of_three_or_more() -> None:
    results = play_rounds(60, np.random.default_rng(3))
    parents = np.where(np.arange(N_AGENTS) == 0, 1, -1)
    objective = make_objective(results, parent_prior(parents, np.arange(N_AGENTS)))
    assert find_scales(objective) == [[1.0] * N_AGENTS]
    counts, margin = count_results([(0, 1, 1)] * 5), unit_draw_margin(0.1)
    two = Objective(PairLikelihood(counts, 2, margin=margin, weight=1.0))
    assert find_scales(two) == [[1.0, 1.0]]


def find_scales(objective: Objective) -> list[list[float]]:
    posterior = find_mode(objective, 1.4, np.zeros(objective.n_agents))
    return [one.of_agents.tolist() for one in list_scales(objective, posterior)]
