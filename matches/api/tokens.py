"""Endpoints of tokens: get one, list one's own, revoke one."""

from typing import Any, cast

from django.contrib.auth.models import User
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from matches.access import tokens
from matches.api.authentication import PasswordAuthentication, TokenAuthentication
from matches.api.base import ID, Endpoints, read_body
from matches.api.fields import OneOf
from matches.api.pagination import NewestFirst
from matches.api.permissions import list_scopes
from matches.models import Scope, TokenAccess

DAYS = 90


class TokenSerializer(serializers.ModelSerializer[TokenAccess]):
    """A token without its secret."""

    user = serializers.CharField(source="token.user.username")
    begins_with = serializers.CharField(source="token.token_key", help_text="To tell them apart.")
    scopes = serializers.ListField(child=serializers.ChoiceField(Scope.choices))
    created_at = serializers.DateTimeField(source="token.created")
    expires_at = serializers.DateTimeField(source="token.expiry", allow_null=True)
    made_with = serializers.IntegerField(
        source="parent_id",
        allow_null=True,
        help_text="The token that it was made with: it ends with that one at the latest.",
    )

    class Meta:
        model = TokenAccess
        fields: tuple[str, ...] = (
            *("id", "user", "name", "scopes", "begins_with", "created_at", "expires_at"),
            "made_with",
        )


class IssuedTokenSerializer(TokenSerializer):
    """A new token; its secret is shown this once."""

    token = serializers.CharField(
        allow_null=True, help_text="Empty when the call is repeated under its idempotency key."
    )

    class Meta(TokenSerializer.Meta):
        fields: tuple[str, ...] = (*TokenSerializer.Meta.fields, "token")


class NewTokenSerializer(serializers.Serializer[Any]):
    """A token to make."""

    name = serializers.CharField(max_length=100)
    scopes = serializers.ListField(child=OneOf(Scope.choices), default=[Scope.READ], min_length=1)
    days = serializers.IntegerField(
        default=DAYS,
        allow_null=True,
        min_value=1,
        max_value=tokens.MAX_DAYS,
        help_text="Empty: it never ends. One made with a token ends with that one at the latest.",
    )


class TokenView(mixins.ListModelMixin, mixins.DestroyModelMixin, Endpoints[TokenAccess]):
    """One's own tokens, the newest first; an administrator sees all."""

    queryset = TokenAccess.objects.all()
    serializer_class = TokenSerializer
    pagination_class = NewestFirst
    lookup_value_regex = ID
    filter_backends = ()
    hidden = ("token",)

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Take name and password too, for who has no token yet."""
        return [TokenAuthentication(), SessionAuthentication(), PasswordAuthentication()]

    def get_queryset(self) -> QuerySet[TokenAccess]:
        """Return the tokens that the caller may see."""
        # For the schema nobody is logged in.
        if getattr(self, "swagger_fake_view", False):
            return TokenAccess.objects.none()
        return tokens.list_tokens(cast(User, self.request.user))

    @extend_schema(request=NewTokenSerializer, responses={201: IssuedTokenSerializer})
    def create(self, request: Request) -> Response:
        """Make a token for oneself; one made with a token outranks and outlives it in nothing."""
        values = read_body(NewTokenSerializer, request)
        access, secret = tokens.issue_token(
            cast(User, request.user),
            name=values["name"],
            scopes=[Scope(name) for name in values["scopes"]],
            days=values["days"],
            parent=getattr(request.auth, "access", None),
        )
        answer = {**TokenSerializer(access).data, "token": secret}
        return Response(answer, status=status.HTTP_201_CREATED)

    def perform_destroy(self, instance: TokenAccess) -> None:
        """Revoke it and all that were made with it, if the caller has its scopes."""
        # Else a token that may only read could take away those that operate.
        lacking = sorted(set(instance.scopes) - list_scopes(self.request))
        if lacking:
            raise PermissionDenied(f"your token lacks {', '.join(lacking)} itself")
        tokens.revoke_token(instance)
