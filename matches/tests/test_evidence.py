"""Campaigns know what other leaderboards of the game know: all that is comparable, and once."""

from random import Random
from typing import Any

import pytest
from redis import Redis

from arena.messages import Ending, MatchOrderRow, Reason, ResultRow
from matches.artifacts.agents import register_spelled_agent
from matches.campaigns import gates, judging, paired_blocks, texts
from matches.campaigns.gates import Bounds
from matches.campaigns.starting import choose_seed, start_campaign
from matches.ledger import planning, voiding
from matches.ledger.tournaments import schedule_tournament
from matches.models import Agent, Campaign, Leaderboard, Match, PairCount, Tournament
from matches.plans import CampaignPlan, TournamentPlan
from matches.ratings import rater, rerating
from matches.ratings.entrants import entrants_of, load_standing
from matches.ratings.evidence import gather_all_evidence
from matches.store.auditing import Actor
from matches.tests import boards, factories
from matches.tests.factories import later
from matches.tests.test_reuse import by_seed

pytestmark = pytest.mark.django_db(transaction=True)

N = 18
FIELD = tuple(f"level:{level}" for level in (10, 50, 90))


@pytest.fixture(autouse=True)
def _broker(valkey_url: str) -> None:
    Redis.from_url(valkey_url).flushall()


def board_of(name: str, **fields: object) -> Leaderboard:
    board, _ = Leaderboard.objects.get_or_create(
        name=name, defaults={"game": "skill_game", "game_version": "1", **fields}
    )
    return board


def play(board: Leaderboard, seed: int, result: boards.Play = by_seed) -> Tournament:
    """Play a tournament to its end, and rate."""
    agents = [register_spelled_agent(text, game=board.game) for text in FIELD]
    plan = TournamentPlan(name=f"seed {seed}", n_matches=N, seed=seed)
    tournament = schedule_tournament(plan, leaderboard=board, agents=agents)
    planning.plan_tournament(tournament, now=factories.NOW)
    boards.play_some(tournament, N, result)
    rater.rate(board.pk, now=later(seed + 1))
    return tournament


def ids() -> list[int]:
    return list(Agent.objects.order_by("pk").values_list("pk", flat=True))


def begin_campaign(board: Leaderboard, **plan: Any) -> Campaign:
    options = {"max_matches": 400, "error": 1e-6, **plan}
    agents = list(Agent.objects.order_by("pk"))
    campaign_plan = CampaignPlan(name="asked", question="best", **options)
    return start_campaign(campaign_plan, leaderboard=board, agents=agents)


def judged(campaign: Campaign, seconds: float = 500) -> Campaign:
    judging.judge_all(now=later(seconds))
    campaign.refresh_from_db()
    return campaign


@pytest.mark.parametrize("split", range(4))
def test_any_split_over_leaderboards_says_the_same_as_one(split: int) -> None:
    whole, parts = board_of("whole"), [board_of(f"part-{n}") for n in range(3)]
    seeds = range(1, 7)
    for seed in seeds:
        play(whole, seed)
    agents = ids()
    pairs = [[agents[place] for place in pair] for pair in ((0, 1), (1, 2), (2, 0))]
    digest = gather_all_evidence(whole, agents).counts.digest
    alone, blocks = (
        judged(begin_campaign(whole)),
        [paired_blocks.load_blocks(whole, *pair) for pair in pairs],
    )
    Leaderboard.objects.filter(pk=whole.pk).update(is_rated=False)
    rng = Random(split)
    for seed in seeds:
        play(rng.choice(parts), seed)
    assert gather_all_evidence(parts[0], agents).counts.digest == digest
    pooled = judged(begin_campaign(parts[0]))
    assert (pooled.n_known, pooled.n_judged) == (alone.n_known, alone.n_judged) == (6 * N, 6 * N)
    assert pooled.chances == alone.chances
    assert pooled.probability == alone.probability
    assert [paired_blocks.load_blocks(parts[0], *pair) for pair in pairs] == blocks


def test_a_campaign_says_how_much_is_known_from_elsewhere() -> None:
    play(board_of("one"), 1)
    play(board_of("two"), 2)
    campaign = begin_campaign(board_of("one"))
    assert (campaign.n_known, campaign.n_known_elsewhere) == (2 * N, N)
    campaign = begin_campaign(board_of("new"))
    assert (campaign.n_known, campaign.n_known_elsewhere) == (2 * N, 2 * N)


@pytest.mark.parametrize(
    "other",
    [{"game_parameters": {"duration_s": 0.5}}, {"opening_plies": 3}, {"is_rated": False}],
)
def test_what_is_not_comparable_is_not_known(other: dict[str, object]) -> None:
    play(board_of("other", **other), 1)
    assert gather_all_evidence(board_of("own"), ids()).known == (0, 0)


def test_the_same_parameters_spelled_out_are_comparable() -> None:
    play(board_of("other", game_parameters={"duration_s": 0.0}), 1)
    assert gather_all_evidence(board_of("own"), ids()).known == (N, N)


@pytest.mark.parametrize("odd", [{"rules_version": 2}, {"faults": {"error_rate": 0.1}}])
def test_other_rules_and_emulated_faults_are_not_comparable(odd: dict[str, object]) -> None:
    tournament = play(board_of("other"), 1)
    Tournament.objects.filter(pk=tournament.pk).update(**odd)
    assert gather_all_evidence(board_of("own"), ids()).known == (0, 0)
    assert gather_all_evidence(board_of("other"), ids()).known == (N, 0)


def test_a_loss_by_time_counts_on_its_own_leaderboard_only() -> None:
    board = board_of("one")

    def late(row: MatchOrderRow) -> ResultRow:
        if Match.objects.get(pk=row.match).sequence % 3:
            return by_seed(row)
        return factories.result(row, ending=Ending.FORFEIT, reason=Reason.TIMEOUT, seat=1)

    play(board, 1, late)
    agents = ids()
    n_late = Match.objects.filter(outcome__reason="timeout").count()
    assert n_late == N // 3
    assert gather_all_evidence(board, agents).known == (N, 0)
    assert gather_all_evidence(board_of("two"), agents).known == (N - n_late, N - n_late)
    rerating.rerate(board, now=later(99))
    assert gather_all_evidence(board_of("two"), agents).known == (N - n_late, N - n_late)
    assert PairCount.objects.filter(leaderboard=board, n_second_wins_limited=0).exists()
    on_own, elsewhere = (
        paired_blocks.load_blocks(of, *agents[:2]) for of in (board, board_of("two"))
    )
    assert len(elsewhere.outcomes) < len(on_own.outcomes)


def test_results_elsewhere_bring_the_next_judgement() -> None:
    play(board_of("one"), 1)
    campaign = judged(begin_campaign(board_of("new")), 100)
    assert campaign.n_judged == N
    Leaderboard.objects.filter(name="new").update(rated_at=later(50))
    judging.judge_all(now=later(101))
    play(board_of("two"), 2)
    rater.rate_all(now=later(200))
    Leaderboard.objects.filter(name="two").update(rated_at=later(200))
    assert judged(campaign, 201).n_judged == 2 * N


def test_what_is_struck_elsewhere_is_no_evidence_any_more() -> None:
    tournament = play(board_of("one"), 1)
    campaign = judged(begin_campaign(board_of("new")), 100)
    first = Match.objects.filter(tournament=tournament).order_by("pk")[0]
    voiding.void_matches([first.pk], actor=Actor("anna"), reason="a bad node", now=later(101))
    assert judging._gather_new_evidence(campaign, is_over=True, now=later(102)) is None, (
        "not before it is counted again"
    )
    assert judged(campaign, 102).n_judged == N
    rerating.rerate_due(now=later(103))
    assert judged(campaign, 104).n_judged == N - 1


def test_a_season_that_begins_elsewhere_takes_its_results_along() -> None:
    play(board_of("one"), 1)
    campaign = judged(begin_campaign(board_of("new")), 100)
    rater.start_over(Leaderboard.objects.get(name="one"), now=factories.NOW)
    assert gather_all_evidence(board_of("new"), ids()).known == (0, 0)
    assert campaign.decided_at is None


def test_fresh_seeds_are_fresh_on_all_leaderboards_of_the_game() -> None:
    play(board_of("one"), 1)
    play(board_of("two"), 7)
    assert choose_seed(board_of("one")) == choose_seed(board_of("new")) == 8


def test_a_campaign_pairs_by_all_that_is_known_and_a_plain_tournament_by_its_own() -> None:
    play(board_of("one"), 1)
    board = board_of("two")
    campaign, plain = begin_campaign(board), play(board, 2)
    agents = entrants_of(plain)
    assert load_standing(plain, agents).counts.n_results == N
    assert load_standing(campaign.tournament, agents).counts.n_results == 2 * N


def test_a_gate_starts_from_the_blocks_of_other_leaderboards() -> None:
    play(board_of("one"), 1)
    first, second = Agent.objects.order_by("pk")[:2]
    test = gates.enter_test(first, second, Bounds(0, 20), leaderboard="", max_matches=100)
    assert test.n_known == test.n_known_elsewhere == 6
    standing = gates.read_standing(test, n_reused=0)
    assert 2 * sum(standing.counts) == 6
    sentence = "6 matches, all of them from other leaderboards, were known before and not played"
    assert texts.describe_saved(standing.campaign) == sentence
    campaign = standing.campaign
    assert (campaign.n_known, campaign.n_known_elsewhere, campaign.tournament.n_known) == (6, 6, 0)
