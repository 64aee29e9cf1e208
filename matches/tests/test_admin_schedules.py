"""Schedules in the admin: once or by crontab, which is explained before and after it is stored."""

from typing import Any

import pytest
from django.test import Client
from django_celery_beat.models import PeriodicTask
from redis import Redis

from matches.models import AuditRow, Schedule
from matches.tests import factories

pytestmark = pytest.mark.django_db

ADDRESS = "/admin/matches/schedule/"


@pytest.fixture
def form(broker: Redis) -> dict[str, Any]:
    """Return what adds a schedule when it is posted."""
    return {
        "name": "weekly",
        "leaderboard": factories.planned().leaderboard_id,
        "crontab": "30 4 * * 1",
        "timezone": "UTC",
        "pairing": "double_round_robin",
        "n_matches": 12,
        "weight": 1,
        "error": 0.05,
        "margin": 0,
        "seed": 1,
        "move_s": 10,
        "match_s": 600,
        "is_rated": "on",
    }


def test_a_schedule_is_added_with_what_beat_reads_and_its_meaning_is_said(
    admin_client: Client, form: dict[str, Any]
) -> None:
    page = admin_client.post(f"{ADDRESS}add/", form, follow=True).content.decode()
    schedule = Schedule.objects.get()
    assert PeriodicTask.objects.filter(pk=schedule.periodic_task_id, enabled=True).exists()
    assert "only on Monday" in page
    assert "next, in UTC: Mon" in page
    assert list(AuditRow.objects.values_list("action", flat=True)) == ["schedule.add"]


def test_a_schedule_for_once_is_added(admin_client: Client, form: dict[str, Any]) -> None:
    once = {"crontab": "", "once_at_0": "2999-01-01", "once_at_1": "04:30:00"}
    admin_client.post(f"{ADDRESS}add/", form | once)
    assert f"{Schedule.objects.get().once_at}" == "2999-01-01 04:30:00+00:00"


def test_a_campaign_and_a_season_are_scheduled_too(
    admin_client: Client, form: dict[str, Any]
) -> None:
    campaign_fields = {"question": "top_k", "parameters": '{"k": 2}', "pairing": "", "weight": 3}
    admin_client.post(f"{ADDRESS}add/", form | campaign_fields)
    monthly = {"name": "monthly", "season": "reset", "n_matches": ""}
    admin_client.post(f"{ADDRESS}add/", form | monthly)
    season, campaign = Schedule.objects.all()
    assert (campaign.question, campaign.parameters, campaign.weight) == ("top_k", {"k": 2}, 3)
    assert (season.season, season.n_matches, season.parameters) == ("reset", None, {})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"crontab": "* *"}, "must have five parts"),
        ({"crontab": "99 * * * *"}, "crontab: &#x27;99 * * * *&#x27; is none"),
        ({"crontab": "0 0 31 2 *"}, "is never due"),
        ({"timezone": "Mars/Base"}, "is not known"),
        ({"crontab": ""}, "Give a crontab, or once at"),
        ({"crontab": "", "once_at_0": "2000-01-01", "once_at_1": "04:30:00"}, "is over"),
        ({"n_matches": 0}, "Ensure this value is greater"),
        ({"name": ""}, "This field is required"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused_with_what_was_entered(
    admin_client: Client, form: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    page = admin_client.post(f"{ADDRESS}add/", form | change, follow=True).content.decode()
    assert words in page
    assert 'value="double_round_robin" selected' in page
    assert not Schedule.objects.exists()


def test_a_crontab_is_explained_while_it_is_typed(admin_client: Client) -> None:
    def echo(text: str) -> str:
        answer = admin_client.get(f"{ADDRESS}echo/", {"crontab": text, "timezone": "UTC"})
        assert answer.status_code == 200
        return answer.content.decode()

    assert "only on Monday" in echo("30 4 * * 1")
    assert "must have five parts" in echo("<b>x</b>")
    assert "<b>" not in echo("<b>x</b>")
    assert "next" not in echo("")


def test_a_schedule_is_changed(admin_client: Client, form: dict[str, Any]) -> None:
    admin_client.post(f"{ADDRESS}add/", form)
    schedule = Schedule.objects.get()
    address = f"{ADDRESS}{schedule.pk}/change/"
    admin_client.post(address, form | {"n_matches": 30})
    schedule.refresh_from_db()
    assert schedule.n_matches == 30
    actions = list(AuditRow.objects.values_list("action", flat=True))
    assert actions == ["schedule.change", "schedule.add"]
