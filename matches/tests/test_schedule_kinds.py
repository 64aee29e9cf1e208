"""What a schedule starts besides plain tournaments: campaigns, seasons, other pairings."""

from typing import Any

import pytest
from redis import Redis

from matches.campaigns import scheduling
from matches.errors import BadInputError, ConflictError
from matches.ledger import planning
from matches.ledger.tournaments import cancel_tournament, enter_agents
from matches.models import Outcome, Schedule, Season, Tournament
from matches.ratings import rater, rerating
from matches.tests import factories as make
from matches.tests.schedules import (
    ANNA,
    HOUR,
    explain_schedule,
    open_hourly_board,
    register_levels,
    save_hourly,
    start_due,
)

pytestmark = pytest.mark.django_db


def test_a_schedule_with_a_question_starts_campaigns_from_all_that_is_known(broker: Redis) -> None:
    options: Any = {
        "question": "best",
        "error": 0.02,
        "margin": 0.5,
        "max_core_s": 60.0,
        "weight": 4,
    }
    schedule = save_hourly(n_matches=40, **options)
    first = start_due(schedule)
    assert isinstance(first, Tournament)
    campaign = first.campaign
    assert (campaign.question, campaign.error, campaign.margin) == ("best", 0.02, 0.5)
    assert (campaign.max_matches, campaign.max_core_s, campaign.n_known) == (40, 60.0, 0)
    assert (first.pairing, first.weight) == ("order_information", 4)
    assert start_due(schedule, hours=1) is None
    schedule.refresh_from_db()
    assert f"the one before, {first.pk}, is still scheduled" in schedule.problem
    assert "control starts a campaign" in explain_schedule(schedule, make.later(HOUR + 9)).next
    planning.plan_scheduled(now=make.NOW)
    make.play_all(broker)
    cancel_tournament(first, now=make.later(HOUR))
    rater.rate(schedule.leaderboard_id, now=make.later(HOUR))
    second = start_due(schedule, hours=2)
    assert isinstance(second, Tournament)
    assert second.campaign.n_known == Outcome.objects.count() > 0
    assert second.seed != first.seed


def test_a_schedule_of_seasons_begins_one_after_the_other(broker: Redis) -> None:
    enter_agents(open_hourly_board(), register_levels())
    schedule = save_hourly(agents=[], name="monthly", n_matches=None, season="reset")
    assert scheduling.describe_what(schedule) == "a season of board (reset)"
    rater.settle_board(schedule.leaderboard_id, now=make.NOW)
    first = start_due(schedule)
    assert isinstance(first, Season)
    assert first.name == "before monthly 2026-01-01 12:00"
    rerating.request_rerating(open_hourly_board(), actor=ANNA, reason="sure", now=make.NOW)
    with pytest.raises(ConflictError, match="in a moment"):
        start_due(schedule, hours=1)
    rerating.rerate_due(now=make.NOW)
    second = start_due(schedule, hours=1)
    assert isinstance(second, Season)
    assert (second.name, second.actor) == ("monthly 2026-01-01 12:00", "control")
    assert [run.season for run in schedule.runs.all()] == [second, first]
    assert open_hourly_board().season_name == "monthly 2026-01-01 13:00"
    assert explain_schedule(schedule, make.later(HOUR)).notes == (
        "2 seasons started, 0 times passed over",
    )


def test_a_tournament_of_a_schedule_has_its_weight_and_parameters(broker: Redis) -> None:
    cup: Any = {"pairing": "knockout", "pairing_parameters": {"best_of": 4}}
    schedule = save_hourly(**cup, weight=7, n_matches=400)
    tournament = start_due(schedule)
    assert isinstance(tournament, Tournament)
    assert (tournament.weight, tournament.pairing_parameters) == (7, {"best_of": 4})
    assert save_hourly(name="plain").pairing == "double_round_robin"


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"question": "which"}, "question: "),
        ({"question": "best", "error": 2.0}, "error: .*between"),
        ({"question": "best", "is_rated": False}, "is_rated: a question is answered"),
        ({"question": "best", "order_limit": 3}, "order_limit: leave it empty"),
        ({"question": "sprt"}, "agents: sprt compares two agents"),
        ({"n_matches": None}, "n_matches: say how many"),
        ({"season": "reset"}, "agents: leave it empty"),
        ({"season": "reset", "question": "best"}, "question: leave it empty"),
        ({"season": "rest"}, "season: "),
        ({"weight": 0}, "weight: "),
        ({"pairing": "knockout", "pairing_parameters": {"best": 1}}, "pairing_parameters: "),
    ],
)
def test_a_campaign_or_season_that_cannot_be_is_refused(
    options: Any, refusal: str, db: None
) -> None:
    with pytest.raises(BadInputError, match=refusal):
        save_hourly(**options)
    assert not Schedule.objects.exists()
