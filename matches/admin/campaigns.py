"""Campaigns: starting one shows first what it will take; stopping asks. And alarms."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.formats import localize
from unfold.widgets import UnfoldAdminSelectWidget

from matches.admin.acts import campaigns
from matches.admin.audit import describe_scheduling
from matches.admin.base import ModelFormWithAllErrors
from matches.admin.offering import ReadOnlyWithActs
from matches.admin.options import add_options, map_titles
from matches.admin.parameter_fields import DECLARED
from matches.admin.picker import AgentsField
from matches.admin.plan_forms import PlanAdmin, PlanForm
from matches.campaigns import endings, forecasting, texts
from matches.campaigns.starting import check_plan, start_campaign
from matches.ledger.tournaments import check_agents
from matches.models import Agent, Alarm, Campaign, Leaderboard
from matches.options import options_of
from matches.plans import CampaignPlan, columns_of
from matches.store.clock import db_now
from matches.store.formats import format_percent

ASKED = ("question", "parameters", "error", "margin")
LIMITS = tuple(name for name in columns_of(CampaignPlan, Campaign) if name not in ASKED)
OPTIONS = options_of(CampaignPlan)
# In the order in which a person thinks of them; what follows it is not needed to begin.
FIRST = ("leaderboard", "agents", "question", "parameters", "error", "max_matches")
MARGINS = ("margin", "margin_elo", "margin_points", "margin_score")
MORE = ("name", "max_core_s", "max_money", "pairing", "pairing_parameters", "is_paused")
WORDS = {
    "agents": ("", "Those it is about: two or more, all of the game of the leaderboard."),
    "question": ("", "To find the best of several checkpoints, leave the first one."),
    "error": (
        "Wrong at most with",
        "A probability. With 0.05 it goes on until the answer holds with one of 95\u00a0%.",
    ),
    "max_matches": (
        "Matches at most",
        "It ends earlier once the answer is sure. Unsure how many? Enter 1000: the forecast, "
        "which starts nothing, says how many it will probably take.",
    ),
    "margin": ("In rating", "1 is some 45 points of Elo."),
    "margin_elo": ("In Elo", "Such as 20."),
    "margin_points": ("In win rate", "Such as 0.02, for two wins more in a hundred."),
    "margin_score": (
        "In mean score",
        "Of a game of one seat: asks by mean scores on equal seeds, not by ratings. 0: by any gap.",
    ),
    "max_core_s": ("Core-seconds at most", "Empty: any."),
    "max_money": ("Money at most", "Empty: any."),
}
"""Label (empty: as it is) and help of a field, where the words of the plan are short of a form."""
STANDING = (
    *("statement", "probability", "why", "decided_at", "n_known", "n_played", "n_round_robin"),
    *("n_judged", "judged_at", "forecast_said"),
)


class StartForm(PlanForm):
    """The question, its agents and its budget; a forecast is shown before it starts."""

    leaderboard = forms.ModelChoiceField(
        queryset=Leaderboard.objects.filter(is_rated=True), widget=UnfoldAdminSelectWidget
    )
    agents = AgentsField(
        queryset=Agent.objects.filter(is_retired=False).order_by("game", "name"),
        help_text="Two or more, all of the leaderboard's game.",
    )
    foreseen = forms.CharField(required=False, widget=forms.HiddenInput)
    """For which entries the forecast was shown."""

    class Meta:
        # All of it is said to the service
        model = Campaign
        fields = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Say of each field what a person has to know who asks for the first time."""
        super().__init__(*args, **kwargs)
        for name, (label, help_text) in WORDS.items():
            if field := self.fields.get(name):
                field.label, field.help_text = label or field.label, help_text

    def _post_clean(self) -> None:
        """Leave the row alone: it is the service that writes it."""

    def full_clean(self) -> None:
        """Refuse what cannot be asked; show the forecast of what was entered before it starts."""
        super().full_clean()
        if self.is_shown_again or self.errors or not self.is_bound:
            return
        # Shown again until what is sent is what the shown forecast was made for.
        if self.cleaned_data["foreseen"] != self.hash_entries():
            self.is_shown_again = True
            self.show_estimate()

    def read_plan(self) -> CampaignPlan:
        """Return the plan that was entered."""
        return CampaignPlan(**self.read_options())

    def hash_entries(self) -> str:
        """Return what stands for all that was entered."""
        sent: Any = self.data
        parts = tuple(f"{name}-" for name in DECLARED)
        names = {*self.fields, *(name for name in sent if name.startswith(parts))} - {"foreseen"}
        entries = {name: sent.getlist(name) for name in sorted(names)}
        return sha256(json.dumps(entries).encode()).hexdigest()[:16]

    def estimate(self) -> list[texts.LabelledText]:
        """Return the forecast of the verdict, and what it costs."""
        board, agents = self.cleaned_data["leaderboard"], list(self.cleaned_data["agents"])
        check_agents(board, agents)
        plan = self.read_plan()
        if plan.margin_score is not None:
            check_plan(plan, leaderboard=board, agents=agents)
            return [texts.LabelledText("Forecast", forecasting.NO_FORECAST)]
        forecast = forecasting.forecast_start(plan, leaderboard=board, agents=agents, now=db_now())
        known_text = texts.describe_known(forecast.n_known, forecast.n_known_elsewhere)
        known_line = texts.LabelledText("Known already", known_text)
        warning = [texts.LabelledText("Pairing", forecast.warning)] if forecast.warning else []
        if over := texts.warn_of_forecast(forecast.forecast, plan.max_matches):
            warning.append(texts.LabelledText("Budget", over))
        return [known_line, *warning, *texts.describe_forecast(forecast.forecast, plan.max_matches)]


@admin.register(Campaign)
class CampaignAdmin(PlanAdmin):
    """A campaign is started and stopped, never edited: its verdict is written once."""

    list_display = ("campaign", "leaderboard", "question", "standing", "chance", "progress")
    list_filter = ("question", ("decided_at", admin.EmptyFieldListFilter))
    list_select_related = ("tournament__leaderboard",)
    search_fields = ("tournament__name",)
    ordering = ("-pk",)
    acts = campaigns.ACTS
    options = OPTIONS
    starts = "Show forecast"
    # Its own button shows the forecast first.
    change_form_after_template = ""

    def get_form(
        self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelFormWithAllErrors]:
        """Return the form that starts, for a new one."""
        form = ModelFormWithAllErrors if change else add_options(StartForm, self.options)
        options = {**kwargs, "form": form, "labels": map_titles(self.options)}
        form_class: type[ModelFormWithAllErrors] = super().get_form(request, obj, change, **options)
        return form_class

    def get_fields(self, _: HttpRequest, obj: Model | None = None) -> Sequence[str]:
        """Return the fields to enter, and for a started campaign also its standing."""
        if obj is None:
            return (*self.list_entered((*FIRST, *MARGINS, *MORE)), "foreseen")
        return (
            "campaign",
            "leaderboard",
            *ASKED,
            *LIMITS,
            "scheduled_at",
            "scheduled_by",
            *STANDING,
        )

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Return the question first, then what few change."""
        if obj is not None:
            return super().get_fieldsets(request, obj)
        (_, main), advanced = super().get_fieldsets(request, obj)
        later = {*MARGINS, *MORE}
        near = "Agents that lie as close as this count as equally good. Fill in one, or none."
        return [
            (None, {"fields": [name for name in main["fields"] if name not in later]}),
            ("What makes no difference", {"fields": MARGINS, "description": near}),
            ("Name, further limits and pairing", {"fields": MORE}),
            advanced,
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Sequence[str]:
        """Return all fields once the campaign was started."""
        return self.get_fields(request, obj) if obj else ()

    def has_change_permission(self, _: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002 - Django's name
        """Refuse: the act that stops it is all that may be done."""
        return False

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show the forecast of what was entered; that it was not shown before is no error."""
        form = context["adminform"].form
        if getattr(form, "ahead", None):
            # The data of a request cannot be changed.
            form.data = form.data.copy()
            form.data["foreseen"] = form.hash_entries()
            context = {**context, "save_label": "Start campaign"}
        response: HttpResponse = super().render_change_form(request, context, *args, **kwargs)
        return response

    def save_model(self, _: HttpRequest, obj: Campaign, form: StartForm, change: bool) -> None:  # noqa: ARG002 - Django's name
        """Start it; the row that the admin goes on with is the service's."""
        started = start_campaign(
            form.read_plan(),
            leaderboard=form.cleaned_data["leaderboard"],
            agents=list(form.cleaned_data["agents"]),
        )
        obj.pk, obj.tournament = started.pk, started.tournament

    def save_related(self, *_: Any) -> None:
        """Do nothing: the service has entered the agents."""

    def view_on_site(self, obj: Campaign) -> str:
        """Return the address of its page."""
        return reverse("tournament", args=[obj.tournament_id])

    @admin.display(description="campaign", ordering="pk")
    def campaign(self, obj: Campaign) -> str:
        return obj.tournament.name

    @admin.display(description="leaderboard")
    def leaderboard(self, obj: Campaign) -> str:
        return str(obj.tournament.leaderboard)

    @admin.display(description="scheduled at")
    def scheduled_at(self, obj: Campaign) -> str:
        return str(localize(obj.tournament.created_at))

    @admin.display(description="scheduled by")
    def scheduled_by(self, obj: Campaign) -> str:
        """Return who started it, as the audit has it."""
        return describe_scheduling(obj.tournament)

    @admin.display(description="verdict")
    def standing(self, obj: Campaign) -> str:
        """Return the verdict, or that there is none yet."""
        if obj.decided_at is None:
            return f"open: {obj.tournament.shown_state}"
        return endings.describe_answer(obj)

    @admin.display(description="probability")
    def chance(self, obj: Campaign) -> str:
        """Return how sure that is."""
        is_verdict = obj.decided_at is None or endings.is_answered(obj)
        if obj.probability is None or not is_verdict:
            return "\N{EN DASH}"
        return format_percent(obj.probability)

    @admin.display(description="matches")
    def progress(self, obj: Campaign) -> str:
        """Return how much of its budget it has played."""
        return f"{obj.tournament.n_done:,} of {obj.max_matches:,}"

    @admin.display(description="forecast")
    def forecast_said(self, obj: Campaign) -> str:
        """Return what it will still take."""
        foreseen = None if obj.decided_at else obj.forecast
        lines = texts.describe_forecast(foreseen, obj.max_matches - obj.tournament.n_done)
        return "; ".join(f"{line.label}: {line.says}" for line in lines) or "\N{EN DASH}"


@admin.register(Alarm)
class AlarmAdmin(ReadOnlyWithActs):
    """Regressions that campaigns of the watcher found."""

    list_display = ("agent", "ancestor", "chance", "at", "acknowledged_by")
    list_filter = (("acknowledged_at", admin.EmptyFieldListFilter),)
    list_select_related = ("agent", "ancestor")
    ordering = ("-pk",)
    acts = campaigns.ALARM_ACTS

    @admin.display(description="probability", ordering="probability")
    def chance(self, obj: Alarm) -> str:
        """Return how sure it is that the agent is worse."""
        return format_percent(obj.probability)
