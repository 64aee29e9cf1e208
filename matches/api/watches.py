"""Endpoints of watches: new checkpoints meet their ancestors; a regression is an alarm."""

from functools import partial
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from arena.policies.spec import split_policies
from matches.api.alarms import AlarmSerializer
from matches.api.base import ID, Endpoints, answer_created, read_body, read_query
from matches.api.operating import read_actor
from matches.campaigns import watching
from matches.campaigns.watching import Watch
from matches.errors import BadInputError
from matches.ledger.noted_changes import add_with_audit
from matches.models import Agent, Campaign
from matches.store.clock import db_now

MAX_AGAINST = 100
MAX_NAME = 120


class WatchedRunSerializer(serializers.Serializer[Any]):
    """Which run is watched."""

    run = serializers.CharField(max_length=100)
    game = serializers.CharField(max_length=60, default="", allow_blank=True)
    against = serializers.CharField(
        max_length=MAX_AGAINST * (MAX_NAME + 1),
        default="",
        allow_blank=True,
        help_text="Agents that every checkpoint is to meet, with commas: refused if one is none.",
    )


class WatchedStepSerializer(serializers.Serializer[Any]):
    """A checkpoint of the run that is stored."""

    step = serializers.IntegerField(allow_null=True)
    sha256 = serializers.CharField()
    agent = serializers.IntegerField(allow_null=True, help_text="That plays it; null: none may.")
    done = serializers.CharField(help_text="Why it needs no evaluation; empty if it does.")


class WatchSerializer(serializers.Serializer[Any]):
    """What is known of a run."""

    steps = WatchedStepSerializer(many=True)
    left_alone = serializers.IntegerField(
        allow_null=True, help_text="The newest campaign if it has a verdict but raised no alarm."
    )


class NewWatchSerializer(serializers.Serializer[Any]):
    """What an evaluation of a checkpoint may cost, and from when a regression is an alarm."""

    agent = serializers.IntegerField(min_value=1)
    leaderboard = serializers.CharField(
        max_length=80, default="", allow_blank=True, help_text="Empty: that of the game's watches."
    )
    against = serializers.ListField(
        child=serializers.CharField(max_length=MAX_NAME),
        default=list,
        max_length=MAX_AGAINST,
        help_text="Agents that every checkpoint meets, as spelled.",
    )
    budget = serializers.IntegerField(default=200, min_value=2)
    margin = serializers.FloatField(default=1.0, help_text="In units of rating.")
    margin_score = serializers.FloatField(
        default=None,
        allow_null=True,
        min_value=0,
        help_text="Of a game of one seat: in mean score on equal seeds, instead of the margin.",
    )
    level = serializers.FloatField(
        default=0.95, min_value=0.5, max_value=0.9999, help_text="P(worse) of an alarm."
    )


class WatchLevelSerializer(serializers.Serializer[Any]):
    """From when a regression is an alarm."""

    level = serializers.FloatField(
        default=0.95, min_value=0.5, max_value=0.9999, help_text="P(worse) of an alarm."
    )


class WatchedSerializer(serializers.Serializer[Any]):
    """The small campaign that judges a checkpoint."""

    campaign = serializers.IntegerField()
    tournament = serializers.IntegerField()


class WatchVerdictSerializer(serializers.Serializer[Any]):
    """What came of the campaign of a checkpoint."""

    agent = serializers.CharField()
    mu = serializers.FloatField()
    low = serializers.FloatField(help_text="Lower end of its 95 % interval.")
    high = serializers.FloatField(help_text="Upper end of its 95 % interval.")
    n_played = serializers.IntegerField()
    ancestor = serializers.CharField(allow_null=True, help_text="The best one, if there is any.")
    probability = serializers.FloatField(
        allow_null=True, help_text="P(worse than the ancestor by more than the margin)."
    )
    margin = serializers.FloatField(allow_null=True)
    alarm = AlarmSerializer(allow_null=True)


class WatchView(Endpoints[Campaign]):
    """Watches: the checkpoints of a run are judged one by one."""

    queryset = Campaign.objects.select_related("tournament__leaderboard")
    lookup_value_regex = ID
    pagination_class = None

    @extend_schema(parameters=[WatchedRunSerializer], responses=WatchSerializer, filters=False)
    @action(detail=False, filter_backends=[])
    def look(self, request: Request) -> Response:
        """Return which checkpoints of a run are stored, and which are judged."""
        values = read_query(WatchedRunSerializer, request)
        against = split_policies(values["against"]) if values["against"] else ()
        watch = Watch(values["run"], game=values["game"], against=against)
        watching.check_watch(watch)
        unfinished = watching.find_quiet_verdict(watch)
        watched = {"steps": watching.list_steps(watch), "left_alone": unfinished and unfinished.pk}
        return Response(WatchSerializer(watched).data)

    @extend_schema(request=NewWatchSerializer, responses={201: WatchedSerializer})
    def create(self, request: Request) -> Response:
        """Ask whether an agent is worse than its best ancestor; what was begun goes on."""
        values = read_body(NewWatchSerializer, request)
        agent = Agent.objects.filter(pk=values.pop("agent"), checkpoint__isnull=False).first()
        if agent is None or agent.checkpoint is None:
            raise BadInputError("agent", "there is no such agent with a checkpoint")
        watch = Watch(agent.checkpoint.run, game=agent.game, **values)
        start = partial(watching.start_evaluation, watch, agent)
        campaign = add_with_audit(start, **read_actor(request))
        answer = {"campaign": campaign.pk, "tournament": campaign.tournament_id}
        return answer_created(WatchedSerializer(answer))

    @extend_schema(request=WatchLevelSerializer, responses=WatchVerdictSerializer)
    @action(detail=True, methods=["post"])
    def judge(self, request: Request, pk: str) -> Response:
        """Say how a campaign of a watch ended; the alarm of a regression is raised once."""
        del pk
        level = read_body(WatchLevelSerializer, request)["level"]
        verdict = watching.judge_checkpoint(self.get_object(), level=level, now=db_now())
        return Response(WatchVerdictSerializer(verdict).data)
