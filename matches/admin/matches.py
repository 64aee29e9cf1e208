"""Matches with their seats, attempts and outcomes: to look at, to void, never to edit."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from arena.parameters import parse_number
from matches.admin.acts import matches
from matches.admin.base import ReadOnlyAdmin, ReadOnlyInline
from matches.admin.offering import ReadOnlyWithActs
from matches.models import Attempt, Match, Outcome, Tournament, Worker
from matches.operations import explain

N_NEWEST = 50


class FoundByNumber:
    """A list that grows with what is played: in the order of its key only, found by its key only.

    Any other order would read all rows, and so would Django's search for a number as text.
    """

    sortable_by: tuple[str, ...] = ()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the row of that number."""
        del request
        text = search_term.strip()
        if not text:
            return queryset, False
        pk = parse_number(text)
        return (queryset.none() if pk is None else queryset.filter(pk=pk)), False


class NewestTournaments(admin.SimpleListFilter):
    """The newest tournaments; an older tournament's own page links to its matches."""

    title = "tournament"
    parameter_name = "tournament"

    def lookups(self, *_: object) -> list[tuple[str, str]]:
        """Return the newest tournaments and the chosen one."""
        newest = Tournament.objects.values_list("pk", "name")[:N_NEWEST]
        choices = {str(pk): f"{name} ({pk})" for pk, name in newest}
        if self.value() is not None:
            choices.setdefault(str(self.value()), f"tournament {self.value()}")
        return list(choices.items())

    def queryset(self, _: HttpRequest, queryset: QuerySet[Match]) -> QuerySet[Match]:
        """Return the matches of the chosen tournament."""
        chosen = self.value()
        if chosen is None:
            return queryset
        pk = parse_number(chosen)
        return queryset.none() if pk is None else queryset.filter(tournament=pk)


class GameServers(admin.SimpleListFilter):
    """The game servers: what each of them decided."""

    title = "game server"
    parameter_name = "server"

    def lookups(self, *_: object) -> list[tuple[str, str]]:
        """Return the game servers and the chosen one."""
        newest = Worker.objects.exclude(game="").order_by("-last_seen_at")
        names = dict.fromkeys(newest.values_list("node", flat=True)[:N_NEWEST])
        if self.value() is not None:
            names.setdefault(str(self.value()))
        return [(name, name) for name in names]

    def queryset(self, _: HttpRequest, queryset: QuerySet[Match]) -> QuerySet[Match]:
        """Return the matches that the chosen server tried or decided."""
        chosen = self.value()
        if chosen is None:
            return queryset
        # Django calls the table U0 in a subquery.
        served = Attempt.objects.filter(Attempt.is_served("u0"), server=chosen)
        return queryset.filter(pk__in=served.values("match"))


class AttemptInline(ReadOnlyInline):
    """Every try at the match that has ended, with its reason."""

    model = Attempt
    fields = (
        *("number", "ending", "reason", "seat", "detail", "node", "server"),
        *("was_executing", "n_steps", "duration_ms", "ended_at"),
    )
    readonly_fields = fields


@admin.register(Match)
class MatchAdmin(FoundByNumber, ReadOnlyWithActs):
    """A match in full."""

    list_display = ("id", "tournament", "sequence", "seats", "state", "attempt", "result")
    list_filter = ("state", NewestTournaments, GameServers)
    list_select_related = ("tournament", "leaderboard", "outcome")
    search_fields = ("=id",)
    search_help_text = "The number of a match."
    ordering = ("-pk",)
    inlines = (AttemptInline,)
    acts = matches.ACTS
    fields = (
        *("leaderboard", "tournament", "sequence", "state", "void_reason", "seats", "result"),
        *("attempt", "order", "block", "rotation", "game_seed"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Match]:
        """Return matches with what the list shows of them."""
        rows: QuerySet[Match] = super().get_queryset(request)
        # Else the list would ask for the seats and the agents of each of its rows.
        return rows.prefetch_related("seat_rows__agent")

    def explain_row(self, row: Match, *, now: datetime) -> explain.Explanation:
        """Return what it waits for."""
        return explain.of_match(row, now=now)

    def view_on_site(self, obj: Model) -> str:
        """Return the address of its page."""
        return reverse("match", args=[obj.pk])

    @admin.display(description="seats")
    def seats(self, obj: Match) -> str:
        """Return the agents by seat."""
        rows = sorted(obj.seat_rows.all(), key=lambda row: row.seat)
        return ", ".join(f"{row.seat}: {row.agent}" for row in rows)

    @admin.display(description="outcome")
    def result(self, obj: Match) -> str:
        """Return the ranks by seat, and who forfeited why."""
        outcome: Outcome | None = getattr(obj, "outcome", None)
        if outcome is None:
            return obj.void_reason or "none yet"
        forfeit = f", seat {outcome.guilty_seat} forfeits: {outcome.reason}"
        return f"{outcome}{forfeit if outcome.is_forfeit else ''}"


@admin.register(Outcome)
class OutcomeAdmin(FoundByNumber, ReadOnlyAdmin):
    """The append-only log; nobody edits or deletes it."""

    # No filters: there are too many rows to look for the few that fit.
    list_display = ("match_id", "ranks", "ending", "recorded_at")
    search_fields = ("=match__id",)
    search_help_text = "The number of a match."
    ordering = ("-pk",)

    @admin.display(description="ending")
    def ending(self, obj: Outcome) -> str:
        """Return how it ended, in words."""
        return f"seat {obj.guilty_seat} forfeits: {obj.reason}" if obj.is_forfeit else obj.reason
