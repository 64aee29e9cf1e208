"""Addresses of files under signed links."""

from django.urls import path

from matches.files import views

urlpatterns = [
    path("checkpoints/<str:sha256>", views.serve_checkpoint, name="checkpoint-file"),
    path("trajectories/<str:order>/<str:sha256>", views.serve_piece, name="trajectory-piece"),
]
