"""Failed logins and lockouts, in the look of the rest."""

from axes import admin as axes
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib import admin
from unfold.admin import ModelAdmin

for model in (AccessAttempt, AccessFailureLog, AccessLog):
    admin.site.unregister(model)


@admin.register(AccessAttempt)
class AccessAttemptAdmin(axes.AccessAttemptAdmin, ModelAdmin):  # type: ignore[misc]  # no types
    """Who is locked out; deleting a row lets them in again."""


@admin.register(AccessFailureLog)
class AccessFailureLogAdmin(axes.AccessFailureLogAdmin, ModelAdmin):  # type: ignore[misc]  # no types
    """Failed logins."""


@admin.register(AccessLog)
class AccessLogAdmin(axes.AccessLogAdmin, ModelAdmin):  # type: ignore[misc]  # no types
    """Logins."""
