"""Addresses of the REST API."""

from rest_framework.routers import DefaultRouter

from matches.api import views

router = DefaultRouter()
router.register("agents", views.AgentView)
router.register("leaderboards", views.LeaderboardView)
router.register("tournaments", views.TournamentView)
router.register("matches", views.MatchView)
router.register("workers", views.WorkerView)

urlpatterns = router.urls
