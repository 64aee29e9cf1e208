"""Agents: register, rename, retire, quarantine."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from matches.admin.acts import agents
from matches.admin.offering import OffersActs
from matches.artifacts.agents import choose_placement
from matches.models import Agent
from matches.operations import explain

STANDING = ("standing", "version", "newer", "placement", "quarantined_at", "quarantine_reason")


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

    def get_fields(self, _: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Return what is entered, and of a registered one where it stands."""
        return (*self.fields, *STANDING) if obj else self.fields

    def get_readonly_fields(self, _: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Return what cannot change any more."""
        return (*self.fields[1:], *STANDING) if obj else ()

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

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        """Place its network where its checkpoint's verdict says."""
        if not change:
            obj.placement = choose_placement(obj.checkpoint)
        super().save_model(request, obj, form, change)
