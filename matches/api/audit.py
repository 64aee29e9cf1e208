"""Endpoints of the audit: who did what to which, and why."""

from rest_framework import mixins, serializers

from matches.api.base import Endpoints
from matches.api.pagination import NewestFirst
from matches.models import AuditRow


class AuditSerializer(serializers.ModelSerializer[AuditRow]):
    """One act on one thing."""

    touched = serializers.DictField(read_only=True)

    class Meta:
        """Everything; the user by the name it had."""

        model = AuditRow
        fields: tuple[str, ...] = (
            *("id", "at", "actor", "action", "target_kind", "target_id", "target_label"),
            *("reason", "touched"),
        )


class AuditView(mixins.ListModelMixin, Endpoints[AuditRow]):
    """What was done, the newest first."""

    queryset = AuditRow.objects.all()
    serializer_class = AuditSerializer
    pagination_class = NewestFirst
    filterset_fields = ("action", "target_kind", "target_id")
