"""Addresses of the pages."""

from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

from pages import (
    agents,
    boardpages,
    campaignpages,
    compare_page,
    games,
    home,
    match_list,
    matchpages,
    pair_page,
    suites,
    system,
    tournamentpages,
)
from pages.lists import agents as agent_list
from pages.lists import boards, runs, search
from pages.lists import campaigns as campaign_list
from pages.lists import tournaments as tournament_list
from pages.training import catalogue, run_page

urlpatterns = [
    path("", home.show_home, name="home"),
    # Asked for by every browser that shows a page of the admin or the API.
    path("favicon.ico", RedirectView.as_view(url=static("evalsite/mark.svg")), name="favicon"),
    path("leaderboards/", boards.show_boards, name="boards"),
    path("leaderboards/<slug:name>/", boardpages.show_board, name="board"),
    path("leaderboards/<slug:name>/seasons/<int:pk>/", boardpages.show_season, name="season"),
    path("agents/", agent_list.show_agents, name="agents"),
    path("agents/<int:pk>/", agents.show_agent, name="agent"),
    path("games/", games.show_games, name="games"),
    path("games/<slug:game>/", games.show_game, name="game"),
    path("models/", catalogue.show_models, name="models"),
    path("runs/", runs.show_runs, name="runs"),
    path("runs/<slug:name>/", run_page.show_run, name="run"),
    path("runs/<slug:name>/now/", run_page.show_run_now, name="run-now"),
    path("suites/<slug:name>/", suites.show_suite, name="suite"),
    path("campaigns/", campaign_list.show_campaigns, name="campaigns"),
    path("tournaments/", tournament_list.show_tournaments, name="tournaments"),
    path("tournaments/<int:pk>/", tournamentpages.show_tournament, name="tournament"),
    path("tournaments/<int:pk>/campaign/", campaignpages.show_campaign, name="campaign"),
    path("matches/", match_list.show_matches, name="matches"),
    path("matches/<int:pk>/", matchpages.show_match, name="match"),
    path("matches/<int:pk>/frames/", matchpages.send_frames, name="match-frames"),
    path("matches/<int:pk>/download.<str:form>", matchpages.send_file, name="match-file"),
    path("compare/", compare_page.show_comparison, name="compare"),
    path("compare/<int:first>/<int:second>/", pair_page.show_pair, name="pair"),
    path("search/", search.show_results, name="search"),
    path("system/", system.show_overview, name="system"),
    path("system/nodes/<int:pk>/", system.show_node, name="node"),
]
