"""Registration of the app with Django."""

from django.apps import AppConfig


class MatchesConfig(AppConfig):
    """The matches app."""

    name = "matches"
    verbose_name = "evalsite"
