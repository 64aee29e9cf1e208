"""Filters of lists, and what else a query may ask for: what is neither is refused, not ignored."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.forms import CharField, ModelChoiceField, TextInput
from django.forms.utils import ErrorDict
from django_filters import BooleanFilter, CharFilter, Filter
from django_filters.rest_framework import DjangoFilterBackend, FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework.request import Request
from rest_framework.settings import api_settings

from matches.api.fields import MAX_ID, describe_choices
from matches.errors import BadInputError
from matches.ledger.naming import describe_no_board
from matches.models import Leaderboard

_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


class _TruthField(forms.Field):
    """true or false; a field of Django's takes any other text for no answer."""

    widget = TextInput

    def to_python(self, value: str | None) -> bool | None:
        if not value:
            return None
        if value.lower() not in _TRUTHS:
            raise ValidationError("must be true or false.")
        return _TRUTHS[value.lower()]


class _BoardNameField(CharField):
    """The name of a leaderboard that is there."""

    def clean(self, value: str) -> str:
        name: str = super().clean(value)
        if name and not Leaderboard.objects.filter(name=name).exists():
            # Not in the message itself, which django-filter formats: a name may hold a %.
            raise ValidationError("%(problem)s", params={"problem": describe_no_board(name)})
        return name


class _RowIdField(forms.IntegerField):
    """The id of a row that is there; an empty list would look as if there were nothing to list."""

    def __init__(self, model: type[models.Model], **options: Any) -> None:
        """model: of the row."""
        self._model = model
        super().__init__(**options, min_value=1, max_value=MAX_ID)

    def clean(self, value: Any) -> int | None:
        pk: int | None = super().clean(value)
        if pk is not None and not self._model._default_manager.filter(pk=pk).exists():
            raise ValidationError(f"there is no {self._model._meta.verbose_name} {pk}")
        return pk


class TruthFilter(BooleanFilter):  # type: ignore[misc]  # django-filter has no types
    """true or false."""

    field_class = _TruthField


@extend_schema_field(OpenApiTypes.INT64)
class RowIdFilter(Filter):  # type: ignore[misc]  # django-filter has no types
    """A row by its id."""

    field_class = _RowIdField


class BoardFilter(CharFilter):  # type: ignore[misc]  # django-filter has no types
    """A leaderboard by its name."""

    field_class = _BoardNameField

    def __init__(self, *args: Any, **options: Any) -> None:
        """Take no longer a name than one has."""
        super().__init__(*args, max_length=80, **options)


class Filters(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """Filters of a list. other_names: of filters, by what else they may be called."""

    FILTER_DEFAULTS: ClassVar = {
        **FilterSet.FILTER_DEFAULTS,
        models.BooleanField: {"filter_class": TruthFilter},
    }
    other_names: ClassVar[Mapping[str, str]] = {}

    def __init__(self, data: Any = None, *args: Any, **options: Any) -> None:
        """Read each parameter by its own name. Raises BadInputError where it is given by both."""
        query = data or {}
        self._asked_by = {name: other for other, name in self.other_names.items() if other in query}
        for name, other in self._asked_by.items():
            if name in query:
                raise BadInputError(other, f"give it or {name}, not both")
        named = {self.other_names.get(name, name): query[name] for name in query}
        super().__init__(named if self._asked_by else data, *args, **options)

    @property
    def form(self) -> forms.Form:
        """Return the form; where it refuses a choice, it names those that there are."""
        form: forms.Form = super().form
        for field in form.fields.values():
            if isinstance(field, forms.ChoiceField) and not isinstance(field, ModelChoiceField):
                choices: Any = field.choices
                field.error_messages["invalid_choice"] = describe_choices(dict(choices))
        return form

    @property
    def errors(self) -> ErrorDict:
        """Return what is refused, by the names that were used."""
        refused = super().errors.items()
        return ErrorDict({self._asked_by.get(name, name): why for name, why in refused})

    @classmethod
    def list_names(cls) -> list[str]:
        """Return the names of all filters."""
        return [*cls.other_names, *cls.base_filters]


class RowsOfGame(Filters):
    """What is of a game, also of one whose plug-in is gone."""

    game = CharFilter(max_length=60)


class RowsOfBoard(Filters):
    """What is of a leaderboard.

    Its first name stays the one that is documented: servers before that did not know the other one
    would answer a client that sends it with all rows.
    """

    leaderboard__name = BoardFilter(field_name="leaderboard__name")
    other_names: ClassVar[Mapping[str, str]] = {"leaderboard": "leaderboard__name"}


class FilterBackend(DjangoFilterBackend):  # type: ignore[misc]  # django-filter has no types
    """Filters the lists of the API."""

    filterset_base = Filters


def refuse_unknown(request: Request, names: Collection[str]) -> None:
    """Raise BadInputError naming a parameter of the query that is none of these."""
    for name in request.query_params:
        if name not in names and name != api_settings.URL_FORMAT_OVERRIDE:
            near = get_close_matches(name, names, n=1)
            suggestion = f"did you mean {near[0]}? " if near else ""
            choices = ", ".join(names) or "no parameter"
            raise BadInputError(f"{name:.80}", f"unknown: {suggestion}This takes {choices}")
    refuse_repeated(request)


def refuse_repeated(request: Request) -> None:
    """Raise BadInputError naming a parameter that is given twice: each takes one value."""
    for name, values in request.query_params.lists():
        if len(values) > 1:
            first_two = " and ".join(f"{value!r:.80}" for value in values[:2])
            raise BadInputError(f"{name:.80}", f"takes one value, got {first_two}")
