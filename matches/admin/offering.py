"""Acts on the pages of a model: above its rows, and above the page of one row."""

from datetime import datetime
from functools import partial
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse

from matches.admin.acts.base import Act, ChosenRow
from matches.admin.asking import MAX_CHOSEN, ask_or_perform
from matches.admin.base import Admin, ReadOnlyAdmin
from matches.operations.explain import Explanation
from matches.store.clock import db_now


class Offer(NamedTuple):
    """An act as the page of a row offers it."""

    act: Act[Any]
    address: str


class OffersActs(Admin):
    """Pages that say why a row stands where it stands, and what an operator may do with it."""

    acts: ClassVar[tuple[Act[Any], ...]] = ()
    change_form_outer_before_template = "admin/acts/standing.html"

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of the pages, that of asking first."""
        view = self.admin_site.admin_view(self.ask_view)
        name = f"{self.opts.app_label}_{self.opts.model_name}_ask"
        # First: Django's own addresses of a row take any word as its key.
        return [path("ask/<slug:name>/", view, name=name), *super().get_urls()]

    def ask_view(self, request: HttpRequest, name: str) -> HttpResponse:
        """Ask about an act, or do it when it was confirmed."""
        for act in self.acts:
            if act.name == name:
                return ask_or_perform(self, request, act)
        raise Http404(f"no act is named {name}")

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Return what the list offers for chosen rows: only what the user may do."""
        offered = {
            act.name: (partial(_ask_about, act=act), act.name, act.title)
            for act in self.acts
            if act.is_allowed(request.user)
        }
        # A popup chooses a row for another form: it is no place to act.
        return {} if "_popup" in request.GET else offered

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show with a row why it stands where it stands, and what can be done."""
        standing = self._describe_standing(request, object_id) if object_id else {}
        context = {**(extra_context or {}), **standing}
        return super().changeform_view(request, object_id, form_url, context)

    def explain_row(self, row: Any, *, now: datetime) -> Explanation | None:  # noqa: ARG002 - for those that can
        """Return why a row stands where it stands; None where that is plain."""
        return None

    def _describe_standing(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        row = self.get_object(request, object_id)
        if row is None:
            return {}
        now = db_now()
        offers = [
            Offer(act, ask_address(self, act, [row.pk], is_from_row=True))
            for act in self.acts
            if act.is_allowed(request.user)
            and not act.preview_effect(ChosenRow(row, now)).is_refused
        ]
        return {"explanation": self.explain_row(row, now=now), "offers": offers}


class ReadOnlyWithActs(OffersActs, ReadOnlyAdmin):
    """Rows that only services write, some of them when an operator asks for it."""


def ask_address(
    page: OffersActs, act: Act[Any], pks: list[int], *, is_from_row: bool = False
) -> str:
    """Return the address that asks about an act on these rows."""
    name = f"admin:{page.opts.app_label}_{page.opts.model_name}_ask"
    rows = [("pk", pk) for pk in pks]
    query = urlencode([*rows, ("from", "row")] if is_from_row else rows)
    return f"{reverse(name, args=[act.name])}?{query}"


def _ask_about(
    page: OffersActs, request: HttpRequest, queryset: QuerySet[Any], *, act: Act[Any]
) -> HttpResponse:
    """Go to the page that asks about the rows chosen in a list."""
    most = MAX_CHOSEN if act.takes_many else 1
    # One more than it takes tells whether there are too many, without counting them all.
    pks = list(queryset.order_by("-pk").values_list("pk", flat=True)[: most + 1])
    if len(pks) > most:
        kind = f"{page.opts.verbose_name_plural}" if most > 1 else f"{page.opts.verbose_name}"
        messages.error(request, f"{act.title} takes {most:,} {kind} at a time: choose fewer.")
        return HttpResponseRedirect(request.get_full_path())
    return HttpResponseRedirect(ask_address(page, act, pks))
