"""What is kept as it was written: no address of the admin edits or deletes it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db.models import Model
from django.test import Client
from django.urls import URLPattern, URLResolver
from redis import Redis

from matches.ledger import voiding
from matches.models import AuditRow, Match, Outcome, Season, SeasonRow, Voiding
from matches.ratings import seasons
from matches.store import auditing
from matches.store.auditing import CONTROL
from matches.tests import boards
from matches.tests.factories import NOW

pytestmark = pytest.mark.django_db

LASTING = (Outcome, AuditRow, Season, SeasonRow, Voiding)
HARMLESS = re.compile(r"logout|password|jsi18n|auth/|^r/")
"""Addresses that end the session of the test, or say nothing of rows."""


@pytest.fixture
def kept(broker: Redis) -> dict[str, list[Any]]:
    """Return what is there of everything that stays."""
    board = boards.played_board(n_matches=42).leaderboard
    seasons.freeze(board, "spring", actor=CONTROL, now=NOW)
    voiding.void_matches([Match.objects.latest("pk").pk], actor=CONTROL, reason="odd", now=NOW)
    return _contents()


def _contents() -> dict[str, list[Any]]:
    return {
        model.__name__: list(model._default_manager.order_by("pk").values()) for model in LASTING
    }


def _addresses(patterns: Any, prefix: str, pk: int) -> Iterator[str]:
    for pattern in patterns:
        text = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _addresses(pattern.url_patterns, text, pk)
        elif isinstance(pattern, URLPattern) and "^" not in text and "(?P" not in text:
            yield re.sub(r"<[^>]+>", str(pk), text)


def _hostile(row: Model) -> dict[str, Any]:
    """Return a form that would change or delete the row wherever somebody listened."""
    fields = {field.name: "9" for field in row._meta.fields}
    deletion = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    inline = {
        f"{prefix}-{name}": value
        for prefix in ("form", "outcome", "rows", "outcome_set")
        for name, value in {
            **{"TOTAL_FORMS": "1", "INITIAL_FORMS": "1", "0-id": row.pk, "0-match": row.pk},
            **{"0-DELETE": "on", "0-ranks": "1,0", "0-reason": "9", "0-name": "9"},
        }.items()
    }
    return {**fields, **deletion, **inline, "pk": row.pk, "select_across": "1", "index": "0"}


BUTTONS: tuple[dict[str, str], ...] = (
    {},
    {"_save": "1"},
    {"_saveasnew": "1"},
    {"_continue": "1"},
    {"_popup": "1"},
)


@pytest.mark.parametrize("model", [Outcome, AuditRow, Season], ids=lambda model: model.__name__)
def test_no_address_of_the_admin_changes_or_deletes_what_stays(
    admin_client: Client, kept: dict[str, list[Any]], model: type[Model]
) -> None:
    row = model._default_manager.earliest("pk")
    own = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
    addresses = sorted(set(_addresses(admin.site.get_urls(), "/admin/", row.pk)))
    assert f"{own}{row.pk}/delete/" in addresses
    n_before = len(kept["AuditRow"])
    for address in addresses:
        if HARMLESS.search(address.removeprefix("/admin/")):
            continue
        for button in BUTTONS if address.startswith(own) else BUTTONS[:1]:
            answer = admin_client.post(address, {**_hostile(row), **button})
            assert answer.status_code < 500, address
    after = _contents()
    after["AuditRow"] = after["AuditRow"][:n_before]  # what an address did elsewhere is noted
    assert after == kept


@pytest.mark.parametrize("model", [Outcome, AuditRow, Season], ids=lambda model: model.__name__)
def test_what_stays_is_shown_without_a_way_to_change_it(
    admin_client: Client, kept: dict[str, list[Any]], model: type[Model]
) -> None:
    row = model._default_manager.earliest("pk")
    own = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
    assert admin_client.get(f"{own}add/").status_code == 403
    assert admin_client.get(f"{own}{row.pk}/delete/").status_code == 403
    for address in (own, f"{own}{row.pk}/change/"):
        page = admin_client.get(address)
        assert page.status_code == 200
        for way in ("delete_selected", 'name="_save"', "/delete/", 'name="_saveasnew"'):
            assert way not in page.content.decode(), way
    assert admin_client.post(f"{own}{row.pk}/change/", {"_save": "1"}).status_code == 403
    assert not LogEntry.objects.exists()


def test_a_season_shows_its_table(admin_client: Client, kept: dict[str, list[Any]]) -> None:
    season = Season.objects.get()
    page = admin_client.get(f"/admin/matches/season/{season.pk}/change/").content.decode()
    assert "mcts:100" in page
    assert season.results_hash in page


def test_the_audit_is_filtered_and_leads_to_its_targets(
    admin_client: Client, kept: dict[str, list[Any]], admin_user: Any
) -> None:
    match = Match.objects.latest("pk")
    voided = f'href="/admin/matches/match/{match.pk}/change/"'
    address = "/admin/matches/auditrow/"
    expected = {
        "": True,
        "?action=match.void": True,
        "?action=leaderboard.freeze": False,
        "?user=none": True,
        f"?user={admin_user.pk}": False,
        "?user=x": False,
        "?target_kind=match": True,
        "?target_kind=agent": False,
        f"?q={match.pk}": True,
        "?q=match": True,
        "?q=nothing": False,
    }
    for query, is_shown in expected.items():
        page = admin_client.get(address + query)
        assert page.status_code == 200, query
        assert (voided in page.content.decode()) is is_shown, query


def test_an_audit_row_of_something_without_a_page_is_text(
    admin_client: Client, kept: dict[str, list[Any]], django_db_blocker: Any
) -> None:
    target = auditing.Target("planet", 7, "Mars")
    auditing.add_audit_row(
        "planet.move", actor=CONTROL, targets=[target], reason="", touched={}, now=NOW
    )
    page = admin_client.get("/admin/matches/auditrow/?action=planet.move").content.decode()
    assert "planet Mars" in page


def test_a_change_in_a_form_leaves_an_audit_row(admin_client: Client, broker: Redis) -> None:
    board = boards.planned_board(n_matches=42).leaderboard
    address = f"/admin/matches/leaderboard/{board.pk}/change/"
    admin_client.post(address, {"title": "New", "is_listed": "on"})
    admin_client.post(address, {"title": "New", "is_listed": "on"})
    noted = AuditRow.objects.get()
    assert (noted.action, noted.actor) == ("leaderboard.change", "admin")
    assert noted.touched == {"fields": ["Title"]}
