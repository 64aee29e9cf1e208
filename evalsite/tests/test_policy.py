"""What a page may load and run: nothing that stands in its text, but for the exceptions listed."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from evalsite.policy import EXEMPTIONS, HEADER
from launcher.folders import ROOT

INLINE = re.compile(
    r"<style\b|\sstyle=|<script(?![^>]*\ssrc=)|\son[a-z]+=|javascript:", re.IGNORECASE
)
OWN_TEMPLATES = [
    path
    for path in sorted((ROOT / "templates").rglob("*.html"))
    if "admin" not in path.relative_to(ROOT).parts
]


@pytest.mark.parametrize("template", OWN_TEMPLATES, ids=lambda path: path.name)
def test_no_page_of_ours_carries_script_or_style(template: Path) -> None:
    assert not INLINE.findall(template.read_text())


@pytest.mark.django_db
@pytest.mark.parametrize(
    "address", ["/leaderboards/", "/nowhere/", "/login/", "/api/v1/", "/healthz"]
)
def test_everything_of_ours_has_the_strict_policy(client: Client, address: str) -> None:
    policy = client.get(address).headers[HEADER]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "frame-ancestors 'none'" in policy


@pytest.mark.django_db
def test_what_others_made_has_listed_exceptions_with_a_reason(client: Client) -> None:
    assert [exemption.folder for exemption in EXEMPTIONS] == ["/admin/", "/api/docs/"]
    assert all(len(exemption.reason) > 40 for exemption in EXEMPTIONS)
    docs = client.get("/api/docs/")
    assert "script-src 'self';" in docs.headers[HEADER]
    assert not re.search(r"<script(?![^>]*\ssrc=)", docs.content.decode())
    assert "'unsafe-eval'" in client.get("/admin/login/").headers[HEADER]


@pytest.fixture
def _https(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_HSTS_SECONDS = 60
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")


@pytest.mark.django_db
@pytest.mark.usefixtures("_https")
def test_behind_a_proxy_browsers_come_by_https_and_nodes_as_they_did() -> None:
    client = Client()
    assert client.get("/leaderboards/")["Location"] == "https://testserver/leaderboards/"
    for inside in ("/healthz", "/files/checkpoints/x", "/metrics"):
        assert client.get(inside).status_code != 301
    arrived = client.get("/leaderboards/", headers={"x-forwarded-proto": "https"})
    assert arrived.status_code == 200
    assert arrived.headers["Strict-Transport-Security"].startswith("max-age=60")
