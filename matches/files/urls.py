"""Addresses of files under signed links."""

from django.urls import path

from matches.files import checkpoints

urlpatterns = [
    path("checkpoints/<str:sha256>", checkpoints.checkpoint_file, name="checkpoint-file"),
]
