"""Why is nothing happening? What a row waits for, at the address of the row."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from matches.operations.explain import Explanation
from matches.store.clock import db_now


class ExplanationSerializer(serializers.Serializer[Any]):
    """Why something stands where it stands; `waits_for` is empty while nothing is missing."""

    subject = serializers.CharField(
        help_text="match, tournament, campaign, agent, worker or schedule."
    )
    id = serializers.IntegerField()
    name = serializers.CharField()
    state = serializers.CharField()
    since = serializers.DateTimeField(allow_null=True)
    age_s = serializers.FloatField(allow_null=True)
    summary = serializers.CharField()
    waits_for = serializers.ListField(child=serializers.CharField())
    next = serializers.CharField(help_text="What happens then; empty: nothing any more.")
    next_at = serializers.DateTimeField(allow_null=True)
    notes = serializers.ListField(child=serializers.CharField())


class ExplainsRows(GenericAPIView[Any]):
    """Offers the explanation of a single row."""

    @extend_schema(responses=ExplanationSerializer, filters=False)
    @action(detail=True, methods=["get"], filter_backends=[], pagination_class=None)
    def explanation(self, request: Request, **_: str) -> Response:
        """Say in which state it is, since when, what it waits for and what happens next."""
        del request
        explanation = self.explain_row(self.get_object(), now=db_now())
        return Response(ExplanationSerializer(explanation.as_dict()).data)

    def explain_row(self, row: Any, **clock: Any) -> Explanation:
        """Return the explanation of a row at a time `now`."""
        raise NotImplementedError
