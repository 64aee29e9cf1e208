"""Registration of the app with Django."""

from django.apps import AppConfig


class ExperienceConfig(AppConfig):
    """The app of uploaded experience."""

    name = "experience"
    verbose_name = "experience"
    default_auto_field = "django.db.models.BigAutoField"
