"""Agents: register, rename, retire."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from matches.admin.base import Admin
from matches.models import Agent
from matches.services.agents import placement


@admin.register(Agent)
class AgentAdmin(Admin):
    """What an agent is cannot change after it is registered: its ratings belong to that."""

    list_display = ("name", "game", "policy", "parameters", "checkpoint", "is_retired")
    list_filter = ("game", "policy", "is_retired")
    search_fields = ("name",)
    ordering = ("-pk",)
    list_select_related = ("checkpoint",)
    autocomplete_fields = ("checkpoint",)
    fields = ("name", "game", "policy", "parameters", "checkpoint", "placement", "is_retired")

    def get_readonly_fields(self, _: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Return what cannot change any more."""
        fixed = ("game", "policy", "parameters", "checkpoint", "placement")
        return fixed if obj else ("is_retired", "placement")

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        """Place its network where its checkpoint's verdict says."""
        if not change:
            obj.placement = placement(obj.checkpoint)
        super().save_model(request, obj, form, change)
