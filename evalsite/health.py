"""Is the process alive, is the system ready, and what is wrong: for machines and for people."""

import os
from collections.abc import Sequence
from http import HTTPStatus
from time import monotonic

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from launcher.folders import MARK
from matches.access.visitors import may_read
from matches.operations import readiness
from matches.operations.readiness import Check
from matches.store.clock import db_now
from pages.templatetags.readable import told_to

# Anybody may ask: the checks are made at most once a second, whoever asks.
KEPT_S = 1.0

_STARTED_BY = os.getppid()
ORPHANED = "the supervisor that started this process is gone: ./run stop, then ./run"


class KeptChecks:
    """The checks made last, and when."""

    def __init__(self) -> None:
        self._checks: list[Check] = []
        self._until = 0.0

    def run_checks(self, *, now_s: float) -> list[Check]:
        """Return checks that are no older than a second."""
        if now_s >= self._until:
            self._checks = list(readiness.run_checks(now=db_now))
            if is_orphan():
                self._checks.append(Check("supervisor", False, "is gone", ORPHANED))
            self._until = now_s + KEPT_S
        return self._checks


_kept = KeptChecks()


@never_cache
@require_safe
def healthz(_: HttpRequest) -> JsonResponse:
    """Return 200: this process answers. What it needs is the matter of readyz.

    A leftover of a stack whose supervisor is gone answers too, but nobody would start it again.
    """
    if is_orphan():
        return JsonResponse({"status": ORPHANED}, status=HTTPStatus.SERVICE_UNAVAILABLE)
    return JsonResponse({"status": "ok"})


def is_orphan() -> bool:
    """Say whether a supervisor of ours started this process and is gone: another is its parent."""
    return MARK in os.environ and os.getppid() != _STARTED_BY


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Return every check (none for strangers to a closed site), and 503 when one failed."""
    checks = _kept.run_checks(now_s=monotonic())
    is_ready = _is_ready(checks)
    answer: dict[str, object] = {"status": "ready" if is_ready else "not ready"}
    if may_read(None) or may_read(request.user):
        user = request.user if _has_users(checks) else None
        answer["checks"] = {
            check.name: {
                "is_ok": check.is_ok,
                "detail": told_to(check.detail, user),
                "hint": check.hint,
            }
            for check in checks
        }
    status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
    return JsonResponse(answer, status=status)


@never_cache
@require_safe
def show_health(request: HttpRequest) -> HttpResponse:
    """Show the checks to people, with what to do."""
    checks = _kept.run_checks(now_s=monotonic())
    context = {"checks": checks, "is_ready": _is_ready(checks)}
    if _has_users(checks):
        return render(request, "pages/health.html", context)
    return render(None, "pages/health.html", {**context, "user": None})


def _has_users(checks: Sequence[Check]) -> bool:
    """Say whether sessions can be looked up; where they cannot, nobody counts as logged in."""
    # A database that is not migrated may lack their tables, or columns of them.
    return all(check.is_ok for check in checks if check.name in ("database", "migrations"))


def _is_ready(checks: Sequence[Check]) -> bool:
    return all(check.is_ok for check in checks if check.is_needed)
