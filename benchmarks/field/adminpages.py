"""The pages of the admin: of every model its list at its worst, its form and one of its rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.auth.models import User
from django.db.models import Model
from django.test import RequestFactory
from django.urls import URLPattern

from benchmarks.field.errors import ForgottenError
from benchmarks.field.people import ADMIN

SITE: Mapping[str, Sequence[str]] = {
    "index": ("/admin/",),
    "app_list": ("/admin/matches/",),
    "search": ("/admin/search/?s=agent",),
    "autocomplete": (
        "/admin/autocomplete/?app_label=matches&model_name=agent&field_name=checkpoint&term=c4",
    ),
    "jsi18n": ("/admin/jsi18n/",),
    "password_change": ("/admin/password_change/",),
}
NOT_ASKED: Mapping[str, str] = {
    "login": "it forwards who is in",
    "logout": "only by POST",
    "password_change_done": "says one sentence",
    "view_on_site": "forwards",
    "auth_user_password_change": "a form of one row",
}
ROWS: Mapping[str, str] = {
    "agent": "busiest",
    "checkpoint": "checkpoint_id",
    "leaderboard": "board_id",
    "match": "match",
    "outcome": "match",
    "order": "order",
    "tournament": "tournament",
    "tokenaccess": "token",
    "schedule": "schedule",
    "season": "season",
    "campaign": "campaign",
    "alarm": "alarm",
    "user": "operator",
    "worker": "worker",
}
"""Whose row is shown, by model; of others the first there is."""
FILTERS: Mapping[str, Sequence[str]] = {
    "match": ("tournament={tournament}", "state=done", "state=pending", "state=void"),
    "tournament": ("state=running", "state=done", "pairing=random"),
    "agent": ("game=connect_four", "policy=network", "is_retired__exact=1"),
    "checkpoint": ("game=connect_four", "state=refused"),
    "order": ("state=playing", "state=closed", "state=lost"),
    "outcome": ("is_forfeit__exact=1", "reason=crash"),
}
ITS_OWN: Mapping[str, Sequence[str]] = {
    "matches_schedule_echo": ("/admin/matches/schedule/echo/?crontab=0+3+*+*+*&timezone=UTC",),
}
"""Pages of a model besides the usual ones and its acts."""
USUAL = ("changelist", "add", "history", "delete", "change", "ask")


def addresses() -> Iterator[str]:
    """Yield all. Raises ForgottenError naming what is below the admin without an example."""
    yield from _of_site()
    for model, its_admin in admin.site._registry.items():
        yield from _of_model(model, its_admin)


def _of_site() -> Iterator[str]:
    names = [pattern.name for pattern in admin.site.get_urls() if isinstance(pattern, URLPattern)]
    unknown = [name for name in names if name and name not in SITE and name not in NOT_ASKED]
    if unknown:
        raise ForgottenError(f"pages of the admin without an example: {', '.join(unknown)}")
    return (page for pages in SITE.values() for page in pages)


def _of_model(model: type[Model], its_admin: "ModelAdmin[Any]") -> Iterator[str]:
    name = model._meta.model_name or ""
    base = f"/admin/{model._meta.app_label}/{name}/"
    request = RequestFactory().get(base)
    request.user = User.objects.get(username=ADMIN)
    yield base
    if its_admin.get_search_fields(request):
        yield f"{base}?q=1"
    # Of other packages' models there are a few rows, or none.
    columns = its_admin.get_sortable_by(request) if model._meta.app_label == "matches" else ()
    for place, column in enumerate(its_admin.get_list_display(request), 1):
        if column in columns:
            yield from (f"{base}?o={place}", f"{base}?o=-{place}")
    yield from (f"{base}?{chosen}" for chosen in FILTERS.get(name, ()))
    if its_admin.has_add_permission(request):
        yield f"{base}add/"
    yield from _of_row(model, its_admin, base)
    yield from _of_its_own(model, its_admin)


def _of_row(model: type[Model], its_admin: "ModelAdmin[Any]", base: str) -> Iterator[str]:
    name = model._meta.model_name or ""
    row = f"{{{ROWS[name]}}}" if name in ROWS else _first(model)
    if row is None:
        return
    yield from (f"{base}{row}/change/", f"{base}{row}/history/")
    yield from (f"{base}ask/{act.name}/?pk={row}" for act in getattr(its_admin, "acts", ()))


def _of_its_own(model: type[Model], its_admin: "ModelAdmin[Any]") -> Iterator[str]:
    """Yield what else a model has. Raises ForgottenError naming what is not known here."""
    usual = {f"{model._meta.app_label}_{model._meta.model_name}_{page}" for page in USUAL}
    names = {
        pattern.name
        for pattern in its_admin.get_urls()
        if isinstance(pattern, URLPattern) and pattern.name
    }
    for name in sorted(names - usual - NOT_ASKED.keys()):
        if name not in ITS_OWN:
            raise ForgottenError(f"no example in ITS_OWN of the page {name}")
        yield from ITS_OWN[name]


def _first(model: type[Model]) -> str | None:
    first = model._default_manager.order_by("pk").first()
    return None if first is None else str(first.pk)
