"""Agents: register, rename, retire."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from matches.admin.base import Admin
from matches.models import Agent


@admin.register(Agent)
class AgentAdmin(Admin):
    """What an agent is cannot change after it is registered: its ratings belong to that."""

    list_display = ("name", "game", "policy", "parameters", "is_retired", "created_at")
    list_filter = ("game", "policy", "is_retired")
    search_fields = ("name",)
    ordering = ("-pk",)
    fields = ("name", "game", "policy", "parameters", "is_retired")

    def get_readonly_fields(self, _: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Return what cannot change any more."""
        return ("game", "policy", "parameters") if obj else ("is_retired",)
