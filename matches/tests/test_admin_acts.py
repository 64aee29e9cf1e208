"""Acts of operators: they ask, say what they effect, are done once, and leave an audit row."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db.models import Model
from django.test import Client
from redis import Redis

from matches.admin.acts.base import Act
from matches.admin.offering import OffersActs
from matches.ledger import tournaments
from matches.models import (
    AuditRow,
    Leaderboard,
    Outcome,
    Season,
)
from matches.tests import factories
from matches.tests.admin_acts import (
    CASES,
    REASON,
    Case,
    a_board,
    a_worker,
    an_agent,
    done_match,
    every_act,
    form_on,
    fresh,
    last_audit,
    new_rows,
    on_hold,
)
from matches.tests.factories import NOW

pytestmark = pytest.mark.django_db


def test_every_act_has_a_case_here() -> None:
    pages = [page for page in admin.site._registry.values() if isinstance(page, OffersActs)]
    # Later apps have tests of their own.
    pages = [page for page in pages if page.opts.app_label == "matches"]
    acts = {(page.opts.model_name, act.name) for page in pages for act in page.acts}
    assert acts == {(case.model, case.act) for case in CASES}


@every_act
def test_an_act_asks_and_says_what_it_touches(
    admin_client: Client, broker: Redis, case: Case
) -> None:
    row, before = case.row(), last_audit()
    page = admin_client.get(case.ask(row))
    assert page.status_code == 200
    text = page.content.decode()
    assert case.says in text
    assert str(row) in text
    assert "Back, change nothing" in text
    assert new_rows(before) == []
    assert not case.is_done(row)


@every_act
def test_a_confirmed_act_is_done_and_leaves_one_audit_row(
    admin_client: Client, broker: Redis, case: Case
) -> None:
    row, before = case.row(), last_audit()
    form = form_on(admin_client.get(case.ask(row)).content.decode()) | case.fields
    answer = admin_client.post(case.ask(row), form)
    assert answer.status_code == 302
    assert case.is_done(row)
    assert new_rows(before) == [case.audited_as or f"{case.model}.{case.act}"]
    noted = AuditRow.objects.get(pk__gt=before)
    assert noted.actor == "admin"
    if not case.audited_as:
        assert (noted.target_kind, noted.target_id) == (case.model, row.pk)
    assert noted.reason == case.fields.get("reason", "")


@every_act
def test_an_act_that_is_sent_twice_is_done_once(
    admin_client: Client, broker: Redis, case: Case
) -> None:
    row, before = case.row(), last_audit()
    form = form_on(admin_client.get(case.ask(row)).content.decode()) | case.fields
    admin_client.post(case.ask(row), form)
    again = admin_client.post(case.ask(row), form, follow=True)
    assert again.status_code == 200
    page = again.content.decode()
    assert "nothing was done twice" in page or "Nothing is chosen that is still there" in page
    assert len(new_rows(before)) == 1


@every_act
def test_who_may_only_look_is_refused(client: Client, broker: Redis, case: Case) -> None:
    row, before = case.row(), last_audit()
    viewer = User.objects.create_user("viewer", password="look", is_staff=True)
    viewer.user_permissions.add(*Permission.objects.filter(codename__startswith="view_"))
    client.force_login(viewer)
    assert client.get(case.ask(row)).status_code == 403
    form = {"pk": row.pk, "confirmed": "yes", **case.fields}
    assert client.post(case.ask(row), form).status_code == 403
    assert not case.is_done(row)
    assert new_rows(before) == []
    page = client.get(f"/admin/matches/{case.model}/{row.pk}/change/")
    assert f"ask/{case.act}/" not in page.content.decode()


@every_act
def test_nobody_without_a_login_is_asked(client: Client, broker: Redis, case: Case) -> None:
    answer = client.get(f"/admin/matches/{case.model}/ask/{case.act}/?pk=1")
    assert answer.status_code == 302
    assert answer["Location"].startswith("/admin/login/")


@every_act
def test_the_page_of_a_row_offers_the_act(admin_client: Client, broker: Redis, case: Case) -> None:
    row = case.row()
    page = admin_client.get(f"/admin/matches/{case.model}/{row.pk}/change/").content.decode()
    assert f"ask/{case.act}/?pk={row.pk}&amp;from=row" in page


@every_act
def test_the_list_offers_the_act_for_chosen_rows(
    admin_client: Client, broker: Redis, case: Case
) -> None:
    row = case.row()
    form = {"action": case.act, "_selected_action": [row.pk]}
    answer = admin_client.post(f"/admin/matches/{case.model}/", form)
    assert answer.status_code == 302
    assert answer["Location"] == case.ask(row)


@pytest.mark.parametrize("case", [c for c in CASES if "reason" in c.fields], ids=lambda c: c.act)
def test_without_a_reason_nothing_is_done_and_nothing_is_lost(
    admin_client: Client, broker: Redis, case: Case
) -> None:
    row, before = case.row(), last_audit()
    form = form_on(admin_client.get(case.ask(row)).content.decode())
    answer = admin_client.post(case.ask(row), {**form, "reason": " "})
    assert "This field is required" in answer.content.decode()
    assert not case.is_done(row)
    assert new_rows(before) == []


def test_what_has_changed_since_it_was_asked_is_asked_anew(
    admin_client: Client, broker: Redis
) -> None:
    tournament = factories.planned()
    case = next(case for case in CASES if case.act == "cancel")
    form = form_on(admin_client.get(case.ask(tournament)).content.decode()) | REASON
    tournaments.extend_tournament(tournament, 50)
    answer = admin_client.post(case.ask(tournament), form)
    text = answer.content.decode()
    assert "has changed since you were asked" in text
    assert "50 matches of 50" in text
    assert "it looks odd" in text
    assert fresh(tournament).state != "cancelled"


def test_rows_that_are_gone_or_over_are_left_alone(admin_client: Client, broker: Redis) -> None:
    over = factories.planned()
    tournaments.cancel_tournament(over, now=NOW)
    going = factories.planned(board="other")
    address = f"/admin/matches/tournament/ask/pause/?pk={over.pk}&pk={going.pk}&pk=99999&pk=x"
    page = admin_client.get(address).content.decode()
    assert "it is cancelled already" in page
    assert "2 of the chosen are not there any more" in page
    admin_client.post(address, form_on(page))
    assert (fresh(over).state, fresh(going).state) == ("cancelled", "paused")


def test_a_refusal_of_the_service_is_a_message_and_loses_nothing(
    admin_client: Client, broker: Redis
) -> None:
    board = a_board()
    case = next(case for case in CASES if case.act == "freeze")
    first = form_on(admin_client.get(case.ask(board)).content.decode()) | {"name": "spring"}
    admin_client.post(case.ask(board), first)
    second = form_on(admin_client.get(case.ask(board)).content.decode())
    fields = {**second, "name": "spring", "reason": "kept text"}
    answer = admin_client.post(case.ask(board), fields)
    text = answer.content.decode()
    assert "has a season &#x27;spring&#x27; already" in text
    assert 'value="kept text"' in text
    again = admin_client.post(case.ask(board), {**fields, "name": "summer"})
    assert again.status_code == 302
    assert set(Season.objects.values_list("name", flat=True)) == {"spring", "summer"}


def test_a_conflict_is_a_message(
    admin_client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = a_board()
    Leaderboard.objects.filter(pk=board.pk).update(n_settled=1)
    case = next(case for case in CASES if case.act == "freeze")
    form = form_on(admin_client.get(case.ask(board)).content.decode()) | {"name": "spring"}
    answer = admin_client.post(case.ask(board), form)
    assert "are being computed" in answer.content.decode()
    assert not Season.objects.exists()


def test_one_row_that_is_refused_does_not_stop_the_others(
    admin_client: Client, broker: Redis
) -> None:
    small, large = factories.planned(), factories.planned(60, board="other")
    address = f"/admin/matches/tournament/ask/extend/?pk={small.pk}&pk={large.pk}"
    form = form_on(admin_client.get(address).content.decode()) | {"n_matches": 30}
    answer = admin_client.post(address, form, follow=True)
    assert "it has 60 matches" in answer.content.decode()
    assert (fresh(small).n_matches, fresh(large).n_matches) == (30, 60)
    assert list(AuditRow.objects.values_list("target_id", flat=True)) == [small.pk]


def test_too_many_rows_are_refused_by_a_message(
    admin_client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matches.admin.offering.MAX_CHOSEN", 1)
    rows = [factories.planned(board=name) for name in ("one", "two")]
    form = {"action": "pause", "_selected_action": [row.pk for row in rows]}
    answer = admin_client.post("/admin/matches/tournament/", form, follow=True)
    assert "Pause takes 1 tournament at a time" in answer.content.decode()


def test_an_act_that_is_not_there_is_not_found(admin_client: Client) -> None:
    assert admin_client.get("/admin/matches/tournament/ask/explode/?pk=1").status_code == 404


@pytest.mark.parametrize("name", ["tournament", "agent", "worker", "match"])
def test_the_page_of_a_row_says_why_it_stands_there(
    admin_client: Client, broker: Redis, name: str
) -> None:
    rows: dict[str, Callable[[], Model]] = {
        "tournament": on_hold,
        "agent": an_agent,
        "worker": a_worker,
        "match": done_match,
    }
    row = rows[name]()
    page = admin_client.get(f"/admin/matches/{name}/{row.pk}/change/").content.decode()
    assert 'class="ev-summary"' in page


def test_consequences_and_questions_are_said(admin_client: Client, broker: Redis) -> None:
    pages = [page for page in admin.site._registry.values() if isinstance(page, OffersActs)]
    acts: list[Act[Any]] = [act for page in pages for act in page.acts]
    for act in acts:
        assert act.question.endswith("?")
        undo = ("undo", "again", "cannot be", "stay", "goes on")
        assert any(word in act.consequence for word in undo), act.name


def test_outcomes_stay_whatever_is_done_to_their_match(admin_client: Client, broker: Redis) -> None:
    match = done_match()
    before = Outcome.objects.filter(pk=match.pk).values().get()
    case = next(case for case in CASES if case.act == "void")
    form = form_on(admin_client.get(case.ask(match)).content.decode()) | REASON
    admin_client.post(case.ask(match), form)
    assert Outcome.objects.filter(pk=match.pk).values().get() == before
