"""Addresses of the REST API."""

urlpatterns: list[object] = []
