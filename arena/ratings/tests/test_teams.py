"""Matches of teams: live as the package rates them, settled by the exact likelihood."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
import trueskill
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr

from arena.ratings import information_matrix
from arena.ratings.base import (
    BETA,
    DEFAULT,
    MU,
    SIGMA,
    Constants,
    DrawWithoutDrawProbabilityError,
    RatingError,
    SelfPlayError,
    UnknownAgentError,
    unit_draw_margin,
)
from arena.ratings.counts import Floats, count_results
from arena.ratings.live import fold_matches, update_ranked
from arena.ratings.posterior import TeamObjective, find_mode
from arena.ratings.samples import Sampler
from arena.ratings.settled import FittedTerms, settle_ratings
from arena.ratings.skewed_posterior import propagate
from arena.ratings.teamcounts import TeamCounts, split_sides
from arena.ratings.teamlikelihood import TeamLikelihood
from arena.ratings.tests.simulated import count_teams

TWO, THREE = (0, 1, 0, 1), (0, 1, 2, 2, 1, 0)
MARGIN = unit_draw_margin(0.1)
Played = tuple[tuple[int, ...], tuple[int, ...]]
sides = st.lists(st.tuples(st.floats(-20, 70), st.floats(0.1, 10)), min_size=4, max_size=4)


def simulated(
    n_agents: int, n_matches: int, seed: int, teams: Sequence[int] = TWO
) -> tuple[Floats, list[Played]]:
    """Return skills and matches of line-ups at random, under the model itself."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(MU, SIGMA, n_agents)
    played: list[Played] = []
    for _ in range(n_matches):
        lineup = rng.choice(n_agents, len(teams), replace=False)
        performances = skill[lineup] + rng.normal(0, BETA, len(teams))
        size = teams.count(0)
        total = [performances[np.array(teams) == team].sum() for team in range(len(teams) // size)]
        margin = MARGIN * np.sqrt(2 * size) * BETA
        ranks = [size * sum(o > mine + margin for o in total) for mine in total]
        played.append((tuple(lineup.tolist()), tuple(ranks[team] for team in teams)))
    return skill, played


# Live


@pytest.mark.parametrize("teams", [TWO, (0, 0, 1, 1), THREE])
def test_it_agrees_with_the_package_to_1e_9(teams: tuple[int, ...]) -> None:
    model = trueskill.TrueSkill(tau=0.0, backend="mpmath")
    rng, size = Random(7), teams.count(0)
    # Of three and more that drew, the package's iterations end at 1e-4, by the order given.
    for ranks in ([0, 1, 2], [1, 0, 2]) if teams == THREE else ([0, 1], [0, 0]):
        ratings = [(rng.gauss(MU, SIGMA), rng.uniform(0.5, SIGMA)) for _ in teams]
        groups = [
            tuple(
                model.create_rating(*rating)
                for rating, its in zip(ratings, teams, strict=True)
                if its == team
            )
            for team in range(len(teams) // size)
        ]
        theirs = [list(group) for group in model.rate(groups, ranks)]
        ours = update_ranked(ratings, [size * ranks[team] for team in teams], teams=teams)
        for team, rating in zip(teams, ours, strict=True):
            expected = theirs[team].pop(0)
            assert rating == pytest.approx((expected.mu, expected.sigma), abs=1e-8)


@given(sides, st.sampled_from([(0, 2), (0, 0), (2, 0)]))
def test_seats_of_mates_and_of_teams_do_not_change_a_bit(
    ratings: list[tuple[float, float]], ranks: tuple[int, int]
) -> None:
    a, b, c, d = update_ranked(ratings, [ranks[team] for team in TWO], teams=TWO)
    one, two, three, four = ratings
    turned = [four, three, two, one]
    there = update_ranked(turned, [ranks[team] for team in (1, 0, 1, 0)], teams=(1, 0, 1, 0))
    assert there == [d, c, b, a]


def test_equal_mates_and_equal_sides_share_alike() -> None:
    won = update_ranked([(MU, SIGMA)] * 4, [0, 2, 0, 2], teams=TWO)
    assert won[0] == won[2]
    assert won[1] == won[3]
    assert won[0][0] > MU > won[1][0]
    drew = update_ranked([(MU, SIGMA)] * 4, [0] * 4, teams=TWO)
    assert len(set(drew)) == 1


def test_a_draw_of_teams_is_refused_where_there_are_none() -> None:
    without = Constants(draw_probability=0)
    assert update_ranked([(MU, SIGMA)] * 4, [0, 2, 0, 2], without, TWO)[0][0] > MU
    with pytest.raises(DrawWithoutDrawProbabilityError):
        update_ranked([(MU, SIGMA)] * 4, [0] * 4, without, TWO)


def test_folding_in_parts_gives_the_same_bits() -> None:
    _, played = simulated(8, 60, 1)
    whole, parts = ([MU] * 8, [SIGMA] * 8), ([MU] * 8, [SIGMA] * 8)
    fold_matches(*whole, played, DEFAULT, TWO)
    fold_matches(*parts, played[:23], DEFAULT, TWO)
    fold_matches(*parts, played[23:], DEFAULT, TWO)
    assert whole == parts


# Counts


def test_team_mates_never_are_a_pair() -> None:
    assert split_sides((4, 1, 3, 2), (0, 2, 0, 2), TWO) == [((1, 2), (3, 4), 2)]


def test_every_two_of_three_teams_are_a_result() -> None:
    results = split_sides((5, 4, 3, 2, 1, 0), (0, 2, 2, 2, 2, 0), THREE)
    assert results == [((0, 5), (1, 4), 0), ((0, 5), (2, 3), 0), ((1, 4), (2, 3), 1)]


def test_the_same_set_gives_the_same_bytes_whoever_sat_where() -> None:
    _, played = simulated(6, 80, 2)
    counts = count_teams(played, TWO)
    rng = Random(3)
    turned = [(lineup[1:] + lineup[:1], ranks[1:] + ranks[:1]) for lineup, ranks in played]
    for some in (rng.sample(played, len(played)), rng.sample(turned, len(turned))):
        again = count_teams(some, TWO)
        assert again.digest == counts.digest
        assert settle_ratings(again, 6).mu.tobytes() == settle_ratings(counts, 6).mu.tobytes()
    assert counts.n_results == 80
    assert count_teams(played[:-1], TWO).digest != counts.digest


def test_a_row_that_never_occurred_is_left_out() -> None:
    rows = [((3, 0), (1, 2), (0, 0, 0)), ((4, 2), (3, 0), (1, 2, 3))]
    counts = TeamCounts.from_rows(rows, 2)
    assert counts.first.tolist() == [[0, 3]]
    assert counts.times.tolist() == [[3, 2, 1]]
    assert counts.agents.tolist() == [0, 2, 3, 4]
    assert counts.reindex(counts.agents).members.tolist() == [[0, 2, 1, 3]]
    assert (counts.size, counts.has_draws) == (2, True)


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        ([((0, 1), (1, 2), (1, 0, 0))], SelfPlayError, "agent 1 is named twice"),
        ([((0, -1), (1, 2), (1, 0, 0))], RatingError, "agents must be 0"),
        ([((0, 3), (1, 2), (1, -1, 0))], RatingError, "times must be 0"),
        ([((0, 3, 4), (1, 2), (1, 0, 0))], RatingError, "every side must have 2 agents"),
    ],
)
def test_counts_that_cannot_be_are_refused(
    rows: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]],
    error: type[RatingError],
    words: str,
) -> None:
    with pytest.raises(error, match=words):
        TeamCounts.from_rows(rows, 2)


def test_columns_that_do_not_fit_are_refused() -> None:
    side = np.array([[0, 1]])
    with pytest.raises(RatingError, match=r"must be ints \[m, s\]"):
        TeamCounts(side, side + 2, np.array([[1, 0]]))


@pytest.mark.parametrize(
    ("ranks", "words"), [((0, 1, 2, 3), "must share a rank"), ((0, 1), "need a rank each")]
)
def test_ranks_that_are_not_of_teams_are_refused(ranks: tuple[int, ...], words: str) -> None:
    with pytest.raises(RatingError, match=words):
        split_sides((0, 1, 2, 3), ranks, TWO)
    with pytest.raises(RatingError, match="rank"):
        update_ranked([(MU, SIGMA)] * 4, ranks, teams=TWO)


# Settled


def _by_hand(played: list[Played], z: Floats) -> float:
    """Return the log-likelihood of matches of two against two, match by match."""
    total = 0.0
    for (a, b, c, d), ranks in played:
        lead = (z[a] + z[c] - z[b] - z[d]) / np.sqrt(2)
        if ranks[0] == ranks[1]:
            total += np.log(ndtr(MARGIN - lead) - ndtr(-MARGIN - lead))
        else:
            total += log_ndtr((lead if ranks[0] == 0 else -lead) - MARGIN)
    return float(total)


def test_the_likelihood_is_that_of_every_match_and_its_slopes_are_right() -> None:
    _, played = simulated(6, 60, 4)
    counts = count_teams(played, TWO)
    assert counts.has_draws
    likelihood = TeamLikelihood(counts, 6, margin=MARGIN, weight=1.0)
    z, h = np.random.default_rng(0).normal(0, 0.7, 6), 1e-5
    point = likelihood.at(z)
    assert point.value == pytest.approx(_by_hand(played, z), rel=1e-12)
    slopes = [
        (_by_hand(played, z + step) - _by_hand(played, z - step)) / (2 * h)
        for step in np.eye(6) * h
    ]
    assert point.gradient == pytest.approx(slopes, abs=1e-6)
    curvature = np.array(
        [
            (likelihood.at(z - step).gradient - likelihood.at(z + step).gradient) / (2 * h)
            for step in np.eye(6) * h
        ]
    )
    design = likelihood.design.toarray()
    assert design.T @ (point.curvature[:, None] * design) == pytest.approx(curvature, abs=1e-6)


def test_sides_of_one_agent_are_rated_as_pairs_are() -> None:
    rows = [((0,), (1,), (7, 2, 3)), ((1,), (2,), (4, 0, 4)), ((0,), (2,), (1, 1, 1))]
    alone = settle_ratings(TeamCounts.from_rows(rows, 1), 3)
    pairs = [(a, b, s) for (a,), (b,), n in rows for s, k in zip((1, 0, -1), n, strict=True)
             for _ in range(k)]  # fmt: skip
    assert alone.mu == pytest.approx(settle_ratings(count_results(pairs), 3).mu, abs=1e-8)
    assert alone.sd == pytest.approx(settle_ratings(count_results(pairs), 3).sd, abs=1e-8)


@pytest.mark.parametrize("teams", [TWO, THREE])
def test_planted_skills_are_found(teams: tuple[int, ...]) -> None:
    skill, played = simulated(12, 1_500, 5, teams)
    n_others = max(teams)
    settled = settle_ratings(count_teams(played, teams), 12, weight=1 / n_others)
    apart = (settled.mu - settled.mu.mean()) - (skill - skill.mean())
    assert np.corrcoef(settled.mu, skill)[0, 1] > 0.99
    assert np.abs(apart / settled.sd).max() < 3.5
    assert np.mean((apart / settled.sd) ** 2) == pytest.approx(1, abs=0.8)


def test_a_child_without_results_is_as_strong_as_its_parent() -> None:
    _, played = simulated(6, 200, 6)
    settled = settle_ratings(count_teams(played, TWO), 7, parents=[-1] * 6 + [0])
    assert settled.mu[6] == pytest.approx(settled.mu[0], abs=1e-6)
    assert settled.sd[6] > settled.sd[0]


def test_a_large_field_has_the_same_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    _, played = simulated(60, 3_000, 7)
    counts, parents = count_teams(played, TWO), [-1] * 59 + [0]
    dense = settle_ratings(counts, 60, parents=parents)
    monkeypatch.setattr(information_matrix, "DENSE_LIMIT", 50)
    sparse = settle_ratings(counts, 60, parents=parents)
    assert sparse.covariance is None
    # The spread of a large field rests on samples.
    assert sparse.mu == pytest.approx(dense.mu, abs=0.15)
    assert sparse.sd == pytest.approx(dense.sd, rel=0.15)
    assert sparse.mu.tobytes() == settle_ratings(counts, 60, parents=parents).mu.tobytes()


def test_samples_of_a_large_field_vary_as_its_covariance_says() -> None:
    _, played = simulated(8, 400, 8)
    counts = count_teams(played, TWO)
    settled = settle_ratings(counts, 8)
    sampler = Sampler.of_field(counts, settled.mu, None, settled.spread, draw_probability=0.1)
    drawn = sampler.draw(np.random.default_rng(1), 4_000)
    assert drawn.mean(axis=0) == pytest.approx(settled.mu, abs=0.5)
    assert np.cov(drawn.T) == pytest.approx(settled.covariance, abs=0.12 * SIGMA**2)


def test_the_mode_has_no_slope() -> None:
    counts = count_teams(simulated(6, 50, 9)[1], TWO)
    objective = TeamObjective(TeamLikelihood(counts, 6, margin=MARGIN, weight=1.0))
    mode = find_mode(objective, 1.4, np.zeros(6))
    assert objective.at(mode.z, 1.4).gradient == pytest.approx(np.zeros(6), abs=1e-8)


def test_what_teams_do_not_have_is_refused() -> None:
    counts = count_teams(simulated(6, 30, 11)[1], TWO)
    with pytest.raises(RatingError, match="teams have no first seat"):
        settle_ratings(counts, 6, terms=FittedTerms(seat=True))
    objective = TeamObjective(TeamLikelihood(counts, 6, margin=MARGIN, weight=1.0))
    with pytest.raises(RatingError, match="weight must be one number for results of teams"):
        settle_ratings(counts, 6, weight=np.ones((6, 6)))
    with pytest.raises(TypeError, match="only results of pairs"):
        propagate(objective, find_mode(objective, 1.0, np.zeros(6)))
    with pytest.raises(UnknownAgentError):
        settle_ratings(counts, 4)
    with pytest.raises(DrawWithoutDrawProbabilityError):
        settle_ratings(
            TeamCounts.from_rows([((0, 1), (2, 3), (0, 1, 0))], 2), 4, draw_probability=0
        )
