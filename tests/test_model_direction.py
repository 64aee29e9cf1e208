"""A ForeignKey points at an earlier app; a string like "training.Segment" escapes import-linter."""

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db.models import ForeignKey, ManyToManyField, Model

# Each of our apps that has models may point at itself and at those before it, at Django's, at the
# tokens of the API and at the timetable of beat.
ORDER = ("matches", "experience", "training", "gameservers")
DJANGO = {"auth", "contenttypes", "django_celery_beat", "knox"}
MODELS = [model for model in apps.get_models() if model._meta.app_label in ORDER]


def targets(model: type[Model]) -> Iterator[str]:
    for field in model._meta.get_fields():
        if isinstance(field, (ForeignKey, ManyToManyField)):
            related = field.related_model
            assert isinstance(related, type)
            yield related._meta.app_label


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_model_points_at_its_own_or_an_earlier_app(model: type[Model]) -> None:
    own = ORDER.index(model._meta.app_label)
    assert set(targets(model)) <= {*ORDER[: own + 1], *DJANGO}


def test_our_apps_without_models_stay_without() -> None:
    with_models = {model._meta.app_label for model in apps.get_models()}
    assert not with_models & {"evalsite", "pages"}
