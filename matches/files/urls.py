"""Addresses of files under signed links."""

from django.urls import path

from matches.files import checkpoints, trajectories

urlpatterns = [
    path("checkpoints/<str:sha256>", checkpoints.checkpoint_file, name="checkpoint-file"),
    path("trajectories/<str:order>/<str:sha256>", trajectories.piece, name="trajectory-piece"),
]
