"""Signed links: good for one method and one path, for a day, and equal within an hour."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from matches.store import signing
from matches.tests.factories import NOW, later

PATH = "/files/checkpoints/ab"
DAY_S = 86_400


def _query(link: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(link).query))


def test_a_link_may_be_used_for_its_method_and_path() -> None:
    link = signing.sign_link("GET", PATH, now=NOW)
    assert urlsplit(link).path == PATH
    assert signing.find_link_problem("GET", PATH, _query(link), now=later(DAY_S)) is None


def test_links_of_one_hour_are_equal() -> None:
    assert signing.sign_link("GET", PATH, now=NOW) == signing.sign_link(
        "GET", PATH, now=later(3_599)
    )
    assert signing.sign_link("GET", PATH, now=NOW) != signing.sign_link(
        "GET", PATH, now=later(3_600)
    )


def test_a_link_expires_within_a_day_and_an_hour() -> None:
    query = _query(signing.sign_link("GET", PATH, now=NOW))
    reason = signing.find_link_problem("GET", PATH, query, now=later(DAY_S + 3_601))
    assert reason is not None
    assert "ask for a new one" in reason


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", PATH), ("GET", f"{PATH}c"), ("GET", "/files/checkpoints/cd")]
)
def test_a_link_fits_nothing_else(method: str, path: str) -> None:
    query = _query(signing.sign_link("GET", PATH, now=NOW))
    reason = signing.find_link_problem(method, path, query, now=NOW)
    assert reason is not None
    assert f"does not fit {method} {path}" in reason


@pytest.mark.parametrize(
    "change",
    [
        {"until": "9999999999"},
        {"until": ""},
        {"until": "-1"},
        {"until": "1e9"},
        {"until": "9" * 13},
        {"until": "١٢٣"},
        {"signature": ""},
        {"signature": "00"},
        {"signature": "ü\ud800"},
    ],
)
def test_a_link_that_was_changed_is_refused(change: dict[str, str]) -> None:
    query = _query(signing.sign_link("GET", PATH, now=NOW)) | change
    assert signing.find_link_problem("GET", PATH, query, now=NOW) is not None
