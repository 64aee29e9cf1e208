"""Agents: register, rename, retire, quarantine."""

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest
from django.urls import URLPattern, reverse
from django.utils.html import format_html

from matches.admin.acts import agents
from matches.admin.offering import OffersActs
from matches.admin.parameter_fields import ParametersField, list_policy_parameters
from matches.admin.picker import picker_url
from matches.artifacts.agents import choose_placement
from matches.models import Agent, Leaderboard
from matches.operations import explain

STANDING = ("standing", "version", "newer", "placement", "quarantined_at", "quarantine_reason")


def offer_tournament(request: HttpRequest, agent: Agent) -> None:
    """Say where a new agent is entered in a tournament, on the newest leaderboard of its game."""
    board = Leaderboard.objects.filter(game=agent.game, is_listed=True).order_by("-pk").first()
    query = urlencode({"agents": agent.pk, **({"leaderboard": board.pk} if board else {})})
    address = f"{reverse('admin:matches_tournament_add')}?{query}"
    link = format_html('{} plays nothing yet: <a href="{}">schedule it</a>.', agent, address)
    messages.info(request, link)


@admin.register(Agent)
class AgentAdmin(OffersActs):
    """What an agent is cannot change after it is registered: its ratings belong to that."""

    list_display = (
        "name",
        "game",
        "policy",
        "parameters",
        "checkpoint",
        "shown_version",
        "standing",
    )
    list_filter = ("game", "policy", "is_retired")
    search_fields = ("name",)
    ordering = ("-pk",)
    list_select_related = ("checkpoint",)
    autocomplete_fields = ("checkpoint",)
    fields = ("name", "game", "policy", "parameters", "checkpoint")
    acts = agents.ACTS

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of the pages, and that of the choice of agents in forms."""
        return [picker_url(self.admin_site), *super().get_urls()]

    def get_fields(self, _: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Return what is entered, and of a registered one where it stands."""
        return (*self.fields, *STANDING) if obj else self.fields

    def get_readonly_fields(self, _: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Return what cannot change any more."""
        return (*self.fields[1:], *STANDING) if obj else ()

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the parameters as fields of the chosen kind."""
        if db_field.name != "parameters":
            return super().formfield_for_dbfield(db_field, request, **kwargs)
        help_text = "Of the policy kind; left empty, each is as by default."
        return ParametersField(
            owner="policy", declare=list_policy_parameters, required=False, help_text=help_text
        )

    def view_on_site(self, obj: Model) -> str:
        """Return the address of its page."""
        return reverse("agent", args=[obj.pk])

    @admin.display(description="state")
    def standing(self, obj: Agent) -> str:
        """Return in words whether it may play: a cross would look like a fault."""
        if obj.quarantined_at is not None:
            return "in quarantine"
        return "retired" if obj.is_retired else "may play"

    def explain_row(self, row: Agent, *, now: datetime) -> explain.Explanation:
        """Return what it waits for."""
        return explain.of_agent(row, now=now)

    def response_add(self, request: HttpRequest, obj: Agent, *args: Any, **kwargs: Any) -> Any:
        """Lead on to a tournament with it."""
        offer_tournament(request, obj)
        return super().response_add(request, obj, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        """Place its network where its checkpoint's verdict says."""
        if not change:
            obj.placement = choose_placement(obj.checkpoint)
        super().save_model(request, obj, form, change)
