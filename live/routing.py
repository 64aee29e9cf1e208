"""Addresses of the sockets."""

from django.urls import re_path

from live.consumers import LeaderboardConsumer, SystemConsumer

websocket_urlpatterns = [
    # As a SlugField allows; a longer name cannot exist and is not looked up.
    re_path(r"^ws/leaderboards/(?P<name>[-\w]{1,80})/$", LeaderboardConsumer.as_asgi()),
    re_path(r"^ws/system/$", SystemConsumer.as_asgi()),
]
