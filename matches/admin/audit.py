"""Who did what to which, and why: to look at, by act, by user, by target."""

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html

from arena.parameters import parse_number
from matches.admin.base import ReadOnlyAdmin
from matches.models import AuditRow, Campaign, ScheduleRun, Tournament
from matches.store.auditing import Target

N_USERS = 50
N_NEWEST = 5_000
"""Of the newest rows, those whose acts the filter offers."""


class ActionFilter(admin.SimpleListFilter):
    """The acts among the newest rows."""

    title = "action"
    parameter_name = "action"

    def lookups(self, *_: object) -> list[tuple[str, str]]:
        """Return them by name, and the chosen one."""
        newest = AuditRow.objects.order_by("-pk").values_list("action", flat=True)[:N_NEWEST]
        # The chosen one may be older than all of these.
        names = {*newest, *filter(None, [self.value()])}
        return [(name, name) for name in sorted(names)]

    def queryset(self, _: HttpRequest, queryset: QuerySet[AuditRow]) -> QuerySet[AuditRow]:
        """Return the rows of the chosen act."""
        chosen = self.value()
        return queryset.filter(action=chosen) if chosen else queryset


class UserFilter(admin.SimpleListFilter):
    """Who may have done it; what control does is of nobody."""

    title = "user"
    parameter_name = "user"
    nobody = "none"

    def lookups(self, *_: object) -> list[tuple[str, str]]:
        """Return control and the first users by name."""
        users = User.objects.order_by("username").values_list("pk", "username")[:N_USERS]
        return [(self.nobody, "control, command line"), *((str(pk), name) for pk, name in users)]

    def queryset(self, _: HttpRequest, queryset: QuerySet[AuditRow]) -> QuerySet[AuditRow]:
        """Return the rows of the chosen user."""
        chosen = self.value()
        if not chosen:
            return queryset
        if chosen == self.nobody:
            return queryset.filter(user=None)
        pk = parse_number(chosen)
        return queryset.none() if pk is None else queryset.filter(user=pk)


class TargetFilter(admin.SimpleListFilter):
    """What it was done to."""

    title = "target"
    parameter_name = "target_kind"
    # Written down: to ask the audit for its kinds would read all of it.
    kinds = (
        *("agent", "campaign", "checkpoint", "leaderboard", "match"),
        *("schedule", "tokenaccess"),
    )

    def lookups(self, *_: object) -> list[tuple[str, str]]:
        """Return the kinds of targets."""
        return [(kind, kind) for kind in (*self.kinds, "tournament", "worker")]

    def queryset(self, _: HttpRequest, queryset: QuerySet[AuditRow]) -> QuerySet[AuditRow]:
        """Return the rows of the chosen kind."""
        chosen = self.value()
        return queryset.filter(target_kind=chosen) if chosen else queryset


@admin.register(AuditRow)
class AuditRowAdmin(ReadOnlyAdmin):
    """Rows that are only added."""

    list_display = ("at", "actor", "token", "action", "target", "reason", "what")
    list_filter = (ActionFilter, UserFilter, TargetFilter)
    search_fields = ("=target_id", "target_label__startswith")
    search_help_text = "The number of a target, or how its name begins."
    ordering = ("-pk",)
    fields = ("at", "actor", "user", "token", "action", "target", "reason", "what")
    readonly_fields = fields

    @admin.display(description="target")
    def target(self, obj: AuditRow) -> str:
        """Return what it was done to, as a link where it has a page."""
        address = find_target_address(obj)
        name = f"{obj.target_kind} {obj.target_label}"
        if not address:
            return name
        return format_html('<a href="{}" class="ev-link">{}</a>', address, name)

    @admin.display(description="touched")
    def what(self, obj: AuditRow) -> str:
        return obj.touched_line() or "\N{EN DASH}"


def describe_scheduling(tournament: Tournament) -> str:
    """Return who scheduled a tournament or the campaign that it serves, and with which token."""
    run = ScheduleRun.objects.filter(tournament=tournament).select_related("schedule").first()
    if run is not None:
        return f"schedule {run.schedule.name}"
    campaign = Campaign.objects.filter(tournament=tournament).first()
    scheduled = Target.of(campaign or tournament)
    rows = AuditRow.objects.filter(target_kind=scheduled.kind, target_id=scheduled.id)
    row = rows.filter(action=f"{scheduled.kind}.add").last()
    if row is None:
        return "\N{EN DASH}"
    return f"{row.actor} (token: {row.token})" if row.token else row.actor


def find_target_address(row: AuditRow) -> str:
    """Return the address of the admin's page of a target, or nothing."""
    if row.target_id is None:
        return ""
    try:
        return reverse(f"admin:matches_{row.target_kind}_change", args=[row.target_id])
    except NoReverseMatch:
        return ""  # of a kind without a page of its own
