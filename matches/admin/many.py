"""Where there are too many rows to sort them or to search in their text."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from arena.parameters import parse_number


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
