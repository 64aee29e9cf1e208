"""A game of two against two: rated by sides, paired, asked who is best, from end to end."""

from collections import Counter
from random import Random

import pytest
from redis import Redis
from scipy.special import ndtr

from arena.messages import Ending, MatchOrderRow, Reason, ResultRow
from arena.ratings.base import BETA, Constants, unit_draw_margin
from arena.ratings.live import fold_matches
from arena.ratings.settled import FittedTerms, settle_ratings
from arena.ratings.tests.simulated import count_teams
from arena.teams import group_by_team
from matches.artifacts.agents import register_spelled_agent
from matches.campaigns import judging
from matches.campaigns.belief import estimate_dispersion, infer_belief
from matches.campaigns.starting import start_campaign
from matches.errors import BadInputError
from matches.ledger import planning, voiding
from matches.ledger.tournaments import open_leaderboard
from matches.models import (
    Agent,
    Campaign,
    Match,
    Outcome,
    PairCount,
    Rating,
    TeamCount,
    Tournament,
)
from matches.models.match import parse_numbers
from matches.plans import CampaignPlan
from matches.ratings import comparisons, entrants, fitting, rater, rerating, transitivity
from matches.ratings.evidence import gather_all_evidence
from matches.ratings.fitting import PAIR_COUNTERS
from matches.store.auditing import Actor
from matches.tests import boards, factories
from matches.tests.factories import later

pytestmark = pytest.mark.django_db
N_AGENTS = 6
TEAMS = (0, 1, 0, 1)
ANNA = Actor("anna")


def _agents() -> list[Agent]:
    copies = range(N_AGENTS)
    return [register_spelled_agent("random", game="tiny_bridge", copy=copy + 1) for copy in copies]


def _by_sum(agents: list[Agent], seed: int = 1) -> boards.Play:
    """Return results in which the side of the later entrants wins, more or less."""
    rng, place = Random(seed), {agent.pk: n for n, agent in enumerate(agents)}

    def play(row: MatchOrderRow) -> ResultRow:
        sides = group_by_team(TEAMS, [place[agent] for agent in _lineup(row)])
        lead = sum(sides[0]) - sum(sides[1]) + rng.gauss(0, 2)
        ranks = (0, 0) if abs(lead) < 0.2 else (2 * int(lead < 0), 2 * int(lead > 0))
        return factories.result(row, ranks=[ranks[team] for team in TEAMS])

    return play


def _lineup(row: MatchOrderRow) -> list[int]:
    return Match.objects.get(pk=row.match).agent_ids


def _campaign(question: str, n_matches: int = 800) -> tuple[Campaign, list[Agent]]:
    agents, board = _agents(), open_leaderboard("bridge", game="tiny_bridge")
    plan = CampaignPlan(
        name="who",
        question=question,
        max_matches=n_matches,
        error=0.05,
        pairing="order_information",
    )
    return start_campaign(plan, leaderboard=board, agents=agents), agents


def _ended(campaign: Campaign, play: boards.Play) -> Campaign:
    tournament = campaign.tournament
    for step in range(80):
        planning.plan_scheduled(now=later(9 * step))
        if Match.objects.filter(Match.is_open()).exists():
            boards.play_some(tournament, 10_000, play, now=later(9 * step))
        rater.rate(tournament.leaderboard_id, now=later(9 * step + 5))
        judging.judge_all(now=later(9 * step + 6))
        campaign.refresh_from_db()
        if campaign.decided_at is not None:
            return campaign
    raise AssertionError(f"never ended: {campaign.n_judged} judged")


def _played() -> list[tuple[list[int], list[int]]]:
    """Return who sat where and the ranks of all matches that count, in planned order."""
    done = Match.objects.filter(state=Match.State.DONE).order_by("sequence")
    rows = done.values_list("lineup", "outcome__ranks")
    return [(parse_numbers(lineup), parse_numbers(ranks)) for lineup, ranks in rows]


def _counted() -> list[object]:
    pairs = PairCount.objects.order_by("first", "second")
    sides = TeamCount.objects.order_by("first_side", "second_side")
    ratings = Rating.objects.order_by("agent_id")
    return [
        list(pairs.values_list("first", "second", *PAIR_COUNTERS)),
        list(sides.values_list("lead", "first_side", "second_side", *PAIR_COUNTERS)),
        list(ratings.values_list("agent_id", "mu", "sd", "live_mu", *rater.COUNTERS)),
    ]


def _rated_anew() -> rerating.Difference:
    board = Tournament.objects.get().leaderboard
    rerating.request_rerating(board, actor=ANNA, reason="sure", now=later(10_000))
    difference = rerating.rerate(board, now=later(10_001))
    assert difference is not None
    return difference


def test_a_campaign_finds_the_best_of_a_game_of_teams(broker: Redis) -> None:
    campaign, agents = _campaign("best")
    _ended(campaign, _by_sum(agents))
    assert (campaign.why, campaign.subjects) == ("decided", [agents[-1].pk])
    assert sum(campaign.chances) == pytest.approx(1)
    n_done = Outcome.objects.count()
    assert campaign.n_played == campaign.n_judged == n_done < 800
    n_sides = sum(sum(row) for row in TeamCount.objects.values_list(*PAIR_COUNTERS))
    n_pairs = sum(sum(row) for row in PairCount.objects.values_list(*PAIR_COUNTERS))
    assert (n_sides, n_pairs) == (n_done, 4 * n_done)


def test_its_ratings_are_those_of_the_outcomes_and_of_a_second_look(broker: Redis) -> None:
    campaign, agents = _campaign("rank_all")
    _ended(campaign, _by_sum(agents))
    board = Tournament.objects.get().leaderboard
    rater.rate(board.pk, now=later(10_000))
    index = {agent.pk: n for n, agent in enumerate(agents)}
    played = [([index[pk] for pk in lineup], ranks) for lineup, ranks in _played()]
    settled = settle_ratings(count_teams(played, TEAMS), N_AGENTS, terms=FittedTerms(draws=True))
    mus, sigmas = [25.0] * N_AGENTS, [25 / 3] * N_AGENTS
    fold_matches(mus, sigmas, played, Constants(), TEAMS)
    ratings = Rating.objects.order_by("agent_id")
    assert list(ratings.values_list("live_mu", "live_sigma")) == list(zip(mus, sigmas, strict=True))
    assert list(ratings.values_list("mu", flat=True)) == settled.mu.tolist()
    assert [rating.agent_id for rating in ratings.order_by("mu")] == list(index)
    assert _rated_anew().is_none


def test_team_mates_are_never_a_pair(broker: Redis) -> None:
    tournament = factories.planned(40, agents=_agents()[:4], game="tiny_bridge")
    boards.play_some(tournament, 4, _by_sum(list(tournament.agents.order_by("pk"))))
    rater.rate(tournament.leaderboard_id, now=later(1))
    sides = {frozenset(map(frozenset, group_by_team(TEAMS, lineup))) for lineup, _ in _played()}
    assert len(sides) == 1, "the matches of a block have the same sides"
    first = next(iter(next(iter(sides))))
    met = list(PairCount.objects.values_list("first", "second"))
    assert len(met) == 8
    assert all((one in first) != (two in first) for one, two in met)
    assert Rating.objects.filter(n_matches=4).count() == 4
    ratings = Rating.objects.values_list("n_wins", "n_draws", "n_losses")
    assert all(sum(counts) == 4 for counts in ratings)


def test_a_side_that_wins_alone_has_won_and_not_drawn(broker: Redis) -> None:
    tournament = factories.planned(4, agents=_agents()[:4], game="tiny_bridge")
    boards.play_some(tournament, 1, lambda row: factories.result(row, ranks=[0, 2, 0, 2]))
    boards.play_some(tournament, 1, lambda row: factories.result(row, ranks=[0, 0, 0, 0]))
    rater.rate(tournament.leaderboard_id, now=later(1))
    counts = list(Rating.objects.values_list("n_wins", "n_draws", "n_losses"))
    assert sorted(counts) == [(0, 1, 1), (0, 1, 1), (1, 1, 0), (1, 1, 0)]


def test_team_mates_of_different_ranks_are_refused(broker: Redis) -> None:
    tournament = factories.planned(4, agents=_agents()[:4], game="tiny_bridge")
    boards.play_some(tournament, 1, lambda row: factories.result(row, ranks=[0, 1, 2, 3]))
    assert not Outcome.objects.exists()


def test_who_forfeits_loses_with_its_mate(broker: Redis) -> None:
    tournament = factories.planned(4, agents=_agents()[:4], game="tiny_bridge")
    boards.play_some(
        tournament,
        1,
        lambda row: factories.result(row, ending=Ending.FORFEIT, reason=Reason.CRASH, seat=1),
    )
    assert Outcome.objects.get().ranks == "0,2,0,2"


def test_the_order_of_arrival_does_not_change_a_bit_and_a_void_match_counts_no_more(
    broker: Redis,
) -> None:
    tournament = factories.planned(60, agents=_agents(), game="tiny_bridge")
    play = _by_sum(list(tournament.agents.order_by("pk")))
    for n in range(6):
        boards.play_some(tournament, 10, play)
        rater.rate(tournament.leaderboard_id, now=later(n))
    before = _counted()
    assert _rated_anew().is_none
    assert _counted() == before
    struck = Match.objects.filter(state=Match.State.DONE).order_by("sequence")[7].pk
    voiding.void_matches([struck], actor=ANNA, reason="a test", now=later(20))
    board = tournament.leaderboard
    assert rerating.rerate(board, now=later(21)) is not None
    agents = list(Rating.objects.order_by("agent_id").values_list("agent_id", flat=True))
    index = {agent: n for n, agent in enumerate(agents)}
    played = [([index[pk] for pk in lineup], ranks) for lineup, ranks in _played()]
    counts = count_teams(played, TEAMS)
    assert fitting.load_sides(board, agents).digest == counts.digest
    assert counts.n_results == 59
    assert list(Rating.objects.order_by("agent_id").values_list("mu", flat=True)) == (
        settle_ratings(counts, N_AGENTS, terms=FittedTerms(draws=True)).mu.tolist()
    )


def test_partners_are_drawn_anew_for_every_block_and_seats_are_rotated(broker: Redis) -> None:
    factories.planned(400, agents=_agents()[:4], game="tiny_bridge")
    lineups = [match.agent_ids for match in Match.objects.order_by("sequence")]
    sides = [frozenset(map(frozenset, group_by_team(TEAMS, lineup))) for lineup in lineups]
    for begin in range(0, len(lineups), 4):
        block = lineups[begin : begin + 4]
        assert len({lineup[0] for lineup in block}) == 4
        assert len(set(sides[begin : begin + 4])) == 1
    partnerships = Counter(sides)
    assert len(partnerships) == 3
    assert all(n == pytest.approx(400 / 3, abs=60) for n in partnerships.values())


def test_a_tournament_that_is_planned_again_has_the_same_partners(broker: Redis) -> None:
    tournament = factories.scheduled(40, agents=_agents(), game="tiny_bridge")
    planned = [list(planning.draw_matches(tournament, N_AGENTS)) for _ in range(2)]
    assert planned[0] == planned[1]


def test_points_are_those_against_opponents() -> None:
    assert entrants.score_seats("0,2,0,2", TEAMS) == [1, 0, 1, 0]
    assert entrants.score_seats("0,0,0,0", TEAMS) == [0.5] * 4
    assert entrants.score_seats("0,1,2") == [1, 0.5, 0]


def test_a_sequential_test_refuses_a_game_of_teams() -> None:
    agents, board = _agents()[:2], open_leaderboard("bridge", game="tiny_bridge")
    with pytest.raises(BadInputError, match="a game of two seats, got 2 agents and 4 seats"):
        start_campaign(
            CampaignPlan(name="who", question="sprt", max_matches=100),
            leaderboard=board,
            agents=agents,
        )


def test_blocks_that_repeat_a_game_hold_less_evidence(broker: Redis) -> None:
    tournament = factories.planned(400, agents=_agents(), game="tiny_bridge")
    coin = Random(1)
    winners: dict[tuple[int, frozenset[int]], bool] = {}

    def play(row: MatchOrderRow) -> ResultRow:
        """Let the deal of a block decide, whoever holds it."""
        first, second = (frozenset(side) for side in group_by_team(TEAMS, _lineup(row)))
        wins = winners.setdefault((row.game_seed, first), coin.random() < 0.5)
        winners[row.game_seed, second] = not wins
        return factories.result(row, ranks=[2 * (wins == (team == 1)) for team in TEAMS])

    boards.play_some(tournament, 400, play)
    rater.rate(tournament.leaderboard_id, now=later(1))
    board, agents = tournament.leaderboard, entrants.entrants_of(tournament)
    evidence = gather_all_evidence(board, agents)
    settled = fitting.fit_ratings(board, agents)
    factor = estimate_dispersion(evidence, settled)
    assert factor == pytest.approx(4, abs=0.8)
    belief = infer_belief(evidence)
    assert belief.sd.mean() > 1.2 * settled.sd.mean()
    assert belief.n_matches.sum() == pytest.approx(4 * 400, abs=N_AGENTS)


def test_two_opponents_are_compared_with_mates_that_are_equal() -> None:
    board = open_leaderboard("bridge", game="tiny_bridge")
    first, second = (Rating(leaderboard=board, mu=mu, sd=1.0) for mu in (29.0, 25.0))
    expected = comparisons.compare_agents(first, second).expected
    gap = 4 / (2 * BETA)
    assert expected.win == pytest.approx(float(ndtr(gap - unit_draw_margin(0.1))))
    assert expected.win + expected.draw + expected.loss == pytest.approx(1)


def test_a_team_board_has_no_verdict_on_cycles(broker: Redis) -> None:
    tournament = factories.planned(40, agents=_agents(), game="tiny_bridge")
    boards.play_some(tournament, 40, _by_sum(list(tournament.agents.order_by("pk"))))
    rater.rate(tournament.leaderboard_id, now=later(1))
    board = tournament.leaderboard
    board.refresh_from_db()
    assert transitivity.examine_board(board) is None
