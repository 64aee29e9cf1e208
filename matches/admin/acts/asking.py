"""The page that asks before an act, and the answer to it.

Asking changes nothing. The answer does the act row by row, each in one transaction with its audit
row, and leaves out what has changed since it was asked about. Sent twice, it is done once.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse

from matches.admin.acts.base import Act, Chosen, Confirmed, Given, Touch
from matches.admin.once import DONE_BEFORE, new_once, only_once
from matches.errors import BadInputError, ConflictError, MatchError
from matches.store.auditing import Actor
from matches.store.clock import db_now

MAX_CHOSEN = 200
MAX_DIGITS = 18
MAX_MESSAGES = 10
TEMPLATE = "admin/acts/ask.html"


class Line(NamedTuple):
    """A chosen row, and what the act would do to it."""

    row: Model
    touch: Touch
    address: str

    @property
    def mark(self) -> str:
        """What stands for the state that the user saw."""
        return _mark(self.touch)


class Asked(NamedTuple):
    """What is asked, of whom, about which rows."""

    page: Any
    request: HttpRequest
    act: Act[Any]
    lines: list[Line]
    n_gone: int
    now: datetime


class Tally:
    """What became of the rows of an answer."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.refused: list[str] = []
        self.changed: list[str] = []
        self.errors: list[BadInputError] = []


def ask(page: Any, request: HttpRequest, act: Act[Any]) -> HttpResponse:
    """Ask, or do what was confirmed. page: the model admin that the act belongs to."""
    if not act.is_allowed(request.user):
        raise PermissionDenied
    asked = _asked(page, request, act)
    if not asked.lines:
        messages.warning(request, "Nothing is chosen that is still there; nothing was changed.")
        return HttpResponseRedirect(_list_address(page))
    if request.method == "POST":
        return _answered(asked)
    only = asked.lines[0].row if len(asked.lines) == 1 else None
    return _page(asked, act.form(initial=act.initial(only) if only else {}))


def _asked(page: Any, request: HttpRequest, act: Act[Any]) -> Asked:
    given = _given(request)
    texts = list(dict.fromkeys(given.getlist("pk")))[:MAX_CHOSEN]
    pks = [int(text) for text in texts if text.isdecimal() and len(text) <= MAX_DIGITS]
    found = page.get_queryset(request).filter(pk__in=pks).order_by("pk")
    rows = list(found if act.takes_many else found[:1])
    now = db_now()
    lines = [Line(row, act.touch(Chosen(row, now)), _address(page, row)) for row in rows]
    return Asked(page, request, act, lines, len(texts) - len(rows), now)


def _page(asked: Asked, form: forms.Form) -> HttpResponse:
    lines, act = asked.lines, asked.act
    open_lines = [line for line in lines if not line.touch.is_refused]
    context = {
        **asked.page.admin_site.each_context(asked.request),
        "title": act.question,
        "opts": asked.page.model._meta,
        "act": act,
        "lines": open_lines,
        "refused": [line for line in lines if line.touch.is_refused],
        "n_gone": asked.n_gone,
        "n_touched": sum(line.touch.n for line in open_lines),
        "form": form,
        "once": new_once(),
        "back": _back(asked),
        "from": _given(asked.request).get("from", ""),
    }
    return TemplateResponse(asked.request, TEMPLATE, context)


def _answered(asked: Asked) -> HttpResponse:
    form = asked.act.form(asked.request.POST)
    if not form.is_valid():
        return _page(asked, form)
    try:
        response = only_once(asked.request, partial(_done, asked, form))
    except MatchError as error:
        messages.warning(asked.request, f"Nothing was done: {error}.")
        return HttpResponseRedirect(_back(asked))
    if response is DONE_BEFORE:
        messages.info(asked.request, "That was done already; nothing was done twice.")
        return HttpResponseRedirect(_back(asked))
    return response


def _done(asked: Asked, form: forms.Form) -> HttpResponse:
    tally = Tally()
    _do_all(asked, form.cleaned_data, tally)
    return _told(asked, form, tally)


def _do_all(asked: Asked, given: Given, tally: Tally) -> None:
    for line in asked.lines:
        name = f"{line.row}"
        try:
            with transaction.atomic():
                _do(asked, line, given, tally)
        except BadInputError as error:
            tally.errors.append(error)
            tally.refused.append(f"{name}: {error}")
        except ConflictError as error:
            tally.refused.append(f"{name}: {error}")


def _do(asked: Asked, line: Line, given: Given, tally: Tally) -> None:
    """Do the act to one row as it is now, unless the user saw another one."""
    # Locked: whoever answers the same question at the same time waits, and then sees this one done.
    row = type(line.row)._default_manager.select_for_update().filter(pk=line.row.pk).first()
    if row is None:
        tally.refused.append(f"{line.row}: it is not there any more")
        return
    touch = asked.act.touch(Chosen(row, asked.now))
    if touch.is_refused:
        tally.refused.append(f"{row}: {touch.says}")
    elif asked.request.POST.get(f"seen-{row.pk}") != _mark(touch):
        tally.changed.append(f"{row} has changed since you were asked: look again")
    else:
        actor = Actor.of(asked.request.user)
        tally.done.append(asked.act.do(Confirmed(row, asked.now, given, actor)))


def _told(asked: Asked, form: forms.Form, tally: Tally) -> HttpResponse:
    """Say what became of it; where nothing was done, ask again with all that was entered."""
    request = asked.request
    _say(request, messages.SUCCESS, tally.done)
    _say(request, messages.WARNING, tally.refused)
    _say(request, messages.WARNING, tally.changed)
    again = _asked(asked.page, request, asked.act)
    is_over = all(line.touch.is_refused for line in again.lines)
    if tally.done or is_over:
        return HttpResponseRedirect(_back(asked))
    for error in tally.errors:
        form.add_error(error.field if error.field in form.fields else None, str(error))
    return _page(again, form)


def _say(request: HttpRequest, level: int, texts: Sequence[str]) -> None:
    for text in texts[:MAX_MESSAGES]:
        messages.add_message(request, level, f"{text[:1].upper()}{text[1:]}.")
    if len(texts) > MAX_MESSAGES:
        messages.add_message(request, level, f"And {len(texts) - MAX_MESSAGES:,} more.")


def _mark(touch: Touch) -> str:
    return sha256(touch.seen.encode()).hexdigest()[:16]


def _back(asked: Asked) -> str:
    """Return where the user came from: the page of a row, or the list."""
    if _given(asked.request).get("from") == "row" and len(asked.lines) == 1:
        return asked.lines[0].address
    return _list_address(asked.page)


def _given(request: HttpRequest) -> QueryDict:
    return request.POST if request.method == "POST" else request.GET


def _list_address(page: Any) -> str:
    meta = page.model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")


def _address(page: Any, row: Model) -> str:
    meta = page.model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[row.pk])
