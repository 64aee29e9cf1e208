"""Every address that answers a GET: found in the URL configuration and the schema of the API.

What is found and not known here is an error, so that a new page cannot be forgotten.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from django.urls import URLPattern, URLResolver, get_resolver

from benchmarks.field import adminpages, apilists
from benchmarks.field.errors import ForgottenError
from pages.filters import SORTS

PAGES: Mapping[str, Sequence[str]] = {
    "home": ("/",),
    "favicon": ("/favicon.ico",),
    "login": ("/login/", "/login/?next=/system/"),
    "boards": ("/leaderboards/", "/leaderboards/?before=60"),
    "board": (
        "/leaderboards/{board}/",
        "/leaderboards/{board}/?page={last_page}",
        "/leaderboards/{board}/?q=1",
        "/leaderboards/{board}/?q=nobody+is+called+so",
        "/leaderboards/{board}/?kind=network",
        "/leaderboards/{board}/?run={run}",
        "/leaderboards/{board}/?tournament={tournament}",
        "/leaderboards/{board}/?q=a&kind=network&tournament={tournament}&sort=-trend",
        *(f"/leaderboards/{{board}}/?sort={sort}" for name in SORTS for sort in (name, f"-{name}")),
        "/leaderboards/{board}/?sort=name&page={last_page}",
    ),
    "season": (
        "/leaderboards/{board}/seasons/{season}/",
        "/leaderboards/{board}/seasons/{season}/?after=500",
    ),
    "agent": (
        "/agents/{busiest}/",
        "/agents/{busiest}/?board={board}&opponent={second}",
        "/agents/{busiest}/?match=1000&failure=1000",
        "/agents/{second}/",
        "/agents/{searcher}/",
    ),
    "tournament": (
        "/tournaments/{tournament}/",
        "/tournaments/{tournament}/?after={deep}",
        "/tournaments/{running}/",
        "/tournaments/{small}/",
    ),
    "campaign": ("/tournaments/{running}/campaign/",),
    "match": (
        "/matches/{match}/",
        "/matches/{match}/?step=2",
        "/matches/{open_match}/",
        "/matches/{chess}/",
        "/matches/{chess}/?step=2",
        "/matches/{go}/?step=2",
    ),
    "system": ("/system/",),
    "node": ("/system/nodes/{worker}/",),
    "healthz": ("/healthz",),
    "readyz": ("/readyz",),
    "health": ("/health/",),
    "metrics": ("/metrics",),
    "schema": ("/api/schema/", "/api/schema/?format=json"),
    "api-docs": ("/api/docs/",),
}
ELSEWHERE = ("admin/", "api/v1/")
"""Below these the admin and the schema say what there is."""
NOT_ASKED: Mapping[str, str] = {
    "logout": "an act, not a page: it takes a POST only",
    "checkpoint-file": "a file, not a page: its link is signed",
    "trajectory-piece": "a file, not a page: its link is signed",
}


class Address(NamedTuple):
    """What is asked for: with names of subjects, the same for every size, and with their ids."""

    name: str
    path: str


def everything(subjects: Mapping[str, object]) -> list[Address]:
    """Return all addresses. Raises ForgottenError naming those that are not known here."""
    named = [*_pages(), *adminpages.addresses(), *apilists.addresses()]
    return [Address(name, name.format_map(subjects)) for name in dict.fromkeys(named)]


def _pages() -> Iterator[str]:
    found = list(_routes(get_resolver().url_patterns))
    unknown = [route for route in found if route not in PAGES and route not in NOT_ASKED]
    if unknown:
        raise ForgottenError(f"pages without an example in PAGES: {', '.join(unknown)}")
    return (page for route in found for page in PAGES.get(route, ()))


def _routes(patterns: Iterable[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    """Yield the names of all patterns, the routes of those without one."""
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if route.startswith(ELSEWHERE):
            continue
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        else:
            yield pattern.name or route
