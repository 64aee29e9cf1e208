"""Campaigns: they start from what is known, stop by themselves and say why."""

from typing import Any

import pytest
from redis import Redis

from arena.messages import MatchOrderRow, ResultRow
from matches.campaigns import judging, paired_blocks, starting
from matches.campaigns.starting import start_campaign
from matches.errors import BadInputError
from matches.ledger import planning
from matches.ledger.tournaments import cancel_tournament
from matches.models import Agent, Campaign, CampaignPoint, Match, Tournament
from matches.plans import CampaignPlan
from matches.ratings import rater
from matches.tests import boards, factories
from matches.tests.factories import later

pytestmark = pytest.mark.django_db(transaction=True)

FIELD = tuple(f"level:{level}" for level in (5, 40, 60, 95))


@pytest.fixture(autouse=True)
def _broker(valkey_url: str) -> None:
    Redis.from_url(valkey_url).flushall()


def campaign_of(
    question: str = "best",
    *,
    agents: tuple[str, ...] = FIELD,
    name: str = "campaign",
    **plan: object,
) -> Campaign:
    tournament = factories.scheduled(12, agents=agents, board=f"board of {name}".replace(" ", "-"))
    cancel_tournament(tournament, now=factories.NOW)
    return start_campaign(
        CampaignPlan(name=name, question=question, **{"max_matches": 400, **plan}),  # type: ignore[arg-type]
        leaderboard=tournament.leaderboard,
        agents=list(tournament.agents.order_by("entrant__position")),
    )


def go_on(campaign: Campaign, seconds: float, play: boards.Play) -> None:
    """Plan, play all that is open, rate, judge."""
    tournament = campaign.tournament
    planning.plan_scheduled(now=later(seconds))
    if Match.objects.filter(Match.is_open()).exists():
        boards.play_some(tournament, 10_000, play, now=later(seconds))
    rater.rate(tournament.leaderboard_id, now=later(seconds + 1))
    judging.judge_all(now=later(seconds + 1))
    campaign.refresh_from_db()
    tournament.refresh_from_db()


def ended(campaign: Campaign, *, forfeits: float = 0, play: boards.Play | None = None) -> Campaign:
    play = play or boards.by_strength(forfeits=forfeits)
    for step in range(100):
        go_on(campaign, 2.0 * step, play)
        if campaign.decided_at is not None:
            return campaign
    raise AssertionError(f"never ended: {campaign.n_judged} judged")


def test_it_stops_with_the_best_once_that_is_sure() -> None:
    campaign = ended(campaign_of())
    assert campaign.statement == "level:95 is the best"
    assert campaign.why == "decided"
    assert campaign.probability is not None
    assert campaign.probability >= 0.95
    tournament = campaign.tournament
    assert tournament.state == Tournament.State.DONE
    assert campaign.n_played == tournament.n_done < 400
    assert tournament.n_matches == tournament.n_planned == tournament.n_closed
    # What they lack is how likely it is that somebody learnt to beat just the best.
    assert 0.99 < sum(campaign.chances) <= 1


def test_it_keeps_its_curve_and_a_forecast_while_it_runs() -> None:
    campaign = campaign_of(error=0.001)
    play = boards.by_strength(forfeits=0)
    go_on(campaign, 0, play)
    assert campaign.forecast is not None
    assert campaign.forecast["matches"] > 0
    assert campaign.forecast["cost"]["core_s"] > 0
    assert campaign.forecast["more"]["then"] >= campaign.forecast["more"]["now"] - 0.05
    assert CampaignPoint.objects.filter(campaign=campaign).count() == 1


def test_without_an_answer_it_ends_with_its_budget() -> None:
    campaign = ended(campaign_of(error=1e-9, max_matches=32))
    assert campaign.why == "out_of_budget: matches"
    assert campaign.n_played == 32


def test_a_limit_of_core_seconds_is_a_hard_stop() -> None:
    campaign = ended(campaign_of(error=1e-9, max_core_s=0.5))
    assert campaign.why == "out_of_budget: core_seconds"
    assert 0.5 <= campaign.tournament.played_s < 2


def test_a_limit_of_core_seconds_counts_microseconds() -> None:
    campaign = campaign_of(error=1e-9, max_core_s=0.000_9)

    def quick(row: MatchOrderRow) -> ResultRow:
        return factories.result(row, ranks=[0, 0], duration_ms=0.02)

    for step in range(20):
        go_on(campaign, 2.0 * step, quick)
        if campaign.decided_at is not None:
            break
    assert campaign.why == "out_of_budget: core_seconds"
    tournament = campaign.tournament
    assert tournament.played_s == pytest.approx(0.000_02 * tournament.n_done)


def test_a_second_campaign_starts_from_what_is_known() -> None:
    first = ended(campaign_of())
    agents = list(first.tournament.agents.order_by("entrant__position"))
    board = first.tournament.leaderboard
    plan = CampaignPlan(name="again", question="best", max_matches=400)
    second = start_campaign(plan, leaderboard=board, agents=agents)
    assert second.n_known == first.n_played
    judging.judge_all(now=later(300))
    second.refresh_from_db()
    assert second.statement == "level:95 is the best"
    assert second.n_played == 0


def test_a_new_campaign_plays_no_game_that_is_known() -> None:
    first = ended(campaign_of())
    agents = list(first.tournament.agents.order_by("entrant__position"))
    board = first.tournament.leaderboard
    second = start_campaign(
        CampaignPlan(name="again", question="best", max_matches=400, error=1e-6),
        leaderboard=board,
        agents=agents,
    )
    judging.judge_all(now=later(299))
    go_on(second, 300, boards.by_strength())
    seeds = [
        set(Match.objects.filter(tournament=t).values_list("game_seed", flat=True))
        for t in (first.tournament, second.tournament)
    ]
    assert seeds[1]
    assert not seeds[0] & seeds[1]


def test_a_cancelled_campaign_says_so() -> None:
    campaign = campaign_of()
    cancel_tournament(campaign.tournament, now=later(1))
    judging.judge_all(now=later(2))
    campaign.refresh_from_db()
    assert campaign.why == "cancelled"
    assert campaign.probability is None


def test_the_verdict_is_written_once() -> None:
    campaign = ended(campaign_of())
    before = Campaign.objects.values().get(pk=campaign.pk)
    judging.judge_campaign(Campaign.objects.get(pk=campaign.pk), now=later(900))
    assert Campaign.objects.values().get(pk=campaign.pk) == before


def test_a_sequential_test_goes_by_the_blocks_of_both() -> None:
    campaign = campaign_of("sprt", agents=("level:5", "level:95"), parameters={"elo1": 100})
    ended(campaign)
    assert campaign.statement == "level:5 is not better than level:95: by 0 Elo rather than by 100"
    assert campaign.why == "decided"
    point = CampaignPoint.objects.get(campaign=campaign, n_results=campaign.n_judged)
    assert point.llr is not None
    assert point.llr < -2.9
    agents = list(Agent.objects.order_by("pk").values_list("pk", flat=True))
    counts = paired_blocks.load_blocks(campaign.tournament.leaderboard, *agents).counts
    assert 2 * sum(counts) == campaign.n_played


def test_a_question_about_names_is_asked_by_name() -> None:
    campaign = campaign_of("beats", parameters={"a": "level:95", "b": "level:5", "lead": 1.0})
    assert campaign.parameters == {"a": 3, "b": 0, "lead": 1.0}
    assert ended(campaign).statement == "level:95 beats level:5 by more than 1"


@pytest.mark.parametrize(
    ("plan", "refusal"),
    [
        ({"question": "worst"}, "question: unknown question 'worst': choose one of"),
        ({"question": "worst", "margin": 9e9}, "question: unknown question 'worst'"),
        ({"error": 0.7}, "error: error must be between 0 and 0.5, got 0.7"),
        ({"question": "top_k", "parameters": {"k": 9}}, "parameters: k must be"),
        ({"question": "beats", "parameters": {"a": "nobody"}}, "a: 'nobody' is none of"),
        (
            {"question": "beats", "parameters": {"b": "level:5"}},
            "b is there alone: give both a and",
        ),
        ({"question": "sprt"}, "agents: sprt compares two agents"),
        ({"max_matches": 0}, "max_matches: must be 1..100000000, got 0"),
        ({"pairing": "lottery"}, "pairing: "),
        ({"pairing": "knockout", "max_matches": 2}, "max_matches: Knockout of .* matches at least"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(plan: dict[str, object], refusal: str) -> None:
    with pytest.raises(BadInputError, match=refusal):
        campaign_of(**plan)  # type: ignore[arg-type]


@pytest.mark.parametrize("parameters", [{"a": 0}, {"a": "x", "b": "x"}, {"a": 0.5, "b": 0.5}])
def test_a_question_that_names_agents_its_own_way_is_asked(parameters: dict[str, Any]) -> None:
    agents = list(campaign_of().tournament.agents.all())
    starting._refuse_same_agent(parameters, agents)
    with pytest.raises(BadInputError, match=f"got '{agents[0].name}' as both"):
        starting._refuse_same_agent({"a": 0, "b": 0}, agents)
