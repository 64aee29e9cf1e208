"""Addresses of the pages."""

from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

from pages import agents, campaignpages, matchpages, pages, seasonpages, system, tournamentpages

urlpatterns = [
    path("", pages.home, name="home"),
    # Asked for by every browser that shows a page of the admin or the API.
    path("favicon.ico", RedirectView.as_view(url=static("evalsite/mark.svg")), name="favicon"),
    path("leaderboards/", pages.boards, name="boards"),
    path("leaderboards/<slug:name>/", pages.board, name="board"),
    path("leaderboards/<slug:name>/seasons/<int:pk>/", seasonpages.season, name="season"),
    path("agents/<int:pk>/", agents.agent, name="agent"),
    path("tournaments/<int:pk>/", tournamentpages.tournament, name="tournament"),
    path("tournaments/<int:pk>/campaign/", campaignpages.campaign, name="campaign"),
    path("matches/<int:pk>/", matchpages.match, name="match"),
    path("system/", system.overview, name="system"),
    path("system/nodes/<int:pk>/", system.node, name="node"),
]
