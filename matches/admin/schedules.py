"""Schedules: tournaments, campaigns, seasons that start once, or again and again by crontab."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django import forms
from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse, reverse_lazy
from django.utils.html import format_html, format_html_join
from django_celery_beat.models import CrontabSchedule
from unfold.widgets import UnfoldAdminTextInputWidget

from matches.admin.acts import schedules
from matches.admin.base import ModelFormWithAllErrors
from matches.admin.estimates import describe_estimate
from matches.admin.options import add_options, list_names, map_titles
from matches.admin.picker import MOST_AT_ONCE, AgentsField, list_playing
from matches.admin.plan_forms import PlanAdmin, PlanForm
from matches.campaigns import crontabs, scheduling
from matches.campaigns.texts import LabelledText
from matches.errors import BadInputError
from matches.models import Agent, Schedule, ScheduleRun
from matches.plans import schedule_options
from matches.store.auditing import Actor
from matches.store.clock import db_now

WHEN = ("crontab", "timezone", "once_at")
OPTIONS = schedule_options()
FIRST = ("name", "leaderboard", "agents", *WHEN, "season", "question")
STANDING = ("is_enabled", "next_due", "n_started", "n_skipped", "problem", "runs")
LABELS = {
    "once_at": "Or once, at (UTC)",
    "timezone": "Time zone of the crontab",
    "season": "Begin a season",
}
N_RUNS = 10
N_TIMES = 3


class CrontabMeaning(NamedTuple):
    """What a crontab means, or why it means nothing."""

    says: str
    is_refused: bool = False
    field: str = ""


class CrontabInput(UnfoldAdminTextInputWidget):  # type: ignore[misc]  # unfold has no types
    """A crontab, and below it what it means, told while it is typed."""

    def render(self, *args: Any, **kwargs: Any) -> str:
        """Return the field with its echo."""
        field = super().render(*args, **kwargs)
        return format_html(
            '{}<p id="crontab-echo" class="ev-echo" role="status" aria-live="polite"></p>', field
        )


class ScheduleForm(PlanForm):
    """What to start, and when; the service has the last word."""

    agents = AgentsField(
        queryset=Agent.objects.filter(is_retired=False).order_by("game", "name"),
        required=False,
        help_text="Empty: all of the leaderboard that may play at that time.",
    )
    crontab = forms.CharField(
        max_length=200,
        required=False,
        help_text="Minute, hour, day of month, month, day of week: 30 4 * * 1; empty: once.",
        widget=CrontabInput(
            attrs={
                "autocomplete": "off",
                "hx-get": reverse_lazy("admin:matches_schedule_echo"),
                "hx-trigger": "load, input changed delay:300ms",
                "hx-include": "[name=timezone]",
                "hx-target": "#crontab-echo",
                "hx-swap": "outerHTML",
            }
        ),
    )

    class Meta:
        # The service writes the rest
        model = Schedule
        fields = ("name", "leaderboard", *WHEN, "season", *list_names(OPTIONS))

    def validate_constraints(self) -> None:
        """Leave the database's words unsaid: clean says the same in better ones."""

    def estimate(self) -> list[LabelledText]:
        """Return the forecast of each tournament or campaign that it starts."""
        fields = self.cleaned_data
        if fields["season"] or not fields["n_matches"]:
            return [LabelledText("Matches", "none: it begins a season")]
        board = fields["leaderboard"]
        rated = list_playing(board).filter(rating__leaderboard=board)[:MOST_AT_ONCE]
        agents = list(fields["agents"] or rated)
        lines = describe_estimate(
            fields["n_matches"], leaderboard=board, agents=agents, now=db_now()
        )
        return [LabelledText(f"{line.label}, each time", line.says) for line in lines]

    def clean(self) -> dict[str, Any]:
        """Refuse a crontab that is none; what it needs besides, the service knows."""
        cleaned = super().clean() or self.cleaned_data
        if not {*WHEN} & {*self.errors} and bool(cleaned["crontab"]) == bool(cleaned["once_at"]):
            self.add_error("crontab", "Give a crontab, or once at for a single time; not both.")
        elif cleaned.get("crontab"):
            zone = cleaned.get("timezone") or "UTC"
            meaning = explain_crontab(cleaned["crontab"], zone, now=db_now())
            if meaning.is_refused:
                field = "timezone" if meaning.field == "timezone" else "crontab"
                self.add_error(field, meaning.says)
        return cleaned


@admin.register(Schedule)
class ScheduleAdmin(PlanAdmin):
    """When beat starts what."""

    list_display = ("name", "leaderboard", "when", "next_due", "is_enabled", "n_started", "problem")
    list_filter = ("is_enabled",)
    list_select_related = ("leaderboard",)
    search_fields = ("name",)
    ordering = ("-pk",)
    acts = schedules.ACTS
    options = OPTIONS
    starts = "Save schedule"

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of the pages, and that of the echo of a crontab."""
        view = self.admin_site.admin_view(self.echo_view)
        return [path("echo/", view, name="matches_schedule_echo"), *super().get_urls()]

    def echo_view(self, request: HttpRequest) -> HttpResponse:
        """Return what a crontab means, as a piece of a page."""
        text, zone = request.GET.get("crontab", "").strip(), request.GET.get("timezone", "UTC")
        now = db_now()
        meaning = explain_crontab(text, zone, now=now) if text else CrontabMeaning("")
        return TemplateResponse(request, "admin/acts/echo.html", {"echo": meaning})

    def get_form(
        self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelFormWithAllErrors]:
        """Return the form with its labels."""
        form = add_options(ScheduleForm, self.options)
        options = {**kwargs, "form": form, "labels": {**LABELS, **map_titles(self.options)}}
        form_class: type[ModelFormWithAllErrors] = super().get_form(request, obj, change, **options)
        return form_class

    def get_fields(self, _: HttpRequest, obj: Model | None = None) -> Sequence[str]:
        """Return the fields to enter, and for a stored schedule also its runs."""
        entered = self.list_entered(FIRST)
        return (*entered, *STANDING) if obj else entered

    def get_readonly_fields(self, _: HttpRequest, obj: Model | None = None) -> Sequence[str]:
        """Return what only services write."""
        return STANDING if obj else ()

    def save_form(self, request: HttpRequest, form: Any, change: bool) -> Any:  # noqa: ARG002 - Django's name
        """Return the row as entered; nothing is written yet."""
        return form.save(commit=False)

    def save_model(self, request: HttpRequest, obj: Schedule, form: Any, change: bool) -> None:  # noqa: ARG002 - Django's name
        """Store it together with what beat reads, and say what its crontab means."""
        now, agents = db_now(), list(form.cleaned_data["agents"])
        scheduling.save_schedule(obj, agents=agents, actor=Actor.of(request.user), now=now)
        if obj.crontab:
            meaning = explain_crontab(obj.crontab, obj.timezone, now=now)
            self.message_user(request, meaning.says, messages.INFO)

    def save_related(self, *_: Any) -> None:
        """Do nothing: the service has entered the agents."""

    def leave_audit_row(self, *_: Any) -> None:
        """Do nothing: the service has left the audit row."""

    @admin.display(description="when")
    def when(self, obj: Schedule) -> str:
        """Return its time as people read it."""
        return scheduling.describe_when(obj)

    @admin.display(description="next due")
    def next_due(self, obj: Schedule) -> datetime | None:
        """Return when it is due next."""
        try:
            return scheduling.next_due(obj, now=db_now())
        except BadInputError:
            return None  # a zone that this machine does not know any more

    @admin.display(description="newest times")
    def runs(self, obj: Schedule) -> str:
        """Return the latest times at which it was due, and what was started."""
        newest = obj.runs.select_related("tournament", "season")[:N_RUNS]
        rows = ((run.due_at.strftime("%Y-%m-%d %H:%M"), _link_run(run)) for run in newest)
        return format_html_join("", "<div>{} UTC: {}</div>", rows) or "It was not due yet."


def _link_run(run: ScheduleRun) -> str:
    if run.season is not None:
        address = reverse("admin:matches_season_change", args=[run.season.pk])
        return format_html('<a class="ev-link" href="{}">{} ended</a>', address, run.season)
    if run.tournament is None:
        return f"passed over: {run.problem}"
    address = reverse("admin:matches_tournament_change", args=[run.tournament.pk])
    return format_html('<a class="ev-link" href="{}">{}</a>', address, run.tournament)


def explain_crontab(text: str, timezone: str, *, now: datetime) -> CrontabMeaning:
    """Return what a crontab means in its time zone: words, and the next times it is due."""
    try:
        crontab = crontabs.parse_crontab(text, timezone, now=now)
    except BadInputError as error:
        return CrontabMeaning(str(error), is_refused=True, field=error.field)
    times: list[datetime] = []
    while len(times) < N_TIMES:
        due = crontab.next(now=times[-1] if times else now)
        if due is None:
            break
        times.append(due)
    parts = dict(zip(crontabs.PARTS, crontabs.split_crontab(text), strict=True))
    words = CrontabSchedule(**parts, timezone=timezone).human_readable
    times_text = ", ".join(f"{at:%a %Y-%m-%d %H:%M}" for at in times)
    return CrontabMeaning(f"{words}; next, in UTC: {times_text}")
