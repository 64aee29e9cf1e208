"""Leaderboards: open one, retitle it, rate it again; and the seasons frozen of them."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from matches.admin.acts import leaderboards
from matches.admin.base import ReadOnlyAdmin, ReadOnlyInline
from matches.admin.offering import OffersActs
from matches.admin.parameter_fields import ParametersField, list_game_parameters
from matches.models import Leaderboard, Season, SeasonRow
from matches.store.formats import format_number

PLACES = ("is_listed", "is_pinned")
COUNTED = ("game_version", "n_counted", "n_settled", "rated_at", "results_hash")


@admin.register(Leaderboard)
class LeaderboardAdmin(OffersActs):
    """The rules of a leaderboard are fixed when it is opened: its results are comparable."""

    list_display = ("name", "title", "game", "matches_counted", "rated_at", "created_at")
    list_filter = ("game", *PLACES)
    search_fields = ("name", "title")
    acts = leaderboards.ACTS
    fields = (
        *("title", "name", "game", "game_parameters", "opening_plies", "draw_probability"),
        *PLACES,
    )

    def get_fields(self, _: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Return what is entered, and of an open one how far it is."""
        return (*self.fields, *COUNTED) if obj else self.fields

    def get_readonly_fields(self, _: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Return what cannot change any more."""
        return (*self.fields[1 : -len(PLACES)], *COUNTED) if obj else ()

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the parameters as fields of the chosen game."""
        if db_field.name != "game_parameters":
            return super().formfield_for_dbfield(db_field, request, **kwargs)
        help_text = "Of the game; left empty, each is as by default."
        return ParametersField(
            owner="game", declare=list_game_parameters, required=False, help_text=help_text
        )

    def get_prepopulated_fields(
        self, _: HttpRequest, obj: Model | None = None
    ) -> dict[str, tuple[str, ...]]:
        """Propose a name from the title for a new one only."""
        return {} if obj else {"name": ("title",)}

    @admin.display(description="matches counted", ordering="n_counted")
    def matches_counted(self, obj: Leaderboard) -> str:
        """Return how many matches its ratings count."""
        return format_number(obj.n_counted)

    def view_on_site(self, obj: Leaderboard) -> str:
        """Return the address of its page."""
        return reverse("board", args=[obj.name])


class SeasonRowInline(ReadOnlyInline):
    """Where the agents stood, fewer on a page than in a list: each cell is a form field."""

    model = SeasonRow
    fields = (
        *("rank", "name", "mu", "low", "high", "live_mu", "live_sigma"),
        *("n_matches", "n_wins", "n_draws", "n_losses", "n_forfeits"),
    )
    readonly_fields = fields
    ordering = ("rank",)
    per_page = 25


@admin.register(Season)
class SeasonAdmin(ReadOnlyAdmin):
    """Leaderboards as they stood; nobody changes or deletes one."""

    list_display = ("name", "leaderboard", "agents", "matches_counted", "frozen_at", "actor")
    list_select_related = ("leaderboard",)
    search_fields = ("name", "leaderboard__name")
    ordering = ("-pk",)
    inlines = (SeasonRowInline,)
    fields = (
        *("name", "leaderboard", "frozen_at", "actor", "reason"),
        *("n_agents", "n_counted", "results_hash", "spread"),
    )

    @admin.display(description="agents", ordering="n_agents")
    def agents(self, obj: Season) -> str:
        """Return how many agents it rates."""
        return format_number(obj.n_agents)

    @admin.display(description="matches counted", ordering="n_counted")
    def matches_counted(self, obj: Season) -> str:
        """Return how many matches its ratings count."""
        return format_number(obj.n_counted)

    def view_on_site(self, obj: Season) -> str:
        """Return the address of its page."""
        return reverse("season", args=[obj.leaderboard.name, obj.pk])
