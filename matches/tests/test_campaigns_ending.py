"""Campaigns whose world changes: struck results, budgets, pauses, faults, others on the board."""

from datetime import timedelta
from random import Random

import numpy as np
import pytest
from redis import Redis

from arena.messages import MatchOrderRow, ResultRow
from arena.verdicts.beliefs import form_belief
from matches.artifacts.agents import register_spelled_agent
from matches.campaigns import judging
from matches.campaigns.belief import infer_belief
from matches.campaigns.starting import start_campaign
from matches.errors import ConflictError
from matches.ledger import costs, planning, quarantine, voiding
from matches.ledger.tournaments import extend_tournament, pause_tournament, resume_tournament
from matches.models import Campaign, CampaignPoint, Leaderboard, Match, Tournament
from matches.operations import explain
from matches.plans import CampaignPlan
from matches.ratings import rater, rerating
from matches.ratings.entrants import entrants_of
from matches.ratings.evidence import gather_all_evidence
from matches.ratings.fitting import fit_ratings
from matches.store.auditing import Actor
from matches.tests import boards, factories
from matches.tests.factories import later
from matches.tests.test_campaigns import campaign_of, ended, go_on

pytestmark = pytest.mark.django_db(transaction=True)

ANNA = Actor("anna")


@pytest.fixture(autouse=True)
def _broker(valkey_url: str) -> None:
    Redis.from_url(valkey_url).flushall()


def again(campaign: Campaign) -> Campaign:
    """Return the campaign as it stands."""
    return Campaign.objects.select_related("tournament__leaderboard").get(pk=campaign.pk)


def test_struck_results_are_no_evidence_and_it_is_judged_without_them() -> None:
    campaign = campaign_of(error=1e-9)
    go_on(campaign, 0, boards.by_strength(forfeits=0))
    played = list(Match.objects.filter(tournament=campaign.tournament).values_list("pk", flat=True))
    voiding.void_matches(played[:6], actor=ANNA, reason="a wrong clock", now=later(5))
    Campaign.objects.update(n_judged=0)
    assert not judging.judge_campaign(again(campaign), now=later(6))
    assert again(campaign).n_judged == 0  # the counts still hold what was struck
    Campaign.objects.update(n_judged=16)
    rerating.rerate_due(now=later(7))
    judging.judge_all(now=later(8))
    assert again(campaign).n_judged == 10
    assert CampaignPoint.objects.filter(campaign=campaign, n_results=10).exists()


def test_a_verdict_without_the_end_of_its_tournament_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    campaign = campaign_of()

    def killed(*_args: object, **_options: object) -> int:
        raise SystemExit("killed")

    with monkeypatch.context() as broken:
        broken.setattr(judging, "conclude_tournament", killed)
        with pytest.raises(SystemExit):
            ended(campaign)
    row = again(campaign)
    assert (row.decided_at, row.statement) == (None, "")
    assert row.tournament.state == Tournament.State.PLANNING
    judging.judge_all(now=later(900))
    Campaign.objects.update(n_judged=0)
    judging.judge_all(now=later(901))
    assert again(campaign).statement == "level:95 is the best"
    assert again(campaign).tournament.state == Tournament.State.DONE


def test_extending_the_tournament_raises_the_budget() -> None:
    campaign = campaign_of(error=1e-9, max_matches=32)
    extend_tournament(campaign.tournament, 64)
    assert ended(again(campaign)).n_played == 64


def test_a_campaign_with_its_verdict_is_not_extended() -> None:
    campaign = ended(campaign_of())
    with pytest.raises(ConflictError, match="has ended: start a new one, which begins from all"):
        extend_tournament(campaign.tournament, 10_000)


def test_a_paused_one_waits_and_goes_on() -> None:
    campaign = campaign_of()
    pause_tournament(campaign.tournament)
    go_on(campaign, 0, boards.by_strength(forfeits=0))
    explanation = explain.of_campaign(again(campaign), now=later(1))
    assert (explanation.state, explanation.waits_for) == ("paused", ("somebody to resume it",))
    resume_tournament(campaign.tournament, now=later(2))
    assert ended(again(campaign)).why == "decided"


def test_an_agent_in_quarantine_is_named_as_what_it_waits_for() -> None:
    campaign = campaign_of(error=1e-9)
    planning.plan_scheduled(now=later(0))
    agent = campaign.tournament.agents.get(name="level:95")
    quarantine.quarantine_agent(agent, actor=ANNA, reason="it hangs", now=later(1))
    explanation = explain.of_campaign(again(campaign), now=later(2))
    assert any(
        "level:95 to be released: in quarantine, it hangs" in w for w in explanation.waits_for
    )


def test_without_any_result_nothing_is_said() -> None:
    campaign = campaign_of(max_matches=16)
    planning.plan_scheduled(now=later(0))
    Match.objects.filter(tournament=campaign.tournament).update(state=Match.State.VOID)
    Tournament.objects.filter(pk=campaign.tournament_id).update(
        n_void=16, state=Tournament.State.DONE, finished_at=later(1)
    )
    judging.judge_all(now=later(2))
    row = again(campaign)
    assert (row.why, row.subjects, row.probability) == ("no_results", [], None)
    assert row.statement == "no match has a result: nothing can be said"


def test_two_at_once_on_one_board_share_what_is_found_out() -> None:
    first = campaign_of()
    agents = list(first.tournament.agents.order_by("entrant__position"))
    plan = CampaignPlan(name="other", question="top_k", max_matches=400, parameters={"k": 2})
    second = start_campaign(plan, leaderboard=first.tournament.leaderboard, agents=agents)
    assert first.tournament.seed != second.tournament.seed
    play = boards.by_strength(forfeits=0)
    for step in range(60):
        for campaign in (first, second):
            boards_left = Match.objects.filter(Match.is_open(), tournament=campaign.tournament)
            planning.plan_scheduled(now=later(2.0 * step))
            if boards_left.exists():
                boards.play_some(campaign.tournament, 10_000, play, now=later(2.0 * step))
        rater.rate(first.tournament.leaderboard_id, now=later(2.0 * step + 1))
        judging.judge_all(now=later(2.0 * step + 1))
        if not Campaign.objects.filter(decided_at=None).exists():
            break
    assert again(first).statement == "level:95 is the best"
    assert again(second).statement == "level:95 and level:60 are the best 2"
    results = again(first).n_played + again(second).n_played  # type: ignore[operator]
    assert max(again(first).n_judged, again(second).n_judged) <= results


def test_what_is_in_flight_beyond_a_limit_is_cancelled_at_once() -> None:
    campaign = campaign_of(error=1e-9, max_core_s=0.1)
    planning.plan_scheduled(now=later(0))
    boards.play_some(campaign.tournament, 8, boards.by_strength(forfeits=0), now=later(1))
    assert not judging.judge_campaign(again(campaign), now=later(2))  # not rated yet, but stopped
    assert again(campaign).tournament.n_cancelled == 8
    assert not Match.objects.filter(Match.is_open()).exists()
    rater.rate(campaign.tournament.leaderboard_id, now=later(3))
    judging.judge_all(now=later(3))
    row = again(campaign)
    assert (row.why, row.n_judged, row.n_played) == ("out_of_budget: core_seconds", 8, 8)
    assert row.tournament.played_s == pytest.approx(0.16)


def test_no_more_is_in_flight_than_the_budget_pays_for() -> None:
    campaign = campaign_of(error=1e-9, max_core_s=0.5)  # 0.02 s a match
    play = boards.by_strength(forfeits=0)
    go_on(campaign, 0, play)
    assert costs.count_affordable_matches(again(campaign), now=later(2)) == 9
    planning.plan_scheduled(now=later(2))
    assert Match.objects.filter(Match.is_open()).count() <= 10
    ended(again(campaign))
    assert again(campaign).tournament.played_s <= 0.5 + 2 * 0.02


def test_nothing_is_played_before_what_is_known_was_judged() -> None:
    first = ended(campaign_of())
    board = Leaderboard.objects.get()
    agents = list(first.tournament.agents.order_by("entrant__position"))
    second = start_campaign(
        CampaignPlan(name="again", question="best", max_matches=400),
        leaderboard=board,
        agents=agents,
    )
    third = start_campaign(
        CampaignPlan(name="more", question="best", max_matches=400, error=1e-9),
        leaderboard=board,
        agents=agents,
    )
    planning.plan_scheduled(now=later(300))
    assert not Match.objects.filter(Match.is_open()).exists()
    judging.judge_all(now=later(301))
    assert (again(second).statement, again(second).n_played) == ("level:95 is the best", 0)
    planning.plan_scheduled(now=later(302))
    assert Match.objects.filter(Match.is_open(), tournament=third.tournament).exists()


def test_a_newcomer_to_a_known_field_is_judged_as_soon_as_it_has_played() -> None:
    tournament = factories.scheduled(600, agents=("level:5", "level:40", "level:60"))
    planning.plan_scheduled(now=later(0))
    boards.play_some(tournament, 10_000, boards.by_strength(forfeits=0), now=later(1))
    rater.rate(tournament.leaderboard_id, now=later(2))
    board = Leaderboard.objects.get()
    agents = [
        *tournament.agents.order_by("pk"),
        register_spelled_agent("level:95", game="skill_game"),
    ]
    campaign = start_campaign(
        CampaignPlan(name="new", question="best", max_matches=2_000),
        leaderboard=board,
        agents=agents,
    )
    judging.judge_all(now=later(3))
    row = ended(again(campaign))
    assert row.n_known == 600
    assert row.n_played is not None
    # It meets each of the three, as what they did against each other tells little of those leads.
    assert row.n_played <= 180


def test_what_was_known_and_is_void_holds_nothing_up() -> None:
    first = ended(campaign_of())
    agents = list(first.tournament.agents.order_by("entrant__position"))
    plan = CampaignPlan(name="again", question="best", max_matches=400)
    second = start_campaign(plan, leaderboard=Leaderboard.objects.get(), agents=agents)
    played = list(Match.objects.filter(state="done").values_list("pk", flat=True))
    voiding.void_matches(played, actor=ANNA, reason="a wrong clock", now=later(300))
    rerating.rerate_due(now=later(301))
    judging.judge_all(now=later(302))
    planning.plan_scheduled(now=later(303))
    assert Match.objects.filter(Match.is_open(), tournament=second.tournament).exists()


def test_many_campaigns_are_judged_in_turn() -> None:
    campaigns = [campaign_of(name=f"campaign {n}", error=1e-9) for n in range(3)]
    for campaign in campaigns:
        planning.plan_scheduled(now=later(0))
        boards.play_some(campaign.tournament, 16, boards.by_strength(forfeits=0), now=later(0))
        rater.rate(campaign.tournament.leaderboard_id, now=later(1))
    n_judged = []
    for second in range(3):
        judging.judge_all(now=later(2 + second), limit_s=0)
        n_judged.append(Campaign.objects.filter(judged_at__isnull=False).count())
    assert n_judged == [1, 2, 3]


def test_all_campaigns_together_forecast_once_in_a_while() -> None:
    campaign = campaign_of(error=1e-9)
    go_on(campaign, 0, boards.by_strength(forfeits=0))
    first = again(campaign).forecast_at
    assert first is not None
    go_on(campaign, 6, boards.by_strength(forfeits=0))
    assert again(campaign).forecast_at != first
    second = again(campaign).forecast_at
    Campaign.objects.filter(pk=campaign.pk).update(n_judged=0)
    judging.judge_campaign(again(campaign), now=later(30), forecast_every=timedelta(seconds=60))
    assert again(campaign).forecast_at == second


def test_of_many_agents_forecasts_are_rarer(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = campaign_of(error=1e-9)
    monkeypatch.setattr(judging, "FEW_AGENTS", campaign.tournament.agents.count() / 6)
    go_on(campaign, 0, boards.by_strength(forfeits=0))
    first = again(campaign).forecast_at
    go_on(campaign, 20, boards.by_strength(forfeits=0))
    assert again(campaign).forecast_at == first
    go_on(campaign, 40, boards.by_strength(forfeits=0))
    assert again(campaign).forecast_at != first


def test_blocks_whose_games_repeat_each_other_are_less_evidence() -> None:
    agents = [register_spelled_agent(f"level:{level}", game="skill_game") for level in (40, 60)]
    tournament = factories.planned(200, agents=agents, pairing="double_round_robin")
    rng, winner = Random(1), dict[int, int]()

    def play(row: MatchOrderRow) -> ResultRow:
        match = Match.objects.get(pk=row.match)
        won = winner.setdefault(match.block, rng.choice(match.agent_ids))
        return factories.result(row, ranks=[int(agent != won) for agent in match.agent_ids])

    boards.play_some(tournament, 10_000, play, now=later(0))
    rater.rate(tournament.leaderboard_id, now=later(1))
    board, ids = Leaderboard.objects.get(), entrants_of(tournament)
    evidence = gather_all_evidence(board, ids)
    alone, belief = fit_ratings(board, ids, evidence.counts), infer_belief(evidence)
    first, second = np.array([0]), np.array([1])
    plain = form_belief(alone, evidence.counts).variances(first, second)
    assert belief.variances(first, second) > 1.4 * plain
    assert evidence.known.n_matches == 200
