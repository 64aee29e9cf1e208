"""Endpoints of agents: register, retire."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django_filters import CharFilter
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from matches.access import passes
from matches.api.base import ID, Endpoints, answer_created, read_body
from matches.api.explanations import ExplainsRows
from matches.api.fields import Parameters
from matches.api.filters import Filters
from matches.api.operating import ReasonSerializer, RemarkSerializer, read_actor, read_reason
from matches.api.pagination import NewestFirst
from matches.api.passes import PassSerializer
from matches.artifacts import agents
from matches.ledger import quarantine
from matches.ledger.noted_changes import add_with_audit, change_agent_with_audit
from matches.models import Agent
from matches.operations import explain
from matches.operations.explain import Explanation
from matches.store.clock import db_now


class AgentSerializer(serializers.ModelSerializer[Agent]):
    """A rated competitor."""

    # No choice: agents of imported results, and of a plug-in whose file is gone, have other kinds.
    policy = serializers.CharField(read_only=True)
    checkpoint = serializers.CharField(source="checkpoint_id", read_only=True, allow_null=True)
    parameters = serializers.DictField(read_only=True)
    newer = serializers.IntegerField(
        source="newer_id",
        read_only=True,
        allow_null=True,
        help_text="Id of the agent that has its name since its code was changed.",
    )

    class Meta:
        model = Agent
        fields: tuple[str, ...] = (
            *("id", "name", "game", "policy", "parameters", "checkpoint", "version", "newer"),
            *("placement", "is_retired", "quarantined_at", "quarantine_reason", "created_at"),
        )


class AgentFilter(Filters):
    """Agents of a list; the kind is no choice, as in AgentSerializer."""

    policy = CharFilter()

    class Meta:
        model = Agent
        fields = ("name", "game", "policy", "checkpoint", "is_retired")


class NewAgentSerializer(serializers.Serializer[Any]):
    """An agent to register."""

    name = serializers.CharField(max_length=120)
    game = serializers.CharField(max_length=60)
    policy = serializers.CharField(max_length=60)
    parameters = Parameters(default=dict)
    checkpoint = serializers.CharField(
        max_length=120,
        default="",
        allow_blank=True,
        help_text="Of a network: the hash of a stored one, or an agent that has it.",
    )


class AgentView(mixins.ListModelMixin, mixins.RetrieveModelMixin, ExplainsRows, Endpoints[Agent]):
    """Agents: a policy kind with its parameters in one game."""

    queryset = Agent.objects.all()
    serializer_class = AgentSerializer
    pagination_class = NewestFirst
    filterset_class = AgentFilter
    lookup_value_regex = ID
    hidden = ("token",)

    @extend_schema(request=NewAgentSerializer, responses={201: AgentSerializer})
    def create(self, request: Request) -> Response:
        """Register an agent; registering the same one again changes nothing."""
        register = partial(agents.register_agent, **read_body(NewAgentSerializer, request))
        agent = add_with_audit(register, **read_actor(request))
        return answer_created(AgentSerializer(agent))

    @extend_schema(request=None, responses=AgentSerializer)
    @action(detail=True, methods=["post"])
    def retire(self, request: Request, pk: str) -> Response:
        """Enter an agent in no tournament any more; those under way go on."""
        del request, pk
        return self._answer_changed("retire", agents.retire_agent)

    @extend_schema(request=None, responses=AgentSerializer)
    @action(detail=True, methods=["post"])
    def unretire(self, request: Request, pk: str) -> Response:
        """Let an agent be entered in tournaments again."""
        del request, pk
        return self._answer_changed("unretire", agents.unretire_agent)

    @extend_schema(request=ReasonSerializer, responses=AgentSerializer)
    @action(detail=True, methods=["post"])
    def quarantine(self, request: Request, pk: str) -> Response:
        """Send no more matches of an agent; those with nodes are played to their end."""
        del pk
        quarantine.quarantine_agent(agent := self.get_object(), **read_reason(request))
        return Response(AgentSerializer(agent).data)

    @extend_schema(request=RemarkSerializer, responses=AgentSerializer)
    @action(detail=True, methods=["post"])
    def release(self, request: Request, pk: str) -> Response:
        """End the quarantine of an agent: its pending matches are sent."""
        del pk
        quarantine.release_agent(
            agent := self.get_object(), **read_reason(request, is_optional=True)
        )
        return Response(AgentSerializer(agent).data)

    @extend_schema(request=None, responses={201: PassSerializer})
    @action(detail=True, methods=["post"], url_path="head_pass")
    def head_pass(self, request: Request, pk: str) -> Response:
        """Make a pass to ask an agent for decisions at the evaluation head, for about a day."""
        del request, pk
        granted = passes.grant_agent_pass(self.get_object(), now=db_now())
        return Response(PassSerializer(granted).data, status=status.HTTP_201_CREATED)

    def explain_row(self, row: Agent, **clock: Any) -> Explanation:
        """Return what it waits for."""
        return explain.of_agent(row, **clock)

    def _answer_changed(self, act: str, change: Callable[[Agent], object]) -> Response:
        agent = self.get_object()
        change_agent_with_audit(agent, act, change, **read_actor(self.request))
        return Response(AgentSerializer(agent).data)
