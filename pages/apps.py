"""Registration of the app with Django."""

from django.apps import AppConfig


class PagesConfig(AppConfig):
    """The pages app."""

    name = "pages"
