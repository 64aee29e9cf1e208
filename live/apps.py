"""Registration of the app with Django."""

from django.apps import AppConfig


class LiveConfig(AppConfig):
    """The live app."""

    name = "live"
