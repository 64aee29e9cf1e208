"""Addresses of the pages."""

from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

from pages import (
    agents,
    boardpages,
    campaignpages,
    compare_page,
    match_list,
    matchpages,
    pair_page,
    system,
    tournamentpages,
)

urlpatterns = [
    path("", boardpages.show_home, name="home"),
    # Asked for by every browser that shows a page of the admin or the API.
    path("favicon.ico", RedirectView.as_view(url=static("evalsite/mark.svg")), name="favicon"),
    path("leaderboards/", boardpages.show_boards, name="boards"),
    path("leaderboards/<slug:name>/", boardpages.show_board, name="board"),
    path("leaderboards/<slug:name>/seasons/<int:pk>/", boardpages.show_season, name="season"),
    path("agents/<int:pk>/", agents.show_agent, name="agent"),
    path("tournaments/<int:pk>/", tournamentpages.show_tournament, name="tournament"),
    path("tournaments/<int:pk>/campaign/", campaignpages.show_campaign, name="campaign"),
    path("matches/", match_list.show_matches, name="matches"),
    path("matches/<int:pk>/", matchpages.show_match, name="match"),
    path("matches/<int:pk>/frames/", matchpages.send_frames, name="match-frames"),
    path("matches/<int:pk>/download.<str:form>", matchpages.send_file, name="match-file"),
    path("compare/", compare_page.show_comparison, name="compare"),
    path("compare/<int:first>/<int:second>/", pair_page.show_pair, name="pair"),
    path("system/", system.show_overview, name="system"),
    path("system/nodes/<int:pk>/", system.show_node, name="node"),
]
