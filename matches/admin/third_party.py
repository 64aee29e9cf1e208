"""What other apps keep, in the look of the rest: users, lock-outs, and what beat has."""

from axes import admin as axes
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)
from knox.models import AuthToken
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from matches.admin.base import CheckedAddressAdmin, ReadOnlyAdmin

# Registered by their apps in a look of their own; tokens have a page of ours.
for model in (
    *(User, Group, AuthToken, AccessAttempt, AccessFailureLog, AccessLog),
    *(PeriodicTask, IntervalSchedule, CrontabSchedule, SolarSchedule, ClockedSchedule),
):
    admin.site.unregister(model)


@admin.register(User)
class UserAdmin(DjangoUserAdmin, CheckedAddressAdmin):  # type: ignore[type-arg]  # no types
    """Users."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, CheckedAddressAdmin):
    """Groups."""


@admin.register(AccessAttempt)
class AccessAttemptAdmin(axes.AccessAttemptAdmin, CheckedAddressAdmin):  # type: ignore[misc]  # no types
    """Who is locked out; deleting a row lets them in again."""


@admin.register(AccessFailureLog)
class AccessFailureLogAdmin(axes.AccessFailureLogAdmin, CheckedAddressAdmin):  # type: ignore[misc]  # no types
    """Failed logins."""


@admin.register(AccessLog)
class AccessLogAdmin(axes.AccessLogAdmin, CheckedAddressAdmin):  # type: ignore[misc]  # no types
    """Logins."""


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
