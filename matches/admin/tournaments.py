"""Tournaments: adding one schedules it, cancelling asks first."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from matches.admin.acts import tournaments
from matches.admin.audit import describe_scheduling
from matches.admin.base import ModelFormWithAllErrors
from matches.admin.estimates import describe_estimate
from matches.admin.options import add_options, list_names, map_titles
from matches.admin.picker import AgentsField
from matches.admin.plan_forms import PlanAdmin, PlanForm
from matches.campaigns.texts import LabelledText
from matches.errors import BadInputError
from matches.ledger.known_ahead import count_known_ahead
from matches.ledger.pairing_warnings import warn_of_plan
from matches.ledger.tournaments import check_agents, check_field, schedule_tournament
from matches.models import Agent, Tournament
from matches.operations import explain
from matches.options import options_of
from matches.plans import TournamentPlan
from matches.store.clock import db_now

OPTIONS = options_of(TournamentPlan)
PLANNED = ("leaderboard", *(name for name in list_names(OPTIONS) if name != "is_paused"))
"""What is shown of a scheduled one."""
COUNTED = (
    *("n_planned", "n_done", "n_known", "n_forfeits"),
    *("n_void", "n_cancelled", "n_retried", "n_refused"),
)


class ScheduleForm(PlanForm):
    """What a tournament is to be, and who takes part."""

    agents = AgentsField(
        queryset=Agent.objects.filter(is_retired=False).order_by("game", "name"),
        help_text="Two or more, all of the leaderboard's game.",
    )

    class Meta:
        # Agents are entered by the service, not by the form
        model = Tournament
        fields = PLANNED

    def clean(self) -> dict[str, Any]:
        """Refuse agents that cannot meet on this leaderboard."""
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("leaderboard") and cleaned.get("agents") is not None:
            try:
                check_agents(
                    cleaned["leaderboard"],
                    list(cleaned["agents"]),
                    is_rated=bool(cleaned.get("is_rated")),
                )
                # Once all is valid: what the database would refuse is said at its field.
                if not self.errors:
                    check_field(self.read_plan(), cleaned["leaderboard"], len(cleaned["agents"]))
            except BadInputError as error:
                self.add_error(error.field, str(error))
        return cleaned

    def estimate(self) -> list[LabelledText]:
        """Return matches, time and cost."""
        plan, board = self.read_plan(), self.cleaned_data["leaderboard"]
        agents = list(self.cleaned_data["agents"])
        estimate = describe_estimate(
            plan.n_matches,
            leaderboard=board,
            agents=agents,
            n_known=count_known_ahead(plan, leaderboard=board, agents=agents),
            now=db_now(),
        )
        warning = warn_of_plan(plan, leaderboard=board, n_agents=len(agents))
        return [*estimate, *([LabelledText("Warning", warning)] if warning else [])]

    def read_plan(self) -> TournamentPlan:
        """Return the plan that was entered."""
        return TournamentPlan(**self.read_options())


@admin.register(Tournament)
class TournamentAdmin(PlanAdmin):
    """A tournament is never edited: what was planned is what is played."""

    list_display = ("name", "leaderboard", "pairing", "standing", "progress", "created_at")
    list_filter = ("state", "pairing")
    list_select_related = ("leaderboard",)
    search_fields = ("name",)
    acts = tournaments.ACTS
    options = OPTIONS
    starts = "Schedule tournament"

    def get_form(
        self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelFormWithAllErrors]:
        """Return the form that schedules, for a new one."""
        form = ModelFormWithAllErrors if change else add_options(ScheduleForm, self.options)
        options = {**kwargs, "form": form, "labels": map_titles(self.options)}
        form_class: type[ModelFormWithAllErrors] = super().get_form(request, obj, change, **options)
        return form_class

    def get_fields(self, _: HttpRequest, obj: Model | None = None) -> Sequence[str]:
        """Return what is entered, and for a scheduled one also how far it is."""
        if obj is None:
            return self.list_entered(("leaderboard", "name", "agents"))
        read_only = ("standing", "problem", "entrants", "progress", *COUNTED)
        return (*PLANNED, *read_only, "created_at", "scheduled_by", "started_at", "finished_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Sequence[str]:
        """Return all fields of a scheduled one."""
        return self.get_fields(request, obj) if obj else ()

    def has_change_permission(self, _: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002 - Django's name
        """Refuse: the acts do what may be done."""
        return False

    def save_model(self, _: HttpRequest, obj: Tournament, form: ScheduleForm, change: bool) -> None:  # noqa: ARG002 - Django's name
        """Schedule it; the row that the admin goes on with is the service's."""
        scheduled = schedule_tournament(
            form.read_plan(),
            leaderboard=form.cleaned_data["leaderboard"],
            agents=list(form.cleaned_data["agents"]),
        )
        obj.pk = scheduled.pk

    def save_related(self, *_: Any) -> None:
        """Do nothing: the service has entered the agents."""

    def view_on_site(self, obj: Tournament) -> str:
        """Return the address of its page."""
        return reverse("tournament", args=[obj.pk])

    @admin.display(description="state", ordering="state")
    def standing(self, obj: Tournament) -> str:
        """Return its state; one that is planned while it plays is running."""
        return Tournament.State(obj.shown_state).label

    @admin.display(description="matches ended")
    def progress(self, obj: Tournament) -> str:
        """Return how many of its matches have ended."""
        return f"{obj.n_closed:,} of {obj.n_matches:,}"

    @admin.display(description="agents")
    def entrants(self, obj: Tournament) -> str:
        """Return who takes part, in the order of positions."""
        return ", ".join(obj.entrant_set.values_list("agent__name", flat=True))

    @admin.display(description="scheduled by")
    def scheduled_by(self, obj: Tournament) -> str:
        """Return who scheduled it, as the audit has it."""
        return describe_scheduling(obj)

    def explain_row(self, row: Tournament, *, now: datetime) -> explain.Explanation:
        """Return what it waits for."""
        return explain.of_tournament(row, now=now)
