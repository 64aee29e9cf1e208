"""Acts of operators through the API: agents, workers, matches, boards, schedules, audit."""

from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.models import (
    Agent,
    AuditRow,
    Campaign,
    Leaderboard,
    Match,
    Schedule,
    Tournament,
    Worker,
)
from matches.ratings import rater, rerating
from matches.tests import callers, factories, operating
from matches.tests.callers import get_json

pytestmark = pytest.mark.django_db
WHY = "it stalls"


@pytest.fixture
def operator(db: None) -> Client:
    """Return a client with a token that may operate."""
    return callers.with_token(callers.token("anna", callers.OPERATOR))


@pytest.fixture
def rated(broker: Redis) -> Tournament:
    """Return a tournament that is done and rated."""
    tournament = factories.planned()
    factories.play_all(broker)
    rater.rate(tournament.leaderboard_id, now=factories.NOW)
    return tournament


def _post(client: Client, address: str, status: int = 200, **body: object) -> Any:
    response = client.post(f"/api/v1/{address}/", body, content_type="application/json")
    assert response.status_code == status, response.content
    return response.json()


def test_an_agent_is_put_into_quarantine_and_released(operator: Client, broker: Redis) -> None:
    factories.planned()
    address = f"agents/{Agent.objects.earliest('pk').pk}"
    assert "reason" in str(_post(operator, f"{address}/quarantine", 400)["errors"])
    agent = _post(operator, f"{address}/quarantine", reason=WHY)
    assert agent["quarantine_reason"] == WHY
    assert agent["quarantined_at"]
    assert _post(operator, f"{address}/release")["quarantined_at"] is None
    assert [(row.actor, row.reason) for row in AuditRow.objects.all()] == [
        ("anna", ""),
        ("anna", WHY),
    ]


def test_a_worker_is_put_into_quarantine_and_released(operator: Client, broker: Redis) -> None:
    factories.alive()
    address = f"workers/{Worker.objects.get().pk}"
    assert _post(operator, f"{address}/quarantine", reason=WHY)["quarantine_reason"] == WHY
    assert _post(operator, f"{address}/release", reason="mended")["quarantine_reason"] == ""


def test_a_gpu_worker_is_a_conflict(operator: Client, broker: Redis) -> None:
    factories.alive(capabilities=["gpu"])
    refused = _post(operator, f"workers/{Worker.objects.get().pk}/quarantine", 409, reason=WHY)
    assert "end its process" in refused["detail"]


def test_matches_are_void_and_played_again(operator: Client, rated: Tournament) -> None:
    ids = list(rated.matches.order_by("pk").values_list("pk", flat=True)[:2])
    voided = _post(operator, "matches/void", matches=ids, reason=WHY)
    counts = {"n_open": 0, "n_struck": 2, "n_unchanged": 0, "leaderboards": ["board"]}
    assert voided == counts
    assert get_json(operator, "leaderboards/board/")["is_rerating"]
    requeued = _post(operator, "matches/requeue", matches=ids, reason=WHY)
    assert requeued["n_new"] == 2
    pairs = {pair["replaced"]: pair["match"] for pair in requeued["replacements"]}
    old, new = (get_json(operator, f"matches/{pk}/") for pk in (ids[0], pairs[ids[0]]))
    assert (old["state"], old["replacement"], old["replaces"]) == ("void", new["id"], None)
    assert (old["voiding"]["reason"], old["voiding"]["was_done"]) == (WHY, True)
    assert old["outcome"]["ranks"] == [0, 1]
    assert (new["state"], new["replacement"], new["replaces"]) == ("pending", None, old["id"])
    detail = get_json(operator, f"tournaments/{rated.pk}/")
    assert [detail[n] for n in ("state", "n_done", "n_void", "n_replaced")] == ["running", 10, 0, 2]


def test_a_match_that_is_not_void_is_a_conflict(operator: Client, rated: Tournament) -> None:
    refused = _post(
        operator, "matches/requeue", 409, matches=[rated.matches.all()[0].pk], reason=WHY
    )
    assert "declare it void first" in refused["detail"]


def test_the_same_call_under_one_key_is_done_once(operator: Client, rated: Tournament) -> None:
    body = {"matches": [Match.objects.earliest("pk").pk], "reason": WHY}
    answers = [
        operator.post(
            "/api/v1/matches/void/",
            body,
            content_type="application/json",
            headers={"idempotency-key": "k"},
        )
        for _ in range(2)
    ]
    assert answers[0].json() == answers[1].json()
    assert answers[1].headers["Idempotency-Replayed"] == "true"


def test_a_board_is_rated_again(operator: Client, rated: Tournament) -> None:
    assert _post(operator, "leaderboards/board/rerate", reason="to be sure")["is_rerating"]
    assert rerating.rerate_due(now=factories.later(5)) == [rated.leaderboard_id]
    assert not get_json(operator, "leaderboards/board/")["is_rerating"]


def test_a_season_is_frozen_and_read_by_everybody(operator: Client, rated: Tournament) -> None:
    made = _post(operator, "leaderboards/board/freeze", 201, name="spring")
    _post(operator, "leaderboards/board/freeze", 400, name="spring")
    (listed,) = get_json(Client(), "leaderboards/board/seasons/")["results"]
    assert listed == made
    season = get_json(Client(), f"seasons/{made['id']}/")
    assert [row["rank"] for row in season["rows"]] == [1, 2, 3]
    page = get_json(Client(), f"seasons/{made['id']}/rows/?page_size=2")
    assert page["results"] == season["rows"][:2]
    assert (
        get_json(Client(), page["next"].partition("/api/v1/")[2])["results"] == season["rows"][2:]
    )


def test_a_schedule_is_made_listed_and_deleted(operator: Client, rated: Tournament) -> None:
    body = {"name": "nightly", "leaderboard": "board", "crontab": "0 4 * * *", "n_matches": 6}
    made = _post(operator, "schedules", 201, **body)
    assert made["next_at"].endswith("T04:00:00Z")
    address = f"schedules/{made['id']}"
    assert get_json(operator, "schedules/?leaderboard=board")["results"] == [made]
    assert _post(operator, f"{address}/disable")["next_at"] is None
    assert get_json(operator, f"{address}/explanation/")["state"] == "disabled"
    assert _post(operator, f"{address}/enable", reason="spring")["is_enabled"]
    assert operator.delete(f"/api/v1/{address}/").status_code == 204
    assert not Schedule.objects.exists()


def test_a_wrong_crontab_is_refused_by_name(operator: Client, rated: Tournament) -> None:
    body = {"name": "nightly", "leaderboard": "board", "crontab": "soon", "n_matches": 6}
    (error,) = _post(operator, "schedules", 400, **body)["errors"]
    assert error["field"] == "crontab"
    assert "'30 4 * * 1' is every Monday at 4:30" in error["message"]


def test_the_audit_is_read_by_target_and_action(operator: Client, rated: Tournament) -> None:
    match = Match.objects.earliest("pk").pk
    _post(operator, "matches/void", matches=[match], reason=WHY)
    _post(operator, "leaderboards/board/rerate", reason="to be sure")
    assert len(get_json(operator, "audit/")["results"]) == 2
    (row,) = get_json(operator, f"audit/?target_kind=match&target_id={match}")["results"]
    assert (row["action"], row["actor"], row["reason"]) == ("match.void", "anna", WHY)
    (row,) = get_json(operator, "audit/?action=leaderboard.rerate")["results"]
    assert row["target_id"] == Leaderboard.objects.get().pk


def test_acts_on_a_tournament_leave_the_audit_rows_of_the_admin(
    operator: Client, broker: Redis
) -> None:
    tournament = factories.planned()
    address, size = f"tournaments/{tournament.pk}", tournament.n_matches
    for act in ("pause", "pause", "start"):
        _post(operator, f"{address}/{act}")
    _post(operator, f"{address}/extend", n_matches=size + 12)
    for _ in range(2):
        _post(operator, f"{address}/cancel")
    rows = AuditRow.objects.filter(target_kind="tournament", target_id=tournament.pk)
    assert list(rows.order_by("pk").values_list("actor", "action", "touched")) == [
        ("anna", "tournament.pause", {}),
        ("anna", "tournament.resume", {}),
        ("anna", "tournament.extend", {"n_matches": size + 12, "n_before": size}),
        ("anna", "tournament.cancel", {"n_cancelled": size}),
    ]
    assert set(rows.values_list("target_label", flat=True)) == {str(tournament)}


def test_cancelling_the_tournament_of_a_campaign_is_noted_as_stopping_it(
    operator: Client, rated: Tournament
) -> None:
    campaign = Campaign.objects.get(pk=operating.questioned(rated)["campaigns"])
    for _ in range(2):
        _post(operator, f"tournaments/{campaign.tournament_id}/cancel")
    noted = AuditRow.objects.get(target_kind="campaign", target_id=campaign.pk)
    assert (noted.action, noted.actor) == ("campaign.stop", "anna")
    assert noted.touched == {"n_cancelled": campaign.tournament.n_planned}
    assert not AuditRow.objects.filter(action="tournament.cancel").exists()
