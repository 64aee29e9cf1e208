"""What beat has in its tables, to look at: the operator's way is Schedule."""

from django.contrib import admin
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)

from matches.admin.base import ReadOnlyAdmin

for model in (PeriodicTask, IntervalSchedule, CrontabSchedule, SolarSchedule, ClockedSchedule):
    admin.site.unregister(model)


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(ReadOnlyAdmin):
    """Periodic tasks: those of schedules are written with them, the others by the settings."""

    list_display = ("name", "task", "enabled", "last_run_at", "total_run_count")
    list_select_related = ("crontab", "interval", "clocked")
    search_fields = ("name", "task")


@admin.register(CrontabSchedule)
class CrontabScheduleAdmin(ReadOnlyAdmin):
    """By crontab."""

    list_display = ("__str__", "human_readable")


@admin.register(ClockedSchedule)
class ClockedScheduleAdmin(ReadOnlyAdmin):
    """Once."""


@admin.register(IntervalSchedule)
class IntervalScheduleAdmin(ReadOnlyAdmin):
    """Every so often."""
