"""Acts on the pages of a model: above its rows, and above the page of one row."""

from datetime import datetime
from functools import partial
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse

from matches.admin.acts import asking
from matches.admin.acts.base import Act, Chosen, Touch
from matches.admin.base import Admin, ReadOnlyAdmin
from matches.operations.explain import Explanation
from matches.store.clock import db_now


class Offer(NamedTuple):
    """An act as the page of a row offers it."""

    act: Act[Any]
    touch: Touch
    address: str


class OffersActs(Admin):
    """Pages that say why a row stands where it stands, and what an operator may do with it."""

    acts: ClassVar[tuple[Act[Any], ...]] = ()
    change_form_outer_before_template = "admin/acts/standing.html"

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of the pages, that of asking first."""
        view = self.admin_site.admin_view(self.ask_view)
        own = path("ask/<slug:name>/", view, name=self._ask_name())
        return [own, *super().get_urls()]

    def ask_view(self, request: HttpRequest, name: str) -> HttpResponse:
        """Ask about an act, or do it when it was confirmed."""
        for act in self.acts:
            if act.name == name:
                return asking.ask(self, request, act)
        raise Http404(f"no act is named {name}")

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Return what the list offers for chosen rows: only what the user may do."""
        offered = {
            act.name: (partial(_ask_about, act=act), act.name, act.title)
            for act in self.acts
            if act.is_allowed(request.user)
        }
        return {} if "_popup" in request.GET else offered

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show with a row why it stands where it stands, and what can be done."""
        standing = self._standing(request, object_id) if object_id else {}
        context = {**(extra_context or {}), **standing}
        return super().changeform_view(request, object_id, form_url, context)

    def explain(self, row: Any, *, now: datetime) -> Explanation | None:  # noqa: ARG002 - for those that can
        """Return why a row stands where it stands; None where that is plain."""
        return None

    def _standing(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        row = self.get_object(request, object_id)
        if row is None:
            return {}
        now = db_now()
        offers = self._offers(request, row, now=now)
        return {"explanation": self.explain(row, now=now), "offers": offers}

    def _offers(self, request: HttpRequest, row: Model, *, now: datetime) -> list[Offer]:
        allowed = [act for act in self.acts if act.is_allowed(request.user)]
        offers = [(act, act.touch(Chosen(row, now))) for act in allowed]
        return [
            Offer(act, touch, ask_address(self, act, [row.pk], is_from_row=True))
            for act, touch in offers
            if not touch.is_refused
        ]

    def _ask_name(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_ask"


class ReadOnlyWithActs(OffersActs, ReadOnlyAdmin):
    """Rows that only services write, some of them when an operator asks for it."""


def ask_address(
    page: OffersActs, act: Act[Any], pks: list[int], *, is_from_row: bool = False
) -> str:
    """Return the address that asks about an act on these rows."""
    name = f"admin:{page.opts.app_label}_{page.opts.model_name}_ask"
    wanted = [("pk", pk) for pk in pks]
    query = urlencode([*wanted, ("from", "row")] if is_from_row else wanted)
    return f"{reverse(name, args=[act.name])}?{query}"


def _ask_about(
    page: OffersActs, request: HttpRequest, queryset: QuerySet[Any], *, act: Act[Any]
) -> HttpResponse:
    """Go to the page that asks about the rows chosen in a list."""
    most = asking.MAX_CHOSEN if act.takes_many else 1
    pks = list(queryset.order_by("-pk").values_list("pk", flat=True)[: most + 1])
    if len(pks) > most:
        what = f"{page.opts.verbose_name_plural}" if most > 1 else f"{page.opts.verbose_name}"
        messages.error(request, f"{act.title} takes {most:,} {what} at a time: choose fewer.")
        return HttpResponseRedirect(request.get_full_path())
    return HttpResponseRedirect(ask_address(page, act, pks))
