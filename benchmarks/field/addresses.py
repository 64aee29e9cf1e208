"""Every address that answers a GET: of pages, of the admin, and the API's lists at their worst.

They are found in the URL configuration, the registry of the admin and the schema of the API. What
is found and has no example is an error, so that a new page cannot be forgotten.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.auth.models import User
from django.db.models import Model
from django.test import RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator

from benchmarks.field.examples import (
    ADMIN_EXTRAS,
    ADMIN_FILTERS,
    ADMIN_NOT_ASKED,
    ADMIN_PAGES,
    ADMIN_ROWS,
    ADMIN_USUAL,
    ALONE,
    API_NOT_ASKED,
    DEEP,
    ELSEWHERE,
    IN_PATH,
    LARGEST,
    NOT_ASKED,
    PAGE_PARAMETERS,
    PAGES,
    QUERIES,
)
from benchmarks.field.people import ADMIN


class ForgottenError(Exception):
    """There is an address that nobody has said how to ask for."""


class Address(NamedTuple):
    """What is asked for: with names of subjects, the same for every size, and with their ids."""

    name: str
    path: str


def find_addresses(subjects: Mapping[str, object]) -> list[Address]:
    """Return all addresses. Raises ForgottenError naming those without an example."""
    named = [*find_pages(), *find_admin_pages(), *find_api_lists()]
    return [Address(name, name.format_map(subjects)) for name in dict.fromkeys(named)]


def find_pages() -> list[str]:
    """Return the examples of all pages but those of the admin and the API."""
    routes = list(find_routes(get_resolver().url_patterns))
    unknown = [route for route in routes if route not in PAGES and route not in NOT_ASKED]
    if unknown:
        raise ForgottenError(f"pages without an example in PAGES: {', '.join(unknown)}")
    return [page for route in routes for page in PAGES.get(route, ())]


def find_routes(patterns: Iterable[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    """Yield the names of all patterns, the routes of those without one."""
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if route.startswith(ELSEWHERE):
            continue
        if isinstance(pattern, URLResolver):
            yield from find_routes(pattern.url_patterns, route)
        else:
            yield pattern.name or route


def find_admin_pages() -> Iterator[str]:
    """Yield the pages of the site and of every model its list, its form and one of its rows."""
    names = {pattern.name for pattern in admin.site.get_urls() if isinstance(pattern, URLPattern)}
    unknown = {name for name in names if name} - ADMIN_PAGES.keys() - ADMIN_NOT_ASKED.keys()
    if unknown:
        raise ForgottenError(f"pages of the admin without an example: {', '.join(unknown)}")
    yield from (page for pages in ADMIN_PAGES.values() for page in pages)
    for model, its_admin in admin.site._registry.items():
        yield from find_model_pages(model, its_admin)


def find_model_pages(model: type[Model], its_admin: "ModelAdmin[Any]") -> Iterator[str]:
    """Yield the list at its worst, the form, a row with its acts, and what else a model has."""
    app, name = model._meta.app_label, model._meta.model_name or ""
    base = f"/admin/{app}/{name}/"
    request = RequestFactory().get(base)
    request.user = User.objects.get(username=ADMIN)
    yield base
    if its_admin.get_search_fields(request):
        yield f"{base}?q=1"
    # Of other packages' models there are a few rows, or none.
    columns = its_admin.get_sortable_by(request) if app == "matches" else ()
    for place, column in enumerate(its_admin.get_list_display(request), 1):
        if column in columns:
            yield from (f"{base}?o={place}", f"{base}?o=-{place}")
    yield from (f"{base}?{chosen}" for chosen in ADMIN_FILTERS.get(name, ()))
    if its_admin.has_add_permission(request):
        yield f"{base}add/"
    first = model._default_manager.order_by("pk").first()
    row = f"{{{ADMIN_ROWS[name]}}}" if name in ADMIN_ROWS else first and first.pk
    if row is not None:
        yield from (f"{base}{row}/change/", f"{base}{row}/history/")
        yield from (f"{base}ask/{act.name}/?pk={row}" for act in getattr(its_admin, "acts", ()))
    usual = {f"{app}_{name}_{page}" for page in ADMIN_USUAL}
    urls = [pattern for pattern in its_admin.get_urls() if isinstance(pattern, URLPattern)]
    for extra in sorted({url.name for url in urls if url.name} - usual - ADMIN_NOT_ASKED.keys()):
        if extra not in ADMIN_EXTRAS:
            raise ForgottenError(f"no example in ADMIN_EXTRAS of the page {extra}")
        yield from ADMIN_EXTRAS[extra]


def find_api_lists() -> Iterator[str]:
    """Yield the GET endpoints of the API as its schema has them, each list at its worst."""
    generator: Any = SchemaGenerator  # it has no types
    schema = generator().get_schema(request=None, public=True)
    yield "/api/v1/"
    for template, operations in schema["paths"].items():
        if "get" in operations and template not in API_NOT_ASKED:
            yield from find_queries(template, operations["get"].get("parameters", []))


def find_queries(template: str, parameters: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield an endpoint with every filter, its first page and its last one."""
    names = {parameter["name"] for parameter in parameters if parameter["in"] == "query"}
    queries = QUERIES.get(template, () if names else ("",))
    missing = [name for name in names - PAGE_PARAMETERS if f"{name}=" not in "&".join(queries)]
    if missing or not queries:
        raise ForgottenError(f"no example in QUERIES of {template} with {', '.join(missing)}")
    path = fill_path(template)
    deep = DEEP.get(template, "deep_id")
    pages = (LARGEST, f"{LARGEST}&cursor={{{deep}}}") if "page_size" in names else ("",)
    for query, page in product(queries, pages):
        # The matches of an agent are cut by match, not by place.
        here = page.replace("deep_sequence", "deep_id") if "agent=" in query else page
        text = "&".join(filter(None, (query, here)))
        yield f"{path}?{text}" if text else path
    yield from ALONE.get(template, ())


def fill_path(template: str) -> str:
    filled, prefix = "", ""
    for part in template.strip("/").split("/"):
        prefix = f"{prefix}/{part}"
        if part.startswith("{") and prefix not in IN_PATH:
            raise ForgottenError(f"no example in IN_PATH for {prefix}")
        filled += f"/{{{IN_PATH[prefix]}}}" if part.startswith("{") else f"/{part}"
    return f"{filled}/"
