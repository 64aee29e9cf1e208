"""Addresses of the pages."""

from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

from live import pages

urlpatterns = [
    path("", pages.home, name="home"),
    # Asked for by every browser that shows a page of the admin or the API.
    path("favicon.ico", RedirectView.as_view(url=static("evalsite/mark.svg"))),
    path("leaderboards/", pages.boards, name="boards"),
    path("leaderboards/<slug:name>/", pages.board, name="board"),
    path("tournaments/<int:pk>/", pages.tournament, name="tournament"),
    path("matches/<int:pk>/", pages.match, name="match"),
]
