"""Training runs and what they have published: to look at, stop, resume, withdraw and release."""

from collections.abc import Callable
from typing import ClassVar

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, User

from experience.models import Release, TrainingRun
from experience.runs import releasing
from experience.runs.resuming import resume_run
from experience.runs.starting import stop_run
from matches.admin.acts.base import Act, ChosenRow, ConfirmedRow, Effect, ReasonForm, refuse_act
from matches.admin.offering import ReadOnlyWithActs
from matches.api.permissions import TABLE
from matches.errors import ConflictError

States = Release.State


class Stop(Act[TrainingRun]):
    """End a run before it has learned from all its steps."""

    name, title, icon = "stop", "Stop", "stop_circle"
    permission = "experience.change_trainingrun"
    question = "Stop training runs?"
    consequence = (
        "They are ordered no more, and what they have published stays; the last version is still "
        "judged. They can be resumed."
    )
    form = ReasonForm

    def preview_effect(self, chosen: ChosenRow[TrainingRun]) -> Effect:
        """Return how far it is."""
        run = chosen.row
        if run.state != TrainingRun.State.RUNNING:
            return refuse_act(f"it is {run.get_state_display().lower()}")
        return Effect(f"it has learned from {run.n_steps:,} of {run.max_steps:,} steps")

    def perform_act(self, chosen: ConfirmedRow[TrainingRun]) -> str:
        """Stop it as the API does."""
        reason = chosen.values["reason"]
        if stop_run(chosen.row, actor=chosen.actor, reason=reason, now=chosen.now):
            return f"{chosen.row} is stopped"
        raise ConflictError(f"{chosen.row}: it has just ended")


class Resume(Act[TrainingRun]):
    """Let a run that has ended before its time go on."""

    name, title, icon = "resume", "Resume", "play_circle"
    permission = "experience.change_trainingrun"
    question = "Resume training runs?"
    consequence = (
        "They go on from the state that they left, and their versions are numbered on. One that "
        "learns from matches plays those of its newest version again."
    )
    form = ReasonForm

    def is_allowed(self, user: User | AnonymousUser) -> bool:
        """Return whether a user may register agents and start campaigns, too, as the run will."""
        return user.has_perms((self.permission, *TABLE["run", "resume"].further))

    def preview_effect(self, chosen: ChosenRow[TrainingRun]) -> Effect:
        """Return how far it is, and why it ended."""
        run = chosen.row
        if run.state not in (TrainingRun.State.STOPPED, TrainingRun.State.FAILED):
            return refuse_act(f"it is {run.get_state_display().lower()}")
        if run.n_steps >= run.max_steps:
            return refuse_act(f"it has learned from all its {run.n_steps:,} steps")
        why = f": {run.problem}" if run.problem else ""
        says = f"it is {run.get_state_display().lower()}{why}; it has learned from"
        return Effect(f"{says} {run.n_steps:,} of {run.max_steps:,} steps", seen=run.state)

    def perform_act(self, chosen: ConfirmedRow[TrainingRun]) -> str:
        """Resume it as the API does."""
        reason = chosen.values["reason"]
        resume_run(chosen.row, actor=chosen.actor, reason=reason, now=chosen.now)
        return f"{chosen.row} goes on"


class _Decide(Act[Release]):
    """Say of a version whether it may be loaded as a release."""

    permission = "experience.change_release"
    form = ReasonForm
    decide: ClassVar[Callable[..., bool]]
    taken_from: ClassVar[tuple[States, ...]]
    done: ClassVar[str]

    def preview_effect(self, chosen: ChosenRow[Release]) -> Effect:
        """Return how often it was loaded, and why it stands where it stands."""
        release = chosen.row
        if release.state not in self.taken_from:
            return refuse_act(f"it is {release.state}")
        why = f": {release.reason}" if release.reason else ""
        says = f"it is {release.state}{why}; its file was loaded {release.n_downloads:,} times"
        return Effect(says, seen=release.state)

    def perform_act(self, chosen: ConfirmedRow[Release]) -> str:
        """Decide as the API does."""
        reason = chosen.values["reason"]
        decide = type(self).decide
        if decide(chosen.row, actor=chosen.actor, reason=reason, now=chosen.now):
            return f"{chosen.row} is {self.done}"
        raise ConflictError(f"{chosen.row}: somebody else was first")


class Retire(_Decide):
    """Withdraw a version."""

    name, title, icon = "retire", "Withdraw", "block"
    question = "Withdraw versions?"
    consequence = "Their links end at once. They can be released again."
    taken_from = (States.SNAPSHOT, States.CANDIDATE, States.RELEASED, States.HELD)
    decide, done = staticmethod(releasing.retire_release), "withdrawn"


class ReleaseHeld(_Decide):
    """Release a version that was held or withdrawn."""

    name, title, icon = "release", "Release", "check_circle"
    question = "Release versions?"
    consequence = (
        "Who asks for the latest release gets the newest of them. They can be withdrawn again."
    )
    taken_from = (States.HELD, States.RETIRED)
    decide, done = staticmethod(releasing.release_held), "released"


@admin.register(TrainingRun)
class TrainingRunAdmin(ReadOnlyWithActs):
    """Runs that trainers train slice by slice; `evalsite runs start` begins one."""

    list_display = ("name", "game", "algorithm", "state", "n_steps", "version", "reported_at")
    list_filter = ("state",)
    search_fields = ("name__startswith",)
    search_help_text = "How its name begins."
    ordering = ("-pk",)
    acts = (Stop(), Resume())
    fields = (
        *("name", "game", "algorithm", "parameters", "seed", "state", "problem", "n_steps"),
        *("max_steps", "version", "metrics", "slice", "slice_s", "n_lost", "trainer"),
        *("margin", "release_s", "release_steps", "budget"),
        *("created_by", "created_at", "reported_at", "leased_until", "ended_at"),
    )


@admin.register(Release)
class ReleaseAdmin(ReadOnlyWithActs):
    """Versions of runs, whose files are weights."""

    list_display = ("run", "version", "state", "n_steps", "agent", "n_downloads", "created_at")
    list_filter = ("state",)
    list_select_related = ("run", "agent")
    search_fields = ("run__name__startswith",)
    search_help_text = "How the name of its run begins."
    ordering = ("-pk",)
    acts = (Retire(), ReleaseHeld())
    fields = (
        *("run", "version", "state", "reason", "n_steps", "metrics", "architecture", "parameters"),
        *("sha256", "n_bytes", "agent", "campaign", "n_downloads", "created_at", "judged_at"),
    )
