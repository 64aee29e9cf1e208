"""Imports of results that were played elsewhere: to look at and to strike."""

from django.contrib import admin
from django.urls import reverse

from matches.admin.acts import imports
from matches.admin.offering import ReadOnlyWithActs
from matches.models import ImportBatch


@admin.register(ImportBatch)
class ImportBatchAdmin(ReadOnlyWithActs):
    """Files of results; `evalsite results import` brings them."""

    list_display = ("file_name", "leaderboard", "n_rows", "standing", "actor", "created_at")
    list_select_related = ("leaderboard", "tournament")
    search_fields = ("file_name",)
    ordering = ("-pk",)
    acts = imports.ACTS
    fields = (
        *("file_name", "leaderboard", "tournament", "standing", "sha256", "columns"),
        *("n_rows", "n_known", "n_new_agents", "actor", "created_at", "finished_at", "struck_at"),
    )

    def view_on_site(self, obj: ImportBatch) -> str:
        """Return the address of the tournament that holds its matches."""
        return reverse("tournament", args=[obj.tournament_id])

    @admin.display(description="state")
    def standing(self, obj: ImportBatch) -> str:
        """Return the state of the import."""
        return obj.state
