"""The page that asks before an act, and the answer to it.

Asking changes nothing. The answer does the act row by row, each in one transaction with its audit
row, and leaves out what has changed since it was asked about. Sent twice, it is done once.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse

from arena.parameters import parse_number
from matches.admin.acts.base import Act, ChosenRow, ConfirmedRow, Effect, FormValues
from matches.admin.once import DONE_BEFORE, new_once, only_once
from matches.errors import BadInputError, ConflictError, MatchError
from matches.store.auditing import Actor
from matches.store.clock import db_now

MAX_CHOSEN = 200
MAX_MESSAGES = 10
TEMPLATE = "admin/acts/ask.html"


class Line(NamedTuple):
    """A chosen row, and what the act would do to it."""

    row: Model
    effect: Effect
    address: str


class Question(NamedTuple):
    """What is asked, by which page of the admin, about which rows."""

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


def ask_or_perform(page: Any, request: HttpRequest, act: Act[Any]) -> HttpResponse:
    """Ask, or do what was confirmed. page: the model admin that the act belongs to."""
    if not act.is_allowed(request.user):
        raise PermissionDenied
    question = _read_question(page, request, act)
    if not question.lines:
        messages.warning(request, "Nothing is chosen that is still there; nothing was changed.")
        return HttpResponseRedirect(page.list_address())
    if request.method == "POST":
        return _take_answer(question)
    only = question.lines[0].row if len(question.lines) == 1 else None
    return _render_question(question, act.form(initial=act.initial_values(only) if only else {}))


def _read_question(page: Any, request: HttpRequest, act: Act[Any]) -> Question:
    texts = list(dict.fromkeys(_read_query(request).getlist("pk")))[:MAX_CHOSEN]
    pks = [pk for text in texts if (pk := parse_number(text)) is not None]
    chosen = page.get_queryset(request).filter(pk__in=pks).order_by("pk")
    rows = list(chosen if act.takes_many else chosen[:1])
    now, name = db_now(), f"admin:{page.opts.app_label}_{page.opts.model_name}_change"
    lines = [
        Line(row, act.preview_effect(ChosenRow(row, now)), reverse(name, args=[row.pk]))
        for row in rows
    ]
    return Question(page, request, act, lines, len(texts) - len(rows), now)


def _render_question(question: Question, form: forms.Form) -> HttpResponse:
    lines, act = question.lines, question.act
    open_lines = [line for line in lines if not line.effect.is_refused]
    context = {
        **question.page.admin_site.each_context(question.request),
        "title": act.question,
        "opts": question.page.opts,
        "act": act,
        "lines": open_lines,
        "refused": [line for line in lines if line.effect.is_refused],
        "n_gone": question.n_gone,
        "n_touched": sum(line.effect.n for line in open_lines),
        "form": form,
        "once": new_once(),
        "back": _find_way_back(question),
        "from": _read_query(question.request).get("from", ""),
    }
    return TemplateResponse(question.request, TEMPLATE, context)


def _take_answer(question: Question) -> HttpResponse:
    form = question.act.form(question.request.POST)
    if not form.is_valid():
        return _render_question(question, form)
    try:
        response = only_once(question.request, partial(_perform_all, question, form))
    except MatchError as error:
        messages.warning(question.request, f"Nothing was done: {error}.")
        return HttpResponseRedirect(_find_way_back(question))
    if response is DONE_BEFORE:
        messages.info(question.request, "That was done already; nothing was done twice.")
        return HttpResponseRedirect(_find_way_back(question))
    return response


def _perform_all(question: Question, form: forms.Form) -> HttpResponse:
    tally = Tally()
    for line in question.lines:
        try:
            # One transaction each: a row that is refused keeps no other from being done.
            with transaction.atomic():
                _perform_one(question, line, form.cleaned_data, tally)
        except BadInputError as error:
            tally.errors.append(error)
        except ConflictError as error:
            tally.refused.append(f"{line.row}: {error}")
    return _report_tally(question, form, tally)


def _perform_one(question: Question, line: Line, values: FormValues, tally: Tally) -> None:
    """Do the act to one row, unless the row has changed since the user saw it."""
    row = question.act.lock_row(line.row)
    if row is None:
        tally.refused.append(f"{line.row}: it is not there any more")
        return
    effect = question.act.preview_effect(ChosenRow(row, question.now))
    if effect.is_refused:
        tally.refused.append(f"{row}: {effect.says}")
    elif question.request.POST.get(f"seen-{row.pk}") != effect.mark:
        tally.changed.append(f"{row} has changed since you were asked: look again")
    else:
        actor = Actor.of(question.request.user)
        confirmed = ConfirmedRow(row, question.now, values, actor)
        tally.done.append(question.act.perform_act(confirmed))


def _report_tally(question: Question, form: forms.Form, tally: Tally) -> HttpResponse:
    """Report what was done; where nothing was, ask again with the values that were entered."""
    request = question.request
    _add_messages(request, messages.SUCCESS, tally.done)
    new_question = _read_question(question.page, request, question.act)
    is_over = bool(tally.done) or all(line.effect.is_refused for line in new_question.lines)
    # Where the form is shown again, its fields say what was refused: not twice.
    refused = [*tally.refused, *(str(error) for error in tally.errors if is_over)]
    _add_messages(request, messages.WARNING, refused)
    _add_messages(request, messages.WARNING, tally.changed)
    if is_over:
        return HttpResponseRedirect(_find_way_back(question))
    for error in tally.errors:
        form.add_error(error.field if error.field in form.fields else None, str(error))
    return _render_question(new_question, form)


def _add_messages(request: HttpRequest, level: int, texts: Sequence[str]) -> None:
    for text in texts[:MAX_MESSAGES]:
        # They begin with names, which stay as they were typed.
        messages.add_message(request, level, f"{text}.")
    if len(texts) > MAX_MESSAGES:
        messages.add_message(request, level, f"And {len(texts) - MAX_MESSAGES:,} more.")


def _find_way_back(question: Question) -> str:
    """Return where the user came from: the page of a row, or the list."""
    if _read_query(question.request).get("from") == "row" and len(question.lines) == 1:
        return question.lines[0].address
    address: str = question.page.list_address()
    return address


def _read_query(request: HttpRequest) -> QueryDict:
    return request.POST if request.method == "POST" else request.GET
