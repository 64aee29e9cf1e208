"""Where there are too many rows to list them all, to sort them or to search in their text."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelectMultiple
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from arena.parameters import parse_number

MOST_LISTED = 500
"""Of more agents a form lists none: they are searched for as their names are typed."""


class FoundByNumber:
    """A list that grows with what is played: in the order of its key only, found by its key only.

    Any other order would read all rows, and so would Django's search for a number as text.
    """

    sortable_by: tuple[str, ...] = ()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the row of that number."""
        del request
        text = search_term.strip()
        if not text:
            return queryset, False
        pk = parse_number(text)
        return (queryset.none() if pk is None else queryset.filter(pk=pk)), False


def search_if_many(form: forms.BaseForm, owner: type[Model]) -> None:
    """Let the field `agents` of a form search where there are too many to list them."""
    field: Any = form.fields["agents"]
    if field.queryset[: MOST_LISTED + 1].count() > MOST_LISTED:
        field.widget = AutocompleteSelectMultiple(owner._meta.get_field("agents"), admin.site)
        field.widget.choices = field.choices
