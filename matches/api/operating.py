"""What operators do: a reason that is kept with who did it and when, and the list of it all."""

from typing import Any

from rest_framework import mixins, serializers
from rest_framework.request import Request

from matches.api.base import Endpoints, read_body
from matches.api.fields import MAX_ID
from matches.api.pagination import NewestFirst
from matches.ledger.voiding import MAX_AT_ONCE
from matches.models import AuditRow
from matches.store.auditing import MAX_REASON, Actor
from matches.store.clock import db_now


class ReasonSerializer(serializers.Serializer[Any]):
    """Why it is done: kept with what was done."""

    reason = serializers.CharField(max_length=MAX_REASON)


class RemarkSerializer(serializers.Serializer[Any]):
    """Why it is done, if there is something to say."""

    reason = serializers.CharField(max_length=MAX_REASON, default="", allow_blank=True)


class ChosenMatchesSerializer(ReasonSerializer):
    """Matches, and why."""

    matches = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=MAX_ID),
        min_length=1,
        max_length=MAX_AT_ONCE,
    )


class VoidedSerializer(serializers.Serializer[Any]):
    """What became void; what was void or cancelled before is unchanged."""

    n_open = serializers.IntegerField(help_text="Were not over: later reports are refused.")
    n_struck = serializers.IntegerField(help_text="Had an outcome, which is kept.")
    n_unchanged = serializers.IntegerField()
    leaderboards = serializers.ListField(
        child=serializers.CharField(), help_text="Are rated again without them."
    )


class ReplacementSerializer(serializers.Serializer[Any]):
    """A void match and the one that is played in its place."""

    replaced = serializers.IntegerField()
    match = serializers.IntegerField()


class RequeuedSerializer(serializers.Serializer[Any]):
    """The replacements, those that were there before included."""

    n_new = serializers.IntegerField()
    replacements = ReplacementSerializer(many=True)


def read_actor(request: Request) -> dict[str, Any]:
    """Return who acts, and when."""
    # Without a token where a browser's session is what it logs in with.
    token: Any = request.auth
    actor = Actor.of(request.user, token=token.access.name if token is not None else "")
    return {"actor": actor, "now": db_now()}


def read_reason(request: Request, *, is_optional: bool = False) -> dict[str, Any]:
    """Return who acts, when and why. Raises ValidationError without a reason."""
    form = RemarkSerializer if is_optional else ReasonSerializer
    return {**read_actor(request), "reason": read_body(form, request)["reason"]}


class AuditSerializer(serializers.ModelSerializer[AuditRow]):
    """One act on one thing."""

    touched = serializers.DictField(read_only=True)

    class Meta:
        # Everything; the user by the name it had
        model = AuditRow
        fields: tuple[str, ...] = (
            *("id", "at", "actor", "token", "action", "target_kind", "target_id", "target_label"),
            *("reason", "touched"),
        )


class AuditView(mixins.ListModelMixin, Endpoints[AuditRow]):
    """What was done, the newest first."""

    queryset = AuditRow.objects.all()
    serializer_class = AuditSerializer
    pagination_class = NewestFirst
    filterset_fields = ("action", "target_kind", "target_id")
