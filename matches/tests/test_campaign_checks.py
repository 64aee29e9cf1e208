"""What campaigns take for granted: that pairs far apart meet, that agents stay what they are."""

from typing import Any

import numpy as np
import pytest
from redis import Redis

from arena.messages import MatchOrderRow, ResultRow
from arena.policies import registry as policies
from arena.verdicts import evidence as weighing
from arena.verdicts.base import Question, find_expected_departures
from arena.verdicts.beliefs import Belief
from arena.verdicts.evidence import ModelChecks, infer_belief
from matches.campaigns import forecasting, judging
from matches.campaigns.belief import infer_and_check, list_blocks
from matches.campaigns.forecasting import forecast_start
from matches.ledger import reuse
from matches.models import Agent, Match, Tournament
from matches.plans import CampaignPlan
from matches.ratings import rater
from matches.ratings.entrants import entrants_of
from matches.ratings.evidence import Evidence, gather_evidence
from matches.tests import boards, factories
from matches.tests.factories import NOW
from matches.tests.test_campaigns import campaign_of, ended, go_on
from matches.tests.test_reuse import again

pytestmark = pytest.mark.django_db(transaction=True)

BY_INFORMATION = "order_information"


@pytest.fixture(autouse=True)
def _broker(valkey_url: str) -> None:
    Redis.from_url(valkey_url).flushall()


@pytest.fixture
def check_flags(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return whether those who judged and forecast counted on checks, in turn."""
    flags: list[bool] = []

    def record(question: Question, n_agents: int, *, is_checked: bool) -> float:
        flags.append(is_checked)
        return find_expected_departures(question, n_agents, is_checked=is_checked)

    for module in (judging, forecasting):
        monkeypatch.setattr(module, "find_expected_departures", record)
    return flags


@pytest.mark.parametrize(
    ("pairing", "parameters", "is_checked"),
    [
        ("", {}, True),
        ("", {"checks": 0}, False),
        ("", {"checks": "0"}, False),
        ("", {"edge": 2}, False),
        ("", {"edge": 4}, True),
        # As campaigns were started before there were checks, and as watches are.
        (BY_INFORMATION, {}, False),
        (BY_INFORMATION, {"checks": 1}, True),
        ("random", {}, False),
    ],
)
def test_a_ranking_counts_on_checks_where_its_pairing_sends_them(
    pairing: str, parameters: dict[str, Any], is_checked: bool, check_flags: list[bool]
) -> None:
    plan: dict[str, Any] = {"pairing": pairing, "pairing_parameters": parameters}
    campaign = campaign_of("rank_all", **plan)
    go_on(campaign, 0.0, boards.by_strength())
    agents = list(campaign.tournament.agents.order_by("entrant__position"))
    ahead = CampaignPlan(name="", question="rank_all", max_matches=400, **plan)
    forecast_start(ahead, leaderboard=campaign.tournament.leaderboard, agents=agents, now=NOW)
    assert len(check_flags) > 1
    assert set(check_flags) == {is_checked}


def test_a_ranking_with_checks_ends() -> None:
    campaign = ended(campaign_of("rank_all", max_matches=2_000, margin=1.0))
    assert campaign.tournament.pairing_parameters == {"checks": 1}
    assert campaign.why in {"decided", "within_margin"}
    names = [f"level:{level}" for level in (95, 60, 40, 5)]
    assert campaign.statement.startswith(" > ".join(names))


@pytest.mark.parametrize(
    ("kind", "release", "may_change"),
    [
        ("level", "", False),
        ("program", "", True),
        ("program", "2.1", False),
        ("gone", "", True),
    ],
)
def test_agents_that_are_programs_of_others_may_change_unless_they_say_which_release(
    kind: str, release: str, monkeypatch: pytest.MonkeyPatch, *, may_change: bool
) -> None:
    flags: list[bool] = []

    def record(*args: Any, may_change: bool, **options: Any) -> tuple[Belief, ModelChecks]:
        flags.append(may_change)
        return infer_belief(*args, may_change=may_change, **options)

    monkeypatch.setattr(weighing, "infer_belief", record)
    campaign = campaign_of()
    go_on(campaign, 0.0, boards.by_strength())
    agents = entrants_of(campaign.tournament)
    Agent.objects.filter(pk=agents[0]).update(policy=kind, parameters={"release": release})
    flags.clear()
    infer_and_check(gather_evidence(campaign.tournament.leaderboard, agents))
    assert flags == [may_change]


def test_what_agents_that_may_change_play_again_is_of_another_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (policies, reuse):
        monkeypatch.setattr(module, "is_repeatable", lambda _: False)

    def play(tournament: Tournament, winner: str) -> Evidence:
        best = Agent.objects.get(name=winner).pk

        def win(row: MatchOrderRow) -> ResultRow:
            seat = Match.objects.get(pk=row.match).agent_ids.index(best)
            return factories.result(row, ranks=[seat, 1 - seat])

        boards.play_some(tournament, 12, win)
        rater.rate(tournament.leaderboard_id, now=NOW)
        return gather_evidence(tournament.leaderboard, entrants_of(tournament))

    first = factories.planned(12, agents=("level:10", "level:50"))
    before = list_blocks(play(first, "level:10"), may_change=True)
    blocks = list_blocks(play(again(first), "level:50"), may_change=True)
    assert (len(before.first), len(blocks.first)) == (6, 12)
    assert np.ptp(blocks.scores[:6]) == np.ptp(blocks.scores[6:]) == 0
    assert (blocks.scores[:6] == -blocks.scores[6:]).all()
    assert (blocks.seed[:6] == blocks.seed[6:]).all()
