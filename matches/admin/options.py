"""Options of plans as fields of the forms of the admin."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from unfold.widgets import (
    UnfoldAdminBigIntegerFieldWidget,
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from matches.admin.base import ModelFormWithAllErrors
from matches.options import Kind, Option

Form = type[ModelFormWithAllErrors]


class PlanForm(ModelFormWithAllErrors):
    """A form whose fields are the options of a plan, besides its own."""

    options: ClassVar[Sequence[Option]] = ()

    def clean(self) -> dict[str, Any]:
        """Take the default of an option that was left empty."""
        cleaned = super().clean() or self.cleaned_data
        for option in self.options:
            if cleaned.get(option.name) is None and option.name not in self.errors:
                cleaned[option.name] = option.default
        return cleaned

    def given(self) -> dict[str, Any]:
        """Return the options as they were entered."""
        return {option.name: self.cleaned_data[option.name] for option in self.options}


class NamesAndValues(forms.JSONField):
    """An object of names and values."""

    def clean(self, value: Any) -> dict[str, Any] | None:
        """Return it; None where it is empty. Raises ValidationError for what has no names."""
        found = super().clean(value)
        if found is not None and not isinstance(found, dict):
            raise forms.ValidationError(
                f'Write names and values, such as {{"k": 3}}, not {found!r:.40}.'
            )
        return found


def with_options(form: Form, options: Sequence[Option]) -> Form:
    """Return the form with a field for each option that it does not show otherwise."""
    declared = getattr(form, "declared_fields", {})
    fields = {o.name: form_field(o) for o in options if o.name not in declared}
    metaclass: Any = type(form)
    made: Form = metaclass(form.__name__, (form,), {**fields, "options": tuple(options)})
    return made


def names_of(options: Iterable[Option]) -> tuple[str, ...]:
    """Return the names of options."""
    return tuple(option.name for option in options)


def titles_of(options: Iterable[Option]) -> dict[str, str]:
    """Return how forms name the options that have a title."""
    return {option.name: option.title for option in options if option.title}


def form_field(option: Option) -> forms.Field:
    """Return the field of an option."""
    known = {
        "label": option.title or option.name.replace("_", " ").capitalize(),
        "help_text": option.help,
        "initial": option.default,
        "required": option.is_required,
    }
    if option.choices is not None:
        return forms.ChoiceField(**known, choices=_offered(option), widget=UnfoldAdminSelectWidget)
    return FIELDS[option.kind](option, known)


def _offered(option: Option) -> Callable[[], list[tuple[str, str]]]:
    choices = option.choices or list
    nothing = [("", option.empty)] if option.default == "" else []
    return lambda: [*nothing, *choices()]


def _text(option: Option, known: dict[str, Any]) -> forms.Field:
    return forms.CharField(**known, max_length=option.max_length, widget=UnfoldAdminTextInputWidget)


def _whole(option: Option, known: dict[str, Any]) -> forms.Field:
    is_open = option.maximum is None
    return forms.IntegerField(
        **known,
        min_value=_whole_number(option.minimum),
        max_value=_whole_number(option.maximum),
        widget=UnfoldAdminBigIntegerFieldWidget if is_open else UnfoldAdminIntegerFieldWidget,
    )


def _whole_number(limit: float | None) -> int | None:
    return None if limit is None else int(limit)


def _real(option: Option, known: dict[str, Any]) -> forms.Field:
    return forms.FloatField(
        **known,
        min_value=option.minimum,
        max_value=option.maximum,
        widget=UnfoldAdminDecimalFieldWidget,
    )


def _truth(_: Option, known: dict[str, Any]) -> forms.Field:
    return forms.BooleanField(**known, widget=UnfoldBooleanSwitchWidget)


def _pairs(_: Option, known: dict[str, Any]) -> forms.Field:
    return NamesAndValues(**known, widget=UnfoldAdminTextareaWidget)


FIELDS: Mapping[Kind, Callable[[Option, dict[str, Any]], forms.Field]] = {
    "text": _text,
    "whole": _whole,
    "real": _real,
    "truth": _truth,
    "pairs": _pairs,
    "json": _pairs,
}
