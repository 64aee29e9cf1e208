"""Endpoints by which a machine becomes a play node, and stops being one."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from matches.api.base import Endpoints, read_body
from matches.api.operating import read_actor
from matches.models import NodeKey
from matches.nodes import joining
from matches.nodes.joining import JoinedNode, JoinToken, NodeState
from matches.store.clock import db_now


class NewJoinTokenSerializer(serializers.Serializer[Any]):
    """A token to make."""

    name = serializers.CharField(max_length=100, help_text="Of the node, which is none yet.")
    minutes = serializers.IntegerField(
        default=joining.MINUTES, min_value=1, max_value=joining.MAX_MINUTES
    )


class JoinTokenSerializer(serializers.Serializer[JoinToken]):
    """A token that lets one machine in, once; it is shown this once."""

    token = serializers.CharField(
        allow_null=True,
        help_text="For `./run node --join URL --token ...`. Empty when the call is repeated under "
        "its idempotency key.",
    )
    expires_at = serializers.DateTimeField()


class JoiningSerializer(serializers.Serializer[Any]):
    """A machine that wants to play."""

    token = serializers.CharField(max_length=300, help_text="Of `POST /nodes/invite/`.")


class JoinedNodeSerializer(serializers.Serializer[JoinedNode]):
    """What it needs; the environment holds its secrets, and is told this once."""

    environment = serializers.DictField(child=serializers.CharField())
    plugins = serializers.DictField(
        child=serializers.CharField(),
        help_text="Each file in base64 by its path, which begins with the number of its folder.",
    )


class KnownNodeSerializer(serializers.Serializer[Any]):
    """A node, proved by its key."""

    name = serializers.CharField(max_length=100)
    node_key = serializers.CharField(max_length=100, help_text="Its EVALSITE_NODE_KEY.")


class NodeStateSerializer(serializers.Serializer[NodeState]):
    """How a node is seen by the server."""

    is_admitted = serializers.BooleanField()
    seen_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was heard of last, in whichever of its lives."
    )


class NodeView(Endpoints[NodeKey]):
    """Play nodes on other machines: who shows a token joins, who shows its key leaves."""

    queryset = NodeKey.objects.none()
    serializer_class = JoinedNodeSerializer  # type: ignore[assignment]  # it is no row
    pagination_class = None
    filter_backends = ()
    hidden = ("token",)

    @extend_schema(request=NewJoinTokenSerializer, responses={200: JoinTokenSerializer})
    @action(detail=False, methods=["post"])
    def invite(self, request: Request) -> Response:
        """Make a token by which one machine joins, once, as the node of this name."""
        token_request = read_body(NewJoinTokenSerializer, request)
        granted = joining.grant_join_token(
            token_request["name"], minutes=token_request["minutes"], **read_actor(request)
        )
        return Response(JoinTokenSerializer(granted).data)

    @extend_schema(request=JoiningSerializer, responses={201: JoinedNodeSerializer})
    def create(self, request: Request) -> Response:
        """Admit the node that a token is for, and tell it all that it needs."""
        token = read_body(JoiningSerializer, request)["token"]
        joined = joining.join_node(token, now=db_now())
        return Response(JoinedNodeSerializer(joined).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=KnownNodeSerializer, responses={200: NodeStateSerializer})
    @action(detail=False, methods=["post"])
    def look(self, request: Request) -> Response:
        """Tell the node that shows its key how the server sees it."""
        return _answer_state(read_body(KnownNodeSerializer, request))

    @extend_schema(request=KnownNodeSerializer, responses={200: NodeStateSerializer})
    @action(detail=False, methods=["post"])
    def leave(self, request: Request) -> Response:
        """Shut out the node that shows its key."""
        credentials = read_body(KnownNodeSerializer, request)
        joining.leave_node(**credentials, now=db_now())
        return _answer_state(credentials)


def _answer_state(credentials: dict[str, Any]) -> Response:
    return Response(NodeStateSerializer(joining.look_at_node(**credentials)).data)
