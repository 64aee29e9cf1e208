"""Games of three seats: rated, paired by what is known and asked who is best, from end to end."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from redis import Redis

from arena.messages import MatchOrderRow, ResultRow
from arena.ratings.base import Constants
from arena.ratings.live import fold_matches
from arena.verdicts.beliefs import Belief
from arena.verdicts.forecast import forecast_matches, prior_belief
from matches.artifacts.agents import register_spelled_agent
from matches.campaigns import forecasting, judging
from matches.campaigns.belief import estimate_dispersion, infer_belief
from matches.campaigns.starting import start_campaign
from matches.ledger import planning
from matches.ledger.tournaments import open_leaderboard
from matches.models import Agent, Campaign, Match, Outcome, PairCount, Rating, Tournament
from matches.models.match import parse_numbers
from matches.plans import CampaignPlan
from matches.ratings import entrants, fitting, rater, rerating
from matches.ratings.evidence import gather_all_evidence
from matches.ratings.fitting import PAIR_COUNTERS
from matches.store.auditing import Actor
from matches.tests import boards, factories
from matches.tests.factories import later

pytestmark = pytest.mark.django_db
N_AGENTS, N_SEATS = 6, 3


def _agents() -> list[Agent]:
    copies = range(N_AGENTS)
    return [register_spelled_agent("random", game="kuhn_poker_3", copy=copy + 1) for copy in copies]


def _by_place(agents: list[Agent], seed: int = 1) -> boards.Play:
    """Return results in which later entrants place better, more or less."""
    rng, place = Random(seed), {agent.pk: n for n, agent in enumerate(agents)}

    def play(row: MatchOrderRow) -> ResultRow:
        lineup = Match.objects.get(pk=row.match).agent_ids
        strengths = [place[agent] * 1.5 + rng.gauss(0, 2) for agent in lineup]
        return factories.result(row, ranks=[sum(o > mine for o in strengths) for mine in strengths])

    return play


def _campaign(question: str, **parameters: object) -> tuple[Campaign, list[Agent]]:
    agents, board = _agents(), open_leaderboard("kuhn", game="kuhn_poker_3")
    plan = CampaignPlan(
        name="who",
        question=question,
        max_matches=600,
        error=0.05,
        pairing="order_information",
        parameters=parameters,
    )
    return start_campaign(plan, leaderboard=board, agents=agents), agents


def _ended(campaign: Campaign, play: boards.Play) -> Campaign:
    tournament = campaign.tournament
    for step in range(60):
        planning.plan_scheduled(now=later(9 * step))
        if Match.objects.filter(Match.is_open()).exists():
            boards.play_some(tournament, 10_000, play, now=later(9 * step))
        rater.rate(tournament.leaderboard_id, now=later(9 * step + 5))
        judging.judge_all(now=later(9 * step + 6))
        campaign.refresh_from_db()
        if campaign.decided_at is not None:
            return campaign
    raise AssertionError(f"never ended: {campaign.n_judged} judged")


def _pairs() -> int:
    return sum(sum(row) for row in PairCount.objects.values_list(*PAIR_COUNTERS))


def test_a_campaign_finds_the_best_of_a_game_of_three_seats(broker: Redis) -> None:
    campaign, agents = _campaign("best")
    _ended(campaign, _by_place(agents))
    assert (campaign.why, campaign.subjects[0]) == ("decided", agents[-1].pk)
    assert sum(campaign.chances) == pytest.approx(1)
    assert campaign.chances[-1] >= 0.95
    n_done = Outcome.objects.count()
    assert campaign.n_played == n_done < 600
    assert _pairs() == 3 * n_done


def test_its_ratings_are_those_of_the_outcomes_and_of_a_second_look(broker: Redis) -> None:
    campaign, agents = _campaign("rank_all")
    _ended(campaign, _by_place(agents))
    board = Tournament.objects.get().leaderboard
    rater.rate(board.pk, now=later(10_000))
    index = {agent.pk: n for n, agent in enumerate(agents)}
    mus, sigmas = [25.0] * N_AGENTS, [25 / 3] * N_AGENTS
    outcomes = Outcome.objects.order_by("match__sequence").values_list("match__lineup", "ranks")
    played = [
        ([index[pk] for pk in parse_numbers(lineup)], parse_numbers(ranks))
        for lineup, ranks in outcomes
    ]
    fold_matches(mus, sigmas, played, Constants(draw_probability=board.draw_probability))
    ratings = Rating.objects.order_by("agent_id")
    assert list(ratings.values_list("live_mu", flat=True)) == mus
    assert [r.agent_id for r in ratings.order_by("mu")] == [agent.pk for agent in agents]
    rerating.request_rerating(board, actor=Actor("anna"), reason="sure", now=later(10_000))
    difference = rerating.rerate(board, now=later(10_001))
    assert difference is not None
    assert difference.is_none


def test_every_block_has_all_rotations_and_nobody_plays_itself(broker: Redis) -> None:
    _campaign("best")
    planning.plan_scheduled(now=factories.NOW)
    lineups = [match.agent_ids for match in Match.objects.order_by("sequence")]
    assert all(len(set(lineup)) == N_SEATS for lineup in lineups)
    for begin in range(0, len(lineups) - N_SEATS + 1, N_SEATS):
        block = lineups[begin : begin + N_SEATS]
        assert len({tuple(sorted(lineup)) for lineup in block}) == 1
        assert len({lineup[0] for lineup in block}) == N_SEATS


def test_a_match_of_three_is_worth_one_and_a_half_of_two(broker: Redis) -> None:
    campaign, _ = _campaign("best")
    forecast = forecasting.forecast_rest(campaign, prior_belief(N_AGENTS), now=factories.NOW)
    request = replace(forecasting.Asked.by(campaign, N_AGENTS), worth=1.0)
    alone = forecast_matches(
        prior_belief(N_AGENTS),
        request.question,
        request.terms,
        limit=forecasting.LIMIT,
        seed=request.seed,
    )
    assert forecast["matches"] == pytest.approx(alone.matches / 1.5)
    assert forecast["round_robin"] == pytest.approx(alone.round_robin / 1.5)


def test_what_takes_longer_than_is_foreseen_is_so_many_matches_of_three_too(
    broker: Redis,
) -> None:
    # It said about 670,000: a million results.
    campaign, _ = _campaign("best")
    campaign.error, n = 1e-300, N_AGENTS
    equal = Belief(np.full(n, 25.0), np.eye(n) * 1e-12, np.full(n, 1e-6), np.full(n, 2_000_000_000))
    forecast = forecasting.forecast_rest(campaign, equal, now=factories.NOW)
    assert forecast["matches"] == forecast["high"] == forecasting.LIMIT
    assert forecast["decided"] == 0
    assert forecasting.count_round_robin(campaign, equal) == forecasting.LIMIT


def test_blocks_that_repeat_a_game_hold_less_evidence(broker: Redis) -> None:
    agents = _agents()
    place = {agent.pk: n for n, agent in enumerate(agents)}

    def play(row: MatchOrderRow) -> ResultRow:
        """Let each agent do in all games of a block what it does in one; losers share a rank."""
        lineup = Match.objects.get(pk=row.match).agent_ids
        strengths = [
            place[agent] + Random(f"{row.game_seed} {sorted(lineup)} {agent}").gauss(0, 2)
            for agent in lineup
        ]
        return factories.result(row, ranks=[int(mine < max(strengths)) for mine in strengths])

    tournament = factories.planned(300, agents=agents, game="kuhn_poker_3")
    boards.play_some(tournament, 300, play)
    rater.rate(tournament.leaderboard_id, now=later(1))
    board, entered = tournament.leaderboard, entrants.entrants_of(tournament)
    evidence, settled = gather_all_evidence(board, entered), fitting.fit_ratings(board, entered)
    # Three games are one, but few of all blocks of a seed are played: about three.
    assert 1.7 < estimate_dispersion(evidence, settled) < 4
    assert infer_belief(evidence).sd.mean() > 1.2 * settled.sd.mean()
