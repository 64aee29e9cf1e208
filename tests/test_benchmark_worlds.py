"""The worlds that are not the rating model's: what is played in them is what they say."""

import json
from math import inf
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from arena.verdicts.base import StopReason, Terms, Verdict
from benchmarks import verdicts
from benchmarks.campaigns import mistakes, plans
from benchmarks.campaigns.hard import campaign, coverage
from benchmarks.campaigns.hard.base import SESSION, HeadToHead
from benchmarks.campaigns.hard.blocks import PlayedBlocks, count_games
from benchmarks.campaigns.hard.catalog import CLUSTER_GAP, HARD_WORLDS, draw_gauss
from benchmarks.campaigns.hard.dependent import MOST_MATCHES, Drifting
from benchmarks.campaigns.hard.fits import FITS, Estimate
from benchmarks.campaigns.hard.ledger import BlockLedger
from benchmarks.campaigns.hard.probit import Probit
from benchmarks.campaigns.hard.rules import RULES, is_refused
from benchmarks.campaigns.hard.seats import Seats
from benchmarks.campaigns.hard.skill_levels import SkillLevels

pytestmark = pytest.mark.no_cover

REFUSED = Verdict("{} does not fit", (0,), 0.5, cast(StopReason, "misfit"))
BOLD = Verdict("{} is the best", (0,), 0.99, StopReason.DECIDED)


# Of each class of worlds one.
OF_EACH_KIND = ("gauss", "openings_4", "same_winner", "drift", "seed_runs")


def make_task(world: str, question: str = "best", seed: int = 1) -> plans.Task:
    return plans.Task(question, world, 6, 1.0, 100, plans.CHOSEN, seed)


def refuse(blocks: PlayedBlocks, n_agents: int, question: str, terms: Terms) -> Verdict | None:
    return REFUSED if blocks.n_matches > 40 else None


def name_the_first(
    blocks: PlayedBlocks, n_agents: int, question: str, terms: Terms
) -> Verdict | None:
    return BOLD


@pytest.mark.parametrize("name", HARD_WORLDS)
def test_agents_get_the_points_that_are_expected_of_them(name: str) -> None:
    world, n = cast(HeadToHead, campaign.make_world(name, 6, 3)), 4_000
    rng, time = np.random.default_rng(1), np.linspace(0, MOST_MATCHES, n)
    for one, other in ((0, 1), (2, 3), (4, 5)):
        pair = np.full(n, one), np.full(n, other)
        points = (world.play_blocks(*pair, time, rng).mean() + 1) / 2
        # What neighbouring blocks share leaves fewer independent ones.
        assert points == pytest.approx(world.expect_points(*pair, time).mean(), abs=0.04)


@pytest.mark.parametrize("name", HARD_WORLDS)
def test_one_agent_leads_by_what_the_other_is_behind(name: str) -> None:
    world = cast(HeadToHead, campaign.make_world(name, 8, 2))
    one, other = np.triu_indices(8, 1)
    points = world.expect_points(one, other, 120.0)
    assert points + world.expect_points(other, one, 120.0) == pytest.approx(1)
    for i, j, expected in zip(one.tolist(), other.tolist(), points.tolist(), strict=True):
        leads = world.find_lead(i, j, 120.0), world.find_lead(j, i, 120.0)
        assert min(leads) == 0
        assert (leads[0] > 0) == (expected > 0.5 + 1e-9)


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_the_same_seed_plays_the_same_campaign(name: str) -> None:
    once, again = (campaign.hold_campaign(make_task(name), RULES["campaigns"]) for _ in range(2))
    assert once._replace(seconds=0) == again._replace(seconds=0)


def test_who_always_refuses_is_never_wrong() -> None:
    held = campaign.hold_campaign(make_task("intransitive"), refuse)
    assert (held.is_wrong, held.is_refused, held.is_decided) == (False, True, False)
    assert 40 < held.n_matches < 60


def test_a_bold_rule_is_as_often_wrong_as_it_guesses() -> None:
    held = [
        campaign.hold_campaign(make_task("gauss", seed=seed), name_the_first) for seed in range(60)
    ]
    assert sum(one.is_wrong for one in held) / 60 == pytest.approx(5 / 6, abs=0.15)
    row = campaign.make_row("guess", {plans.CHOSEN: held, plans.EVEN: held[:2]})
    assert row["decided"] == row["n"] == 60
    assert (row["round_robin"], row["track_and_stop"]) == (held[0].n_matches, None)
    assert cast(float, row["bound"]) > 1
    assert cast(float, row["lower"]) < 5 / 6 < cast(float, row["upper"])


def test_no_verdict_within_the_budget_is_not_wrong() -> None:
    held = campaign.hold_campaign(make_task("close", "rank_all"), lambda *_: None)
    assert (held.verdict, held.is_wrong, held.n_matches) == (None, False, 100)


def test_reasons_that_are_not_known_are_refusals() -> None:
    assert is_refused(REFUSED)
    assert not is_refused(BOLD)


def test_a_lead_is_that_of_the_model_in_its_own_world() -> None:
    world = Probit(np.array([30.0, 28.0]))
    assert world.find_lead(0, 1, 0.0) == pytest.approx(2.0)
    assert Probit(np.array([500.0, 0.0])).find_lead(0, 1, 0.0) == inf


def test_skills_drift_between_sessions_only() -> None:
    world = Drifting.draw(np.array([25.0, 25.0]), 2.0, np.random.default_rng(1))
    pair = np.array([0]), np.array([1])
    gaps = [float(world.find_gaps(*pair, time)[0]) for time in (0.0, SESSION - 1.0, SESSION)]
    assert gaps[0] == gaps[1] == 0 != gaps[2]


def test_a_block_repeats_where_agents_are_deterministic() -> None:
    world = campaign.make_world("openings_1", 4, 1)
    pair = np.zeros(50, np.int64), np.ones(50, np.int64)
    scores = world.play_blocks(*pair, 0.0, np.random.default_rng(1))
    assert (scores == scores[0]).all()
    # Seats swapped, it is the same two games.
    swapped = world.play_blocks(pair[1], pair[0], 0.0, np.random.default_rng(1))
    assert swapped[0].tolist() == (-scores[0, ::-1]).tolist()


def test_the_exploiter_beats_one_agent() -> None:
    world = cast(Probit, campaign.make_world("exploiter", 10, 4))
    weakest = int(world.truth.argmin())
    beaten = [other for other in range(10) if world.find_lead(weakest, other, 0.0) > 0]
    assert len(beaten) == 1


def test_no_order_is_wrong_where_there_is_one_or_a_pair_is_told_the_wrong_way_round() -> None:
    world = cast(Probit, campaign.make_world("exploiter", 10, 4))
    order = tuple(np.argsort(-world.truth).tolist())
    weakest = order[-1]
    victim = next(other for other in order if world.find_lead(weakest, other, 0.0) > 0)
    task = make_task("exploiter", "rank_all")

    def is_wrong(ranked: tuple[int, ...], *upsets: tuple[int, int]) -> bool:
        verdict = Verdict("", ranked, 0.99, StopReason.NO_ORDER, upsets=upsets)
        return mistakes.is_wrong_at(task, mistakes.Moment(world, 0.0), verdict)

    assert not is_wrong(order, (weakest, victim))
    assert is_wrong(order, (weakest, order[1 if victim == order[0] else 0]), (weakest, victim))
    assert is_wrong(order[::-1], (weakest, victim))
    assert mistakes.has_order("rank_all", mistakes.Moment(world, 0.0), 100.0)


def test_two_best_agents_of_the_equal_field_are_equal() -> None:
    truth = cast(Probit, campaign.make_world("equal", 6, 3)).truth
    assert np.sum(truth == truth.max()) == 2


def test_the_skill_game_has_levels_that_win_more_than_by_any_margin() -> None:
    world = SkillLevels(np.array([50, 49, 49]))
    assert world.find_lead(0, 1, 0.0) > 3
    assert world.find_lead(1, 2, 0.0) == world.find_lead(2, 1, 0.0) == 0


def test_less_error_takes_longer() -> None:
    task = make_task("gauss")._replace(budget=4_000)
    loose, strict = (
        campaign.hold_campaign(task._replace(error=error), RULES["campaigns"])
        for error in (0.05, 0.001)
    )
    assert loose.is_decided
    assert strict.is_decided
    assert loose.n_matches < strict.n_matches


def test_clusters_are_far_apart() -> None:
    truth = np.sort(cast(Probit, campaign.make_world("clusters", 10, 1)).truth)
    assert truth[5:].mean() - truth[:5].mean() == pytest.approx(CLUSTER_GAP, rel=0.2)


def test_what_is_judged_is_a_prefix_of_the_plan_and_slow_losses_hold_it_up() -> None:
    world = Probit(np.array([25.0, 25.0]), slowness=np.array([10.0, 1.0]))
    ledger = BlockLedger(world, np.random.default_rng(1))
    ledger.plan([(0, 1)] * 60)
    ledger.close(20)
    blocks = ledger.list_closed()
    assert blocks.n_matches == ledger.n_known == 40
    assert blocks.scores.tolist() == ledger.scores[:20].tolist()
    # Of those behind, what is over is what the slow agent has won.
    is_over = ledger.ends[20:] <= ledger.clock
    assert is_over.any()
    assert ledger.scores[20:][is_over].mean() > ledger.scores[20:][~is_over].mean()


def test_games_are_counted_by_who_sits_first() -> None:
    table = np.array([[0, 1], [1, 0]]), np.array([[1, -1], [0, 1]])
    counts = count_games(PlayedBlocks(table[0][0], table[0][1], table[1], np.zeros(2, np.int64)))
    rows = zip(
        counts.first,
        counts.second,
        counts.n_first_wins,
        counts.n_draws,
        counts.n_second_wins,
        strict=True,
    )
    # 0 first: it wins game 0 of the first block and loses game 1 of the second.
    assert [tuple(map(int, row)) for row in rows] == [(0, 1, 1, 0, 1), (1, 0, 1, 1, 0)]


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("name", ["gauss", "free_for_all", "teams"])
def test_a_good_fit_covers_the_truth(name: str, fit: str) -> None:
    measured = [coverage.measure_named(coverage.Task(name, fit, seed)) for seed in range(20)]
    row = coverage.make_row(name, fit, measured)
    assert cast(float, row["coverage"]) > 85
    assert row["claimed"] == pytest.approx(row["true"], abs=8)


def test_who_knows_nothing_covers_everything_and_claims_a_half() -> None:
    row = coverage.make_row(
        "gauss", "none", [coverage.measure_coverage(coverage.FIELDS["gauss"], know_nothing, seed=1)]
    )
    assert (row["coverage"], row["gaps"], row["claimed"]) == (100, 100, 50)


def know_nothing(results: object, n_agents: int) -> Estimate:
    one, half = np.full(n_agents, 25.0), np.full((n_agents, n_agents), 0.5)
    return Estimate(one, one - 1e3, one + 1e3, half, lambda i, j: (one[i] - 1e3, one[j] + 1e3))


def test_team_mates_share_a_rank() -> None:
    seats = Seats(draw_gauss(10, np.random.default_rng(1)), team_size=2)
    ranks = seats.play_matches(8, np.random.default_rng(2)).ranks
    assert ranks.shape == (20, 4)
    assert (ranks[:, 0] == ranks[:, 1]).all()
    assert (ranks[:, 0] != ranks[:, 2]).all()


@pytest.mark.long
def test_the_part_writes_its_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "TEN", verdicts.HardField(10, {"best": 60}))
    path = tmp_path / "figures.json"
    options = ["--part", "worlds", "--worlds", "forfeits", "--worlds", "six_each"]
    options += ["--n", "24", "--first-seed", "7", "--processes", "1", "--json", str(path)]
    assert verdicts.main(options) == 0
    figures = json.loads(path.read_text())
    assert [row["world"] for row in figures["worlds"]] == ["forfeits"]
    assert figures["worlds"][0]["n"] == 24
    assert [row["world"] for row in figures["coverage"]] == ["six_each"]
