"""Addresses of the pages."""

from django.urls import path

from live import pages

urlpatterns = [
    path("", pages.home, name="home"),
    path("leaderboards/", pages.boards, name="boards"),
    path("leaderboards/<slug:name>/", pages.board, name="board"),
    path("tournaments/<int:pk>/", pages.tournament, name="tournament"),
    path("matches/<int:pk>/", pages.match, name="match"),
]
