"""Leaderboards: open one, retitle it."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from matches.admin.base import Admin
from matches.models import Leaderboard


@admin.register(Leaderboard)
class LeaderboardAdmin(Admin):
    """The rules of a leaderboard are fixed when it is opened: its results are comparable."""

    list_display = ("name", "title", "game", "n_counted", "rated_at", "created_at")
    list_filter = ("game",)
    search_fields = ("name", "title")
    fields = ("title", "name", "game", "game_parameters", "opening_plies", "draw_probability")

    def get_readonly_fields(self, _: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Return what cannot change any more."""
        return tuple(name for name in self.fields if name != "title") if obj else ()

    def get_prepopulated_fields(
        self, _: HttpRequest, obj: Model | None = None
    ) -> dict[str, tuple[str, ...]]:
        """Propose a name from the title for a new one only."""
        return {} if obj else {"name": ("title",)}

    def view_on_site(self, obj: Leaderboard) -> str:
        """Return the address of its page."""
        return reverse("board", args=[obj.name])
