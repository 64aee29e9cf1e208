"""/metrics: the system as it was seen last, and the requests of this web process."""

from collections.abc import Awaitable, Callable, Iterator
from hmac import compare_digest
from inspect import iscoroutinefunction
from ipaddress import ip_address
from time import perf_counter

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from matches.access.visitors import find_client_address, may_read
from matches.operations.system import prometheus, pushing
from matches.store import away
from matches.store.clock import db_now

NEEDED = """metrics need the token of EVALSITE_METRICS_TOKEN; where none is set,
a caller on this machine, who has logged in if EVALSITE_PUBLIC_READ is 0
"""
SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0)
FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP")

Answer = Callable[[HttpRequest], HttpResponseBase]
AsyncAnswer = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


class SystemCollector(Collector):
    """Reads what was seen last when Prometheus asks; while control is silent it looks itself."""

    def describe(self) -> Iterator[Metric]:
        """Name nothing ahead: registering must not ask the fast store."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield the figures, or only which part they cannot be had without."""
        try:
            now = db_now()
            state = pushing.read_newest(now=now)
        except RedisError:
            yield _make_outage("fast store")
        except away.ERRORS as error:
            if not away.is_away(error):
                raise
            yield _make_outage("database")
        else:
            yield from prometheus.export_metrics(state, now=now)


def _make_outage(part: str) -> Metric:
    up = GaugeMetricFamily("evalsite_part_up", "1 when the part answered", labels=["part"])
    up.add_metric([part], 0)
    return up


registry = CollectorRegistry()
registry.register(SystemCollector())
ProcessCollector(registry=registry)
GCCollector(registry=registry)
_requests = Histogram(
    "evalsite_http_request_seconds",
    "Requests of this web process, by address pattern",
    ["method", "route", "status"],
    buckets=SECONDS,
    registry=registry,
)


@never_cache
@require_safe
def show_metrics(request: HttpRequest) -> HttpResponse:
    """Return all metrics to callers with the token; if none is set, to this machine only."""
    if not _may_read(request):
        return HttpResponse(NEEDED, status=403)
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _may_read(request: HttpRequest) -> bool:
    token: str = settings.EVALSITE_METRICS_TOKEN
    if token:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        return compare_digest(header.encode(), f"Bearer {token}".encode())
    if not (may_read(None) or may_read(request.user)):
        return False
    # Behind a proxy on this machine everybody would seem to be on it.
    is_forwarded = any(request.META.get(name) for name in FORWARDED)
    return not is_forwarded and ip_address(find_client_address(request)).is_loopback


@sync_and_async_middleware
def time_requests(get_response: Answer | AsyncAnswer) -> Answer | AsyncAnswer:
    """Return a middleware that takes the time of every request."""
    if iscoroutinefunction(get_response):

        async def async_middleware(request: HttpRequest) -> HttpResponseBase:
            began_s = perf_counter()
            response: HttpResponseBase = await get_response(request)
            _record_time(request, response, perf_counter() - began_s)
            return response

        return async_middleware

    def middleware(request: HttpRequest) -> HttpResponseBase:
        began_s = perf_counter()
        response = get_response(request)
        assert isinstance(response, HttpResponseBase)
        _record_time(request, response, perf_counter() - began_s)
        return response

    return middleware


def _record_time(request: HttpRequest, response: HttpResponseBase, took_s: float) -> None:
    # The pattern, not the path: each label is a series that Prometheus keeps, and paths are without
    # number. Methods may be anything, too.
    match = request.resolver_match
    route = match.route if match else "none"
    method = request.method if request.method in {"GET", "HEAD", "POST"} else "other"
    _requests.labels(method, route, str(response.status_code)).observe(took_s)
