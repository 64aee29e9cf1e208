"""Addresses of the REST API."""

from django.urls import re_path
from rest_framework.routers import APIRootView, DefaultRouter

from matches.api.agents import AgentView
from matches.api.alarms import AlarmView
from matches.api.base import JsonOnly
from matches.api.campaigns import CampaignView
from matches.api.checkpoints import CheckpointView
from matches.api.errors import answer_no_such_address
from matches.api.evaluations import EvaluationView
from matches.api.games import GameView
from matches.api.gates import GateView
from matches.api.generations import GenerationView
from matches.api.imports import ImportView
from matches.api.leaderboards import LeaderboardView
from matches.api.matches import AttemptView, MatchView, OutcomeView
from matches.api.nodes import NodeView
from matches.api.operating import AuditView
from matches.api.passes import PassView
from matches.api.recommendations import RecommendationView
from matches.api.schedules import ScheduleView
from matches.api.seasons import SeasonView
from matches.api.system import SystemView
from matches.api.tokens import TokenView
from matches.api.tournaments import TournamentView
from matches.api.trajectories import TrajectoryView
from matches.api.watches import WatchView
from matches.api.workers import WorkerView


class Root(APIRootView):
    """Where the lists are."""

    content_negotiation_class = JsonOnly
    basename, action = "api-root", "list"


class Router(DefaultRouter):
    """One address per resource: no suffixes that name a format."""

    APIRootView = Root
    include_format_suffixes = False


router = Router()
router.register("agents", AgentView)
router.register("checkpoints", CheckpointView)
router.register("passes", PassView, basename="pass")
router.register("leaderboards", LeaderboardView)
router.register("games", GameView, basename="game")
router.register("imports", ImportView, basename="import")
router.register("tournaments", TournamentView)
router.register("campaigns", CampaignView)
router.register("evaluations", EvaluationView, basename="evaluation")
router.register("generations", GenerationView, basename="generation")
router.register("gates", GateView, basename="gate")
router.register("watches", WatchView, basename="watch")
router.register("alarms", AlarmView)
router.register("matches", MatchView)
router.register("outcomes", OutcomeView, basename="outcome")
router.register("attempts", AttemptView)
router.register("recommendations", RecommendationView, basename="recommendation")
router.register("workers", WorkerView)
router.register("system", SystemView, basename="system")
router.register("nodes", NodeView, basename="node")
router.register("seasons", SeasonView)
router.register("schedules", ScheduleView)
router.register("audit", AuditView, basename="audit")
router.register("trajectories", TrajectoryView, basename="trajectory")
router.register("tokens", TokenView, basename="token")

urlpatterns = [*router.urls, re_path("", answer_no_such_address, name="no-such-address")]
