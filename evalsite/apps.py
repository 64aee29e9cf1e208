"""Registration of the configuration package with Django: its system checks and the Celery app."""

from django.apps import AppConfig

from evalsite import checks
from evalsite.celery import app as celery_app

__all__ = ["EvalsiteConfig", "celery_app", "checks"]


class EvalsiteConfig(AppConfig):
    """The configuration; importing this module registers its checks and sets the Celery app."""

    name = "evalsite"
