"""What beat starts and when, in the look of the rest."""

from typing import Any

from django.contrib import admin
from django_celery_beat import admin as beat
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

for model in (PeriodicTask, IntervalSchedule, CrontabSchedule, SolarSchedule, ClockedSchedule):
    admin.site.unregister(model)


class TaskSelectWidget(UnfoldAdminSelectWidget, beat.TaskSelectWidget):  # type: ignore[misc]  # no types
    """Tasks by name."""


class PeriodicTaskForm(beat.PeriodicTaskForm):  # type: ignore[misc]  # no types
    """Beat's form with our widgets."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Change the widgets of the fields that beat declares itself."""
        super().__init__(*args, **kwargs)
        self.fields["regtask"].widget = TaskSelectWidget()
        self.fields["task"].widget = UnfoldAdminTextInputWidget()


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(beat.PeriodicTaskAdmin, ModelAdmin):  # type: ignore[misc]  # no types
    """Periodic tasks; none is started from a web request, so beat's action for that is gone."""

    form = PeriodicTaskForm
    actions = ("enable_tasks", "disable_tasks", "toggle_tasks")


@admin.register(IntervalSchedule)
class IntervalScheduleAdmin(beat.IntervalScheduleAdmin, ModelAdmin):  # type: ignore[misc]  # no types
    """Every so often."""


@admin.register(CrontabSchedule)
class CrontabScheduleAdmin(beat.CrontabScheduleAdmin, ModelAdmin):  # type: ignore[misc]  # no types
    """By crontab."""


@admin.register(SolarSchedule)
class SolarScheduleAdmin(beat.SolarScheduleAdmin, ModelAdmin):  # type: ignore[misc]  # no types
    """By the sun."""


@admin.register(ClockedSchedule)
class ClockedScheduleAdmin(beat.ClockedScheduleAdmin, ModelAdmin):  # type: ignore[misc]  # no types
    """Once."""
