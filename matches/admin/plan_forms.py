"""What the forms of tournaments, campaigns and schedules share: options, agents, an estimate."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from django.core.exceptions import NON_FIELD_ERRORS
from django.forms.utils import ErrorList
from django.http import HttpRequest, HttpResponse

from matches.admin import picker
from matches.admin.base import ModelFormWithAllErrors
from matches.admin.offering import OffersActs
from matches.admin.options import list_names
from matches.campaigns.texts import LabelledText
from matches.errors import BadInputError
from matches.options import Option

ESTIMATE: Final = "estimate"
"""The button that shows what it would take, and starts nothing."""
SHOWN_AGAIN = "not sent yet"
ADVANCED: Final = (
    *("seed", "weight", "move_s", "match_s", "order_limit"),
    *("replays", "keeps_trajectories", "trajectory_days", "faults"),
)
"""What few need: below, and closed until it is wanted."""


class PlanForm(ModelFormWithAllErrors):
    """A form whose fields are the options of a plan, besides its own."""

    options: ClassVar[Sequence[Option]] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Let agents be picked; a button that adds some starts nothing."""
        super().__init__(*args, **kwargs)
        self.ahead: list[LabelledText] = []
        self.is_shown_again = self.is_bound and bool({picker.ADD, ESTIMATE} & {*self.data})
        if "agents" in self.fields:
            self._offer_agents()

    def clean(self) -> dict[str, Any]:
        """Take the default of an option that was left empty; estimate where that is asked for."""
        cleaned = super().clean() or self.cleaned_data
        for option in self.options:
            if cleaned.get(option.name) is None and option.name not in self.errors:
                cleaned[option.name] = option.default
        return cleaned

    def full_clean(self) -> None:
        """Check what was sent; what only looks ahead is never sent on."""
        super().full_clean()
        if not self.is_shown_again:
            return
        if picker.ADD in self.data:
            # Whoever picks agents has not finished: what is missing yet is no error.
            self.errors.clear()
            self.add_error(None, SHOWN_AGAIN)
        elif not self.errors:
            self.show_estimate()

    def show_estimate(self) -> None:
        """Look ahead instead of starting; what cannot be started is said at its field."""
        try:
            self.ahead = self.estimate()
        except BadInputError as error:
            self.add_error(error.field, str(error))
        self.add_error(None, SHOWN_AGAIN)

    def estimate(self) -> list[LabelledText]:
        """Return what it would take, in words. Raises BadInputError."""
        return []

    def read_options(self) -> dict[str, Any]:
        """Return the options as they were entered."""
        return {option.name: self.cleaned_data[option.name] for option in self.options}

    def _offer_agents(self) -> None:
        names = self.initial.get("agents")
        if isinstance(names, str):
            # Pages lead here with the agents in the address: ids with commas between.
            self.initial["agents"] = [pk for pk in names.split(",") if pk.isdecimal()]
        if self.is_bound and picker.ADD in self.data:
            # The data of a request cannot be changed.
            data: Any = self.data
            sent = data.copy()
            sent.setlist("agents", picker.add_agents(picker.read_request(sent)))
            self.data = sent
        board = self.initial.get("leaderboard")
        widget = picker.AgentPicker()
        widget.sent = self.data if self.is_bound else {"leaderboard": getattr(board, "pk", board)}
        self.fields["agents"].widget = widget
        widget.choices = self.fields["agents"].choices  # type: ignore[attr-defined]


class PlanAdmin(OffersActs):
    """A page whose form plans something, and can show before what that takes."""

    options: Sequence[Option] = ()
    starts = "Save"
    """On the button of a new one."""
    change_form_before_template = "admin/acts/foreseen.html"
    change_form_after_template = "admin/acts/estimate.html"

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields, and below those that few need."""
        names = self.get_fields(request, obj)
        main = [name for name in names if name not in ADVANCED]
        rare = [name for name in ADVANCED if name in names]
        advanced = ("Advanced", {"fields": rare, "classes": ["collapse"]})
        return self.write_plainly(request, obj, [(None, {"fields": main}), advanced])

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show what it will take; that it was shown only is no error."""
        form = context["adminform"].form
        above = form.errors.get(NON_FIELD_ERRORS) or ErrorList()
        above.data = [error for error in above.data if getattr(error, "message", "") != SHOWN_AGAIN]
        if not above.data:
            form.errors.pop(NON_FIELD_ERRORS, None)
        if getattr(form, "is_shown_again", False) and not form.errors:
            context = {**context, "errors": []}
        if getattr(form, "ahead", None):
            context = {**context, "ahead": form.ahead}
        if kwargs.get("add"):
            context = {"save_label": self.starts, **context}
        response: HttpResponse = super().render_change_form(request, context, *args, **kwargs)
        return response

    def list_entered(self, first: Sequence[str]) -> tuple[str, ...]:
        """Return the fields of a new one: those first, then the other options."""
        return (*first, *(name for name in list_names(self.options) if name not in first))
