"""The benchmark of verdicts: its fields, its campaigns, its figures, in small."""

import json
import subprocess
from math import inf
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from arena.games.catalog.skill_game import GAME
from arena.pairing import registry as pairings
from arena.ratings.counts import count_results
from arena.ratings.settled import settle_ratings
from arena.verdicts.base import StopReason, Verdict
from arena.verdicts.beliefs import count_matches
from arena.verdicts.sprt import BLOCKS, SINGLES, Decision, EloModel, SequentialTest
from benchmarks import large_fields, verdicts
from benchmarks.campaigns import accuracy, durations, mistakes, real, sequential
from benchmarks.campaigns.hard import campaign
from benchmarks.campaigns.worlds import (
    IN_FLIGHT,
    WORLDS,
    Normal,
    Progress,
    Seed,
    plan_adaptively,
    plan_beforehand,
    watch_field,
)
from launcher.folders import ROOT
from matches.campaigns import judging
from matches.ledger.adaptive_pairing import AHEAD_OF_KNOWN

pytestmark = pytest.mark.no_cover


@pytest.mark.parametrize("name", WORLDS)
def test_the_better_agent_of_a_field_wins_more(name: str) -> None:
    rng = np.random.default_rng(1)
    world = WORLDS[name](10, rng)
    best, worst = int(world.truth.argmax()), int(world.truth.argmin())
    scores = world.play_matches(np.full(2_000, best), np.full(2_000, worst), rng)
    assert scores.mean() > 0
    assert world.find_lead(best, worst) > 0 == world.find_lead(worst, best)


def test_the_simulated_skill_game_is_the_real_one() -> None:
    levels = np.array([50.0, 45.0])
    rng, n = np.random.default_rng(2), 4_000
    simulated = Seed(levels).play_matches(np.zeros(n, np.int64), np.ones(n, np.int64), rng)
    real = []
    for game_seed in range(n):
        state = GAME.start(game_seed, opening_plies=0)
        state.apply(50)
        state.apply(45)
        real.append(state.returns()[0])
    for score in (-1, 0, 1):
        assert np.mean(simulated == score) == pytest.approx(
            np.mean(np.array(real) == score), abs=0.03
        )


def test_fields_are_planned_ahead_and_judged_as_by_control() -> None:
    assert pytest.approx(1 / (1 + AHEAD_OF_KNOWN)) == IN_FLIGHT
    assert campaign.LOOK_GROWTH == judging.GROWTH
    world = WORLDS["gauss"](10, np.random.default_rng(4))
    ledgers: list[Progress] = []
    ours = plan_adaptively(pairings.get_adaptive("order_information"), 1)

    def planner(ledger: Progress, n_blocks: int):  # type: ignore[no-untyped-def]
        ledgers.append(ledger)
        lineups = ours(ledger, n_blocks)
        shares.append(1 - ledger.n_known / max(1, ledger.n_planned + 2 * len(lineups)))
        return lineups

    shares: list[float] = []
    moments = list(watch_field(world, planner, budget=400, seed=1))
    assert shares[-5:] == pytest.approx([IN_FLIGHT] * 5, abs=0.01)
    assert moments[-1].counts.n_results == 400
    assert ledgers[-1].n_known == 400


def test_a_round_robin_plays_everybody_equally_often() -> None:
    world = WORLDS["gauss"](4, np.random.default_rng(4))
    planner = plan_beforehand("double_round_robin", 4, 240, 1)
    *_, last = watch_field(world, planner, budget=240, seed=1)
    assert last.counts.n_results == 240
    assert count_matches(last.counts, 4) == pytest.approx(120, abs=12)  # some pairs are in flight


WORLD = Normal(np.array([30.0, 29.5, 20.0]))


@pytest.mark.parametrize(
    ("question", "subjects", "allowed", "is_wrong"),
    [
        ("best", (0,), 0.0, False),
        ("best", (1,), 0.0, True),
        ("best", (1,), 1.0, False),
        ("top_k", (1, 0), 0.0, False),
        ("top_k", (1, 2), 1.0, True),
        ("rank_all", (0, 1, 2), 0.0, False),
        ("rank_all", (1, 0, 2), 0.0, True),
        ("rank_all", (1, 0, 2), 1.0, False),
        ("beats", (0, 1), 0.0, False),
        ("beats", (1, 0), 0.0, True),
    ],
)
def test_wrong_verdicts_are_told_by_the_truth(
    question: str, subjects: tuple[int, ...], allowed: float, is_wrong: bool
) -> None:
    verdict = Verdict("{} beats {}", subjects, 0.96, StopReason.DECIDED)
    assert mistakes.is_wrong(question, WORLD, verdict, allowed) is is_wrong


def test_a_denial_and_a_near_draw_are_told_by_the_truth_too() -> None:
    denied = Verdict("{} does not beat {}", (0, 1), 0.96, StopReason.DECIDED)
    near = Verdict("{} beats {} by 0", (0, 1), 0.96, StopReason.WITHIN_MARGIN)
    assert mistakes.is_wrong("beats", WORLD, denied, 0.0)
    assert not mistakes.is_wrong("beats", WORLD, near, 1.0)
    assert mistakes.is_wrong("beats", WORLD, near, 0.4)


def test_one_level_of_the_skill_game_is_more_than_any_margin() -> None:
    assert Seed(np.array([7.0, 6.0])).find_lead(0, 1) == inf


def test_the_lower_bound_is_clopper_pearsons() -> None:
    assert mistakes.find_lower_bound(0, 100) == 0.0
    assert mistakes.find_lower_bound(10, 100) == pytest.approx(0.0553, abs=1e-3)


def test_a_level_is_crossed_between_two_looks() -> None:
    curve = [(10.0, 0.8), (100.0, 0.9), (1_000.0, 1.0)]
    assert accuracy.find_crossing(curve, 0.95) == pytest.approx(316.2, abs=0.1)
    assert accuracy.find_crossing(curve, 0.7) == pytest.approx(10.0)
    assert accuracy.find_crossing(curve[:2], 0.95) is None


def test_a_field_is_followed_in_both_ways() -> None:
    followed = [
        accuracy.follow_field(accuracy.Task("seed", 8, 120, 300, seed)) for seed in range(2)
    ]
    rows = accuracy.make_rows("seed", 8, followed)
    assert [row["level"] for row in rows] == list(accuracy.LEVELS)
    assert followed[0].online[-1][0] == 300
    assert followed[0].ours[-1][0] == 120


def test_claims_are_counted_by_how_sure_they_are() -> None:
    settled = settle_ratings(count_results([(0, 1, 1)] * 20 + [(1, 2, 1)] * 20), 3)
    n, claimed, true = accuracy.count_claims(settled, np.array([2.0, 1.0, 1.0]))
    assert n.sum() == true.sum() == 2  # the equal pair claims nothing
    assert claimed[-1] / n[-1] > 0.95
    table = accuracy.add_claims([np.stack([n, claimed, true])] * accuracy.FEWEST)
    assert accuracy.find_largest_gap(table) == pytest.approx(100 * (1 - claimed[-1] / n[-1]))
    assert accuracy.find_largest_gap(accuracy.add_claims([])) is None
    ET.fromstring(accuracy.draw_reliability([("all", table)]))


def test_a_bias_of_openings_leaves_the_expected_score() -> None:
    rng = np.random.default_rng(5)
    for bias in (0.0, 2.0):
        openings = sequential.Openings(100.0, bias)
        assert openings.draw_singles((200, 500), rng).mean() / 2 == pytest.approx(0.640, abs=0.005)
        assert openings.draw_blocks((200, 500), rng).mean() / 4 == pytest.approx(0.640, abs=0.005)


def test_a_large_difference_is_accepted_soon_and_blocks_save_games() -> None:
    openings = sequential.Openings(200.0, 2.0)
    blocks, singles = (
        sequential.run_tests(SequentialTest(0, 100), openings, cells, 40, seed=1)
        for cells in (BLOCKS, SINGLES)
    )
    assert sum(decision is Decision.ACCEPT for decision, _ in blocks) >= 36
    assert sum(n for _, n in blocks) < sum(n for _, n in singles)


def test_a_test_without_an_end_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequential, "MAX_GAMES", 8)
    outcomes = sequential.run_tests(
        SequentialTest(0, 5), sequential.Openings(0.0, 0.0), BLOCKS, 3, seed=1
    )
    assert outcomes == [(Decision.CONTINUE, 8)] * 3


@pytest.mark.parametrize("order", [durations.FIFO, durations.LOCKSTEP])
def test_a_match_that_is_lost_ends_later(order: str) -> None:
    task = durations.Task("beats", 4.0, 8, order, 1, 1)
    played = durations.play_campaign(task, np.random.default_rng(1))
    assert len(played.ends) == durations.BUDGETS["beats"]
    late = np.diff(np.argsort(played.ends, kind="stable")) != 1
    assert late.any()
    *_, last = durations.look_at_matches(played, by_prefix=True)
    assert len(last) == len(played.ends)
    for look in durations.look_at_matches(played, by_prefix=True):
        assert look.tolist() == list(range(len(look)))
    first = next(durations.look_at_matches(played, by_prefix=False))
    assert played.score[first].tolist() == [1] * len(first) or 1 not in played.score


def test_slow_losses_mislead_who_looks_at_whatever_is_over() -> None:
    task = durations.Task("beats", 10.0, 64, durations.FIFO, 1, 1)
    rng, leads = np.random.default_rng(2), {True: 0.0, False: 0.0}
    for _ in range(40):
        played = durations.play_campaign(task, rng)
        for by_prefix in leads:
            looks = [
                look
                for look in durations.look_at_matches(played, by_prefix=by_prefix)
                if len(look) > 30
            ]
            leads[by_prefix] += float(played.score[looks[0]].mean()) / 40
    assert abs(leads[True]) < 0.1
    assert leads[False] > 0.3
    row = durations.make_row(durations.Task(durations.SPRT, 4.0, 8, durations.FIFO, 2, 1))
    assert row["share"] == 0.0


@pytest.mark.slow
def test_the_benchmark_writes_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verdicts, "FOLLOWED", (("seed", 6, 200, 60, 100),))
    monkeypatch.setattr(
        verdicts, "HELD", (verdicts.HeldCampaigns("best", "skill_game", 6, 1 / 5, 60),)
    )
    monkeypatch.setattr(verdicts, "TESTED", ((0, 200, 0.0, 1.0, EloModel.LOGISTIC),))
    monkeypatch.setattr(verdicts, "TIMED", {durations.SPRT: 1 / 10})
    monkeypatch.setattr(verdicts, "SLOTS", (8,))
    path, drawn = tmp_path / "figures.json", tmp_path / "figure.svg"
    options = ["--n", "20", "--processes", "1", "--json", str(path), "--figure", str(drawn)]
    simulated = [part for part in verdicts.PARTS if part not in ("large", "real")]
    options += [word for part in simulated for word in ("--part", part)]
    assert verdicts.main(options) == 0
    figures = json.loads(path.read_text())
    assert [row["level"] for row in figures["fields"]] == [0.9, 0.95, 0.99]
    assert {"question", "stated_error", "wrong", "n", "decided"} <= figures["campaigns"][0].keys()
    assert {"truth", "accepted", "n", "median_games"} <= figures["sprt"][0].keys()
    assert "calibration_max_gap" in figures
    assert drawn.read_text().startswith("<svg")
    assert "Sequential tests" in capsys.readouterr().out


def test_large_fields_are_a_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(large_fields, "measure", lambda: FAST)
    path = tmp_path / "figures.json"
    assert verdicts.main(["--part", "large", "--processes", "1", "--json", str(path)]) == 0
    assert json.loads(path.read_text())["large"] == [FAST]
    assert "next 1,000 matches chosen" in capsys.readouterr().out


FAST = {
    f"{step}_{unit}": 0.1
    for step in ("count", "refit_cold", "refit_warm", "choose", "choose_top", "top")
    for unit in ("s", "cpu_s")
}


@pytest.mark.slow
@pytest.mark.long
def test_real_fields_are_played_through_the_queue(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    command = ["bench", "verdicts", "--part", "real", "--n", "400", "--json", str(path)]
    subprocess.run([str(ROOT / "run"), *command], check=True, timeout=300)
    figures = json.loads(path.read_text())
    assert {row["name"] for row in figures["fields"]} == {one.name for one in real.FIELDS}
    assert [row["decided"] for row in figures["campaigns"]] == [1, 1, 1]
