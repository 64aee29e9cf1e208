"""Campaigns and alarms in the admin: started after their forecast, stopped and acknowledged."""

import re
from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.campaigns import judging
from matches.ledger import pairing_warnings
from matches.ledger.tournaments import cancel_tournament
from matches.models import Agent, Alarm, AuditRow, Campaign, Tournament
from matches.tests import boards
from matches.tests.factories import NOW, later
from matches.tests.test_campaigns import FIELD, campaign_of, ended, go_on

pytestmark = pytest.mark.django_db(transaction=True)

ADD = "/admin/matches/campaign/add/"


@pytest.fixture(autouse=True)
def _broker(broker: Redis) -> None:
    """Have a broker."""


@pytest.fixture
def form() -> dict[str, Any]:
    """Return what starts a campaign when it is posted twice."""
    campaign = campaign_of()
    cancel_tournament(campaign.tournament, now=NOW)
    judging.judge_all(now=NOW)
    return {
        "leaderboard": campaign.tournament.leaderboard_id,
        "name": "which is best",
        "agents": [agent.pk for agent in Agent.objects.all()],
        "question": "best",
        "parameters": "{}",
        "error": "0.05",
        "margin": "0",
        "max_matches": "400",
        "max_core_s": "",
        "max_money": "",
        "pairing": "",
        "weight": "1",
    }


def _hidden(html: str) -> str:
    match = re.search(r'name="foreseen" value="(\w+)"', html)
    assert match is not None
    return match[1]


def _errors(client: Client, form: dict[str, Any]) -> str:
    response = client.post(ADD, form)
    assert response.status_code == 200
    errors = response.context["adminform"].form.errors
    return " ".join(f"{field}: {' '.join(messages)}" for field, messages in errors.items())


def test_it_shows_the_forecast_first_and_starts_then(
    admin_client: Client, form: dict[str, Any]
) -> None:
    n_before = Campaign.objects.count()
    assert "Show forecast" in admin_client.get(ADD).content.decode()
    first = admin_client.post(ADD, form).content.decode()
    assert "Nothing is started yet: this is what it will take" in first
    assert "Matches to the verdict" in first
    assert "Please correct" not in first
    assert "Start campaign" in first
    assert Campaign.objects.count() == n_before
    second = admin_client.post(ADD, {**form, "foreseen": _hidden(first)})
    assert second.status_code == 302
    campaign = Campaign.objects.latest("pk")
    assert Campaign.objects.count() == n_before + 1
    assert (campaign.question, campaign.max_matches) == ("best", 400)
    assert campaign.tournament.pairing == "order_information"
    assert campaign.tournament.agents.count() == len(FIELD)
    assert AuditRow.objects.filter(action="campaign.add").exists()


def test_what_was_changed_after_the_forecast_is_foreseen_anew(
    admin_client: Client, form: dict[str, Any]
) -> None:
    forecast_token = _hidden(admin_client.post(ADD, form).content.decode())
    changed = {**form, "error": "0.01", "foreseen": forecast_token}
    assert "Nothing is started yet" in admin_client.post(ADD, changed).content.decode()


def test_a_sequential_test_is_foreseen(admin_client: Client, form: dict[str, Any]) -> None:
    fields = {**form, "question": "sprt", "agents": form["agents"][:2]}
    page = admin_client.post(ADD, fields).content.decode()
    assert "It ends accepted" in page
    assert "the log-likelihood ratio would be about" in page


def test_the_form_says_that_a_pairing_suits_the_field_badly(
    admin_client: Client, form: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        pairing_warnings, "warn_before_start", lambda *_, **__: "This field is close."
    )
    page = admin_client.post(ADD, {**form, "pairing": "quality"}).content.decode()
    assert "This field is close." in page


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"error": "0.7"}, "error: "),
        ({"question": "top_k", "parameters": '{"k": 9}'}, "k must be"),
        ({"question": "sprt"}, "agents: "),
        ({"agents": []}, "agents: This field is required."),
        ({"max_matches": "0"}, "max_matches: "),
        ({"parameters": "[1]"}, "parameters: Write names and values"),
        ({"parameters": '{"k": 1'}, "parameters: Enter a valid JSON."),
    ],
)
def test_what_cannot_be_asked_is_said_at_its_field(
    admin_client: Client, form: dict[str, Any], change: dict[str, Any], error: str
) -> None:
    assert error in _errors(admin_client, {**form, **change})


def test_agents_of_another_game_are_refused(admin_client: Client, form: dict[str, Any]) -> None:
    other = Agent.objects.create(name="other", game="connect_four", policy="random")
    fields = {**form, "agents": [*form["agents"], other.pk]}
    assert "'other' plays connect_four" in _errors(admin_client, fields)


def test_the_list_has_the_verdicts_and_a_row_its_forecast(admin_client: Client) -> None:
    decided = ended(campaign_of(name="first"))
    others = tuple(f"level:{level}" for level in (6, 41, 61, 96))
    running = campaign_of(name="second", agents=others, error=0.001)
    go_on(running, 0, boards.by_strength(forfeits=0))
    page = admin_client.get("/admin/matches/campaign/").content.decode()
    assert "level:95 is the best" in page
    assert "16 of 400" in page
    row = admin_client.get(f"/admin/matches/campaign/{running.pk}/change/").content.decode()
    assert "Matches to the verdict: about" in row
    assert "ask/stop/" in row
    row = admin_client.get(f"/admin/matches/campaign/{decided.pk}/change/").content.decode()
    assert "ask/stop/" not in row


def test_numbers_of_a_campaign_are_written_as_its_page_writes_them(admin_client: Client) -> None:
    campaign = ended(campaign_of(max_core_s=7_200_000, max_money=0.25))
    Campaign.objects.update(probability=0.98765432, n_round_robin=45438.388123)
    address = f"/admin/matches/campaign/{campaign.pk}/change/"
    page = admin_client.get(address).content.decode()
    for text in ("98.8\N{NO-BREAK SPACE}%", "45,438<", "7,200,000<", "0.25<", "Round robin"):
        assert text in page, text
    assert "0.98765" not in page
    Campaign.objects.update(probability=None, n_round_robin=None)
    assert "None" not in admin_client.get(address).content.decode()


def _confirm(client: Client, address: str, pk: int) -> str:
    """Answer the page that asks, and return what it says then."""
    page = client.get(f"{address}?pk={pk}&from=row").content.decode()
    hidden = dict(re.findall(r'type="hidden"\s+name="([\w-]+)"\s+value="([^"]*)"', page))
    fields = {**hidden, "pk": pk, "reason": "It is known well enough.", "confirmed": "yes"}
    return client.post(address, fields, follow=True).content.decode()


def test_stopping_cancels_what_is_open_and_writes_how_it_ended(admin_client: Client) -> None:
    campaign = campaign_of(error=0.001)
    go_on(campaign, 0, boards.by_strength(forfeits=0))
    address = "/admin/matches/campaign/ask/stop/"
    assert "is stopped" in _confirm(admin_client, address, campaign.pk)
    campaign.refresh_from_db()
    assert campaign.why == "cancelled"
    assert campaign.tournament.state == Tournament.State.CANCELLED
    noted = AuditRow.objects.get(action="campaign.stop")
    assert noted.reason == "It is known well enough."
    assert (noted.target_kind, noted.target_id) == ("campaign", campaign.pk)
    assert "it has ended" in admin_client.get(f"{address}?pk={campaign.pk}").content.decode()


def test_cancelling_its_tournament_in_the_admin_is_noted_as_stopping_it(
    admin_client: Client,
) -> None:
    campaign = campaign_of(error=0.001)
    address = "/admin/matches/tournament/ask/cancel/"
    assert "is cancelled" in _confirm(admin_client, address, campaign.tournament_id)
    noted = AuditRow.objects.get(action="campaign.stop")
    assert (noted.target_kind, noted.target_id) == ("campaign", campaign.pk)
    assert not AuditRow.objects.filter(action="tournament.cancel").exists()


def test_one_whose_tournament_is_over_cannot_be_stopped(admin_client: Client) -> None:
    campaign = campaign_of()
    cancel_tournament(campaign.tournament, now=later(1))
    page = admin_client.get(f"/admin/matches/campaign/ask/stop/?pk={campaign.pk}")
    assert "its verdict is being written" in page.content.decode()


def test_an_alarm_is_acknowledged_once(admin_client: Client) -> None:
    campaign = ended(campaign_of())
    worse, better = campaign.tournament.agents.order_by("pk")[:2]
    alarm = Alarm.objects.create(
        **{"agent": worse, "ancestor": better, "campaign": campaign, "probability": 0.987},
        **{"margin": 1.0, "level": 0.95, "at": NOW},
    )
    address = "/admin/matches/alarm/ask/acknowledge/"
    assert "is acknowledged" in _confirm(admin_client, address, alarm.pk)
    alarm.refresh_from_db()
    assert alarm.acknowledged_by == "admin"
    assert "has acknowledged it" in admin_client.get(f"{address}?pk={alarm.pk}").content.decode()
    page = admin_client.get("/admin/matches/alarm/").content.decode()
    assert str(worse) in page
    assert "98.7\N{NO-BREAK SPACE}%" in page
