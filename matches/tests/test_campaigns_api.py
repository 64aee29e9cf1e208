"""Campaigns and alarms by the API: asked by name, forecast, followed, acknowledged."""

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from redis import Redis

from arena.verdicts.forecast import prior_belief
from matches.campaigns import forecasting, judging
from matches.ledger import pairing_warnings
from matches.ledger.tournaments import cancel_tournament, open_leaderboard
from matches.models import Alarm, AuditRow, Campaign, Tournament
from matches.operations import explain
from matches.operations.explanations.next_verdict import describe_next_verdict
from matches.tests import boards, callers, factories, operating
from matches.tests.factories import later
from matches.tests.test_campaigns import campaign_of, ended, go_on

pytestmark = pytest.mark.django_db(transaction=True)

BOARD = "board-of-campaign"


@pytest.fixture(autouse=True)
def _broker(valkey_url: str) -> None:
    Redis.from_url(valkey_url).flushall()


@pytest.fixture
def client() -> Client:
    return callers.with_token(callers.token("ada", callers.OPERATOR))


def post(client: Client, address: str, status: int = 201, **body: Any) -> Any:
    answer = client.post(f"/api/v1/{address}", body, content_type="application/json")
    assert answer.status_code == status, answer.content
    return answer.json()


def get(client: Client, address: str) -> Any:
    answer = client.get(f"/api/v1/{address}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_campaign_is_asked_by_names_and_shows_its_verdict(client: Client) -> None:
    campaign_of()
    question: dict[str, Any] = {
        "question": "beats",
        "parameters": {"a": "level:95", "b": "level:5"},
    }
    made = post(client, "campaigns/", leaderboard=BOARD, max_matches=300, weight=3, **question)
    assert made["parameters"] == {"a": "level:95", "b": "level:5", "lead": 0.0}
    assert (made["weight"], made["statement"], made["chances"]) == (3, "", [])
    ended(Campaign.objects.get(pk=made["id"]))
    detail = get(client, f"campaigns/{made['id']}/")
    assert detail["statement"] == "level:95 beats level:5 by more than 0"
    assert [agent["name"] for agent in detail["subjects"]] == ["level:95", "level:5"]
    chances = [one["p_best"] for one in detail["chances"]]
    assert chances == sorted(chances, reverse=True)
    assert 0.99 < sum(chances) <= 1  # but for who may have learnt to beat just the best
    assert detail["spent"]["matches"] == detail["n_played"]
    points = get(client, f"campaigns/{made['id']}/curve/")["results"]
    assert [point["n_results"] for point in points] == sorted(p["n_results"] for p in points)
    assert points[-1]["probability"] == detail["probability"]


def test_campaigns_are_listed_by_what_they_ask_and_whether_they_ended(client: Client) -> None:
    first = campaign_of()
    post(client, "campaigns/", leaderboard=BOARD, question="rank_all", max_matches=10)
    cancel_tournament(first.tournament, now=later(1))
    judging.judge_all(now=later(2))
    listed = {
        query: [row["question"] for row in get(client, f"campaigns/?{query}")["results"]]
        for query in ("decided=true", "decided=false", "question=best", f"leaderboard={BOARD}")
    }
    assert listed["decided=true"] == listed["question=best"] == ["best"]
    assert listed["decided=false"] == ["rank_all"]
    assert listed[f"leaderboard={BOARD}"] == ["rank_all", "best"]
    refused = client.get("/api/v1/campaigns/?question=worst").json()["errors"]
    assert refused[0]["message"].startswith("choose one of beats, best")
    assert "'worst'" in refused[0]["message"]


def test_a_forecast_starts_nothing(client: Client) -> None:
    agents = tuple(f"level:{level}" for level in range(0, 100, 2))
    campaign_of(agents=agents)
    body = {"leaderboard": BOARD, "question": "best", "margin_elo": 20}
    ahead = post(client, "campaigns/forecast/", 200, **body)
    assert (ahead["n_agents"], ahead["n_known"]) == (50, 0)
    assert 0 < ahead["forecast"]["low"] <= ahead["forecast"]["matches"] <= ahead["forecast"]["high"]
    assert 0.3 < ahead["margin"] < 0.6
    assert Tournament.objects.count() == 2


def test_a_forecast_of_two_goes_by_whom_the_pairing_lets_meet(client: Client) -> None:
    agents = tuple(f"level:{level}" for level in range(0, 100, 10))
    campaign = campaign_of("beats", agents=agents)
    body = {"leaderboard": BOARD, "question": "beats", "parameters": {"a": 2, "b": 5}}
    of_two, of_all = (
        post(client, "campaigns/forecast/", 200, **body, pairing=pairing)["forecast"]["matches"]
        for pairing in ("", "order_information")
    )
    assert of_all > 2 * of_two
    begun, nothing = [], prior_belief(10)
    # The second: of one that somebody gave its pairing, as a watch does.
    for parameters in ({"a": 0, "b": 1}, {}):
        campaign.tournament.pairing_parameters = parameters
        begun.append(forecasting.forecast_rest(campaign, nothing, now=later(1))["matches"])
    assert begun[1] > 2 * begun[0]


def test_a_forecast_warns_of_a_pairing_that_suits_the_field_badly(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign_of()
    arguments: list[object] = []

    def warn(pairing: str, parameters: object, **_: object) -> str:
        arguments.extend((pairing, parameters))
        return "This field is close."

    monkeypatch.setattr(pairing_warnings, "warn_before_start", warn)
    body = {"leaderboard": BOARD, "pairing": "posterior_sample", "pairing_parameters": {"top": 2}}
    ahead = post(client, "campaigns/forecast/", 200, **body)
    assert (ahead["warning"], arguments) == (
        "This field is close.",
        ["posterior_sample", {"top": 2}],
    )
    monkeypatch.undo()
    assert post(client, "campaigns/forecast/", 200, leaderboard=BOARD)["warning"] is None
    # As when it starts: a forecast of what would be refused helps nobody.
    unknown = {**body, "pairing_parameters": {"power": 2}}
    refused = post(client, "campaigns/forecast/", 400, **unknown)
    assert refused["errors"][0]["field"] == "pairing_parameters"


def test_a_campaign_says_what_it_saved_where_it_stands_and_why_it_ended(client: Client) -> None:
    first = ended(campaign_of())
    again = campaign_of(name="again", max_matches=40)
    detail = get(client, f"campaigns/{again.pk}/")
    assert (detail["latest_point"], detail["why_in_words"]) == (None, "")
    assert detail["saved"] == (
        f"{first.n_played} matches, all of them from other leaderboards, "
        "were known before and not played"
    )
    detail = get(client, f"campaigns/{first.pk}/")
    points = get(client, f"campaigns/{first.pk}/curve/")["results"]
    assert detail["latest_point"] == points[-1]
    assert detail["why_in_words"] == "decided: it is as sure as was asked for"
    assert detail["saved"] == ""


def test_the_latest_point_is_of_the_latest_judgement_also_after_matches_were_struck(
    client: Client,
) -> None:
    campaign = campaign_of()
    for n_results, probability in ((10, 0.9), (6, 0.7)):
        campaign.points.create(
            n_results=n_results, at=later(20 - n_results), probability=probability
        )
    Campaign.objects.filter(pk=campaign.pk).update(n_judged=6, probability=0.7)
    assert get(client, f"campaigns/{campaign.pk}/")["latest_point"]["n_results"] == 6
    notes = explain.of_campaign(Campaign.objects.get(pk=campaign.pk), now=later(30)).notes
    assert "judged last after 6 results: the likeliest answer is true with 70 %" in [
        note.replace("\N{NO-BREAK SPACE}", " ") for note in notes
    ]


def test_what_was_played_of_the_game_prices_a_forecast(client: Client, settings: Any) -> None:
    settings.WORKER_PRICES = {"cpu": 3_600.0, "gpu": 0.0}
    ended(campaign_of())
    ahead = post(client, "campaigns/forecast/", 200, leaderboard=BOARD, error=1e-9)
    cost = ahead["forecast"]["cost"]
    assert cost["money"] == pytest.approx(cost["core_s"])
    assert cost["core_s"] == pytest.approx(0.02 * ahead["forecast"]["matches"])


def test_a_sequential_test_is_forecast_by_its_ratio(client: Client) -> None:
    campaign_of(agents=("level:5", "level:95"))
    ahead = post(client, "campaigns/forecast/", 200, leaderboard=BOARD, question="sprt")
    forecast, more = ahead["forecast"], ahead["forecast"]["more"]
    assert 0 < forecast["low"] <= forecast["matches"] <= forecast["high"]
    assert 0.4 < forecast["accepted"] < 0.6
    assert forecast["round_robin"] is None
    assert (more["now"], more["llr_now"]) == (None, 0)
    other = post(client, "campaigns/forecast/", 200, leaderboard=BOARD)["forecast"]
    assert (other["accepted"], other["more"]["llr_now"]) == (None, None)


def test_a_sequential_test_shows_what_its_blocks_say(client: Client) -> None:
    test = campaign_of("sprt", agents=("level:5", "level:95"), parameters={"elo1": 100})
    assert get(client, f"campaigns/{test.pk}/")["pairs"] is None
    ended(test)
    pairs = get(client, f"campaigns/{test.pk}/")["pairs"]
    assert test.n_played is not None
    assert 0 < sum(pairs["blocks"]) == pairs["n_blocks"] <= test.n_played / 2
    assert pairs["elo"]["low"] < pairs["elo"]["elo"] < pairs["elo"]["high"]
    assert pairs["score"] < 0.5
    assert pairs["los"] < 0.1


def test_where_nobody_is_rated_yet_it_says_to_name_agents(client: Client) -> None:
    open_leaderboard("new", game="skill_game")
    (refusal,) = post(client, "campaigns/", 400, leaderboard="new", max_matches=20)["errors"]
    message = "a question needs 2 agents or more, and 0 that play are rated on new: name them"
    assert refusal == {"field": "agents", "message": message}


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"question": "worst"}, "question", "choose one of beats, best"),
        ({"agents": ["level:5", "nobody"]}, "agents", "no agent of skill_game named 'nobody'"),
        ({"margin": 1, "margin_elo": 20}, "margin", "give it once"),
        ({"margin_elo": -1}, "margin_elo", "must be 0 or more, got -1.0"),
        ({"margin_points": 50}, "margin_points", "must be below 50, got 50.0"),
        ({"margin_points": 60}, "margin_points", "must be below 50, got 60.0"),
        ({"agents": ["level:5"]}, "agents", "needs 2 agents or more, got 1"),
        (
            {"question": "beats", "parameters": {"a": "level:5", "b": "level:5"}},
            "parameters",
            "a and b must be two agents, got 'level:5' as both",
        ),
        ({"margin": -1}, "margin", "margin must be finite and 0 or more, got -1.0"),
        ({"margin": 1e308}, "margin", "must be at most 100, got 1e+308"),
        ({"error": 0.5}, "error", "error must be between 0 and 0.5, got 0.5"),
        ({"pairing": "lottery"}, "pairing", "choose one of common_seeds, double_round_robin"),
        ({"weight": 0}, "weight", "greater than or equal to 1"),
        ({"max_matches": 0}, "max_matches", "must be 1..100000000, got 0"),
        ({"max_money": -1}, "max_money", "greater than or equal to 0"),
        ({"parameters": {"k": 2}}, "parameters", "is unknown: best takes none"),
    ],
)
def test_what_is_refused_is_named(
    client: Client, fields: dict[str, Any], field: str, message: str
) -> None:
    campaign_of()
    body = {"leaderboard": BOARD, "max_matches": 100, **fields}
    (refusal,) = post(client, "campaigns/", 400, **body)["errors"]
    assert refusal["field"] == field
    assert message in refusal["message"]


def test_a_campaign_is_started_once_under_its_key(client: Client) -> None:
    campaign_of()
    body = {"leaderboard": BOARD, "max_matches": 100}
    made = [
        client.post(
            "/api/v1/campaigns/",
            body,
            content_type="application/json",
            headers={"Idempotency-Key": "k"},
        ).json()["id"]
        for _ in range(2)
    ]
    assert made[0] == made[1]
    assert Campaign.objects.count() == 2


def test_cancelling_the_tournament_stops_the_campaign(client: Client) -> None:
    campaign = campaign_of()
    post(client, f"tournaments/{campaign.tournament_id}/cancel/", 200)
    judging.judge_all(now=later(2))
    detail = get(client, f"campaigns/{campaign.pk}/")
    assert (detail["state"], detail["why"], detail["statement"]) == ("cancelled",) * 3


def test_a_tournament_takes_the_parameters_of_its_pairing_and_its_weight(client: Client) -> None:
    campaign = campaign_of()
    agents = list(campaign.tournament.agents.values_list("pk", flat=True))
    body: dict[str, Any] = {"agents": agents, "name": "cup", "n_matches": 40}
    cup: dict[str, Any] = {"pairing": "knockout", "pairing_parameters": {"best_of": 5}, "weight": 2}
    made = post(client, "tournaments/", leaderboard=BOARD, **body, **cup)
    assert {name: made[name] for name in cup} == cup


def test_it_says_what_it_waits_for_and_what_it_needs(client: Client) -> None:
    campaign = campaign_of(error=1e-6)
    go_on(campaign, 0, boards.by_strength(forfeits=0))
    explanation = get(client, f"campaigns/{campaign.pk}/explanation/")
    assert explanation["subject"] == "campaign"
    next_step = explanation["next"].replace("\xa0", " ")
    judged = "control judges it after 18 results of its agents, 19 where they come at once; "
    assert f"{judged}>99.9 % needs about" in next_step
    assert "); the budget leaves 384; without an answer it ends at 400 matches" in next_step
    assert any("judged last after 16 results" in note for note in explanation["notes"])
    assert explanation["next_at"] is not None
    of_tournament = get(client, f"tournaments/{campaign.tournament_id}/explanation/")
    assert of_tournament["next"] == explanation["next"]
    post(client, f"tournaments/{campaign.tournament_id}/pause/", 200)
    paused = get(client, f"tournaments/{campaign.tournament_id}/explanation/")
    assert paused["waits_for"] == ["somebody to resume it"]
    assert paused["next_at"] is None


def test_it_ends_at_its_budget_where_the_verdict_needs_more() -> None:
    campaign = campaign_of(error=1e-6)
    campaign.forecast = {"matches": 4_000, "low": 1, "high": 9_000, "cost": {"wall_s": 400}}
    campaign.forecast_at = later(0)
    assert describe_next_verdict(campaign, now=later(0)).next_at == later(40)
    # As old as the last verdict: half of the budget has been played since.
    campaign.tournament.n_done = campaign.max_matches // 2
    assert describe_next_verdict(campaign, now=later(30)).next_at == later(30 + 20)
    campaign.forecast["matches"] = 100
    assert describe_next_verdict(campaign, now=later(300)).next_at == later(400)


def test_one_that_has_ended_says_what_it_found(client: Client) -> None:
    campaign = ended(campaign_of())
    explanation = get(client, f"campaigns/{campaign.pk}/explanation/")
    assert (explanation["state"], explanation["next"]) == ("decided", "")
    assert "level:95 is the best (with 9" in explanation["summary"]
    assert any("a round robin from nothing would have" in note for note in explanation["notes"])


def test_an_alarm_is_acknowledged_once(client: Client) -> None:
    ids = operating.questioned(ended(campaign_of()).tournament)
    assert [row["id"] for row in get(client, "alarms/?open=true")["results"]] == [ids["alarms"]]
    first = post(client, f"alarms/{ids['alarms']}/acknowledge/", 200, reason="a bad batch")
    again = post(client, f"alarms/{ids['alarms']}/acknowledge/", 200)
    assert again == first
    assert first["acknowledged_by"] == "ada"
    assert get(client, "alarms/?open=true")["results"] == []
    assert AuditRow.objects.get(action="alarm.acknowledge").reason == "a bad batch"
    assert Alarm.objects.get().acknowledged_at is not None


def test_a_pairing_that_suits_the_field_badly_is_said(client: Client) -> None:
    close = campaign_of(agents=("level:49", "level:50", "level:51"), pairing="quality")
    assert get(client, f"campaigns/{close.pk}/")["warning"] is None
    go_on(close, 0, factories.first_wins)
    cache.clear()
    assert "This field is close" in get(client, f"campaigns/{close.pk}/")["warning"]
    cancel_tournament(close.tournament, now=later(1))
    assert get(client, f"campaigns/{close.pk}/")["warning"] is None
