"""Addresses of the pages, the admin and the API."""

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import include, path
from drf_spectacular.views import SpectacularSwaggerSplitView

from evalsite.health import healthz, readyz, show_health
from evalsite.metrics import show_metrics
from evalsite.signing_in import SignIn
from matches.api.document import SchemaView

urlpatterns = [
    path("", include("pages.urls")),
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("health/", show_health, name="health"),
    path("metrics", show_metrics, name="metrics"),
    # Before the admin's own, which knows neither the way back nor who is in.
    path("admin/login/", SignIn.as_view(next_page="admin:index"), name="admin-login"),
    path("admin/", admin.site.urls),
    path("files/", include("experience.files")),
    path("files/", include("matches.files.urls")),
    # Before the API of matches, which answers all else below its address.
    path("api/v1/", include("experience.api.urls")),
    path("api/v1/", include("matches.api.urls")),
    path("api/schema/", SchemaView.as_view(), name="schema"),
    path("api/docs/", SpectacularSwaggerSplitView.as_view(url_name="schema"), name="api-docs"),
]
handler500 = "evalsite.faults.answer_fault"
