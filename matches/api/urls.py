"""Addresses of the REST API."""

from rest_framework.routers import DefaultRouter

from matches.api import views
from matches.api.checkpoints import CheckpointView

router = DefaultRouter()
router.register("agents", views.AgentView)
router.register("checkpoints", CheckpointView)
router.register("leaderboards", views.LeaderboardView)
router.register("tournaments", views.TournamentView)
router.register("matches", views.MatchView)
router.register("workers", views.WorkerView)

urlpatterns = router.urls
