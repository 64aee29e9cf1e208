"""Addresses of this app below /api/v1/."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from experience.api.datasets import DatasetView
from experience.api.models import ModelView
from experience.api.runs import TrainingRunView
from experience.api.uploads import UploadView

router = SimpleRouter()
router.register("datasets", DatasetView, basename="dataset")
router.register("runs", TrainingRunView, basename="run")
router.register("models", ModelView, basename="model")

urlpatterns = [path("experience/", UploadView.as_view(), name="experience"), *router.urls]
