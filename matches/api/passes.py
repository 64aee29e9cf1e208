"""Endpoints of passes to the evaluation head; one for the decisions of an agent is in agents.py."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from matches.access import passes
from matches.access.passes import Pass
from matches.api.base import Endpoints, read_body
from matches.api.fields import OneOf
from matches.models import Agent
from matches.store.clock import db_now


class PassSerializer(serializers.Serializer[Pass]):
    """A pass; it is shown this once."""

    token = serializers.CharField(
        allow_null=True,
        help_text="For `Authorization: Bearer ...`, of a server for its hello. Empty when the call "
        "is repeated under its idempotency key.",
    )
    expires_at = serializers.DateTimeField()


class NewPassSerializer(serializers.Serializer[Any]):
    """A pass to make."""

    purpose = OneOf(
        list(passes.PURPOSES),
        help_text="; ".join(f"{name}: {text}" for name, text in passes.PURPOSES.items()) + ".",
    )
    name = serializers.CharField(
        max_length=60, default="", allow_blank=True, help_text="Of the game server, for serve."
    )
    days = serializers.IntegerField(default=7, min_value=1, max_value=passes.MAX_DAYS)


class PassView(Endpoints[Agent]):
    """Passes to the evaluation head: nobody keeps them, so none can be listed or revoked."""

    queryset: QuerySet[Agent] = Agent.objects.none()
    serializer_class = PassSerializer  # type: ignore[assignment]  # a pass is no row
    pagination_class = None
    filter_backends = ()
    hidden = ("token",)

    @extend_schema(request=NewPassSerializer, responses={201: PassSerializer})
    def create(self, request: Request) -> Response:
        """Make a pass for what is done through the head."""
        new_pass = read_body(NewPassSerializer, request)
        granted = passes.grant_head_pass(
            new_pass["purpose"], name=new_pass["name"], days=new_pass["days"], now=db_now()
        )
        return Response(PassSerializer(granted).data, status=status.HTTP_201_CREATED)
