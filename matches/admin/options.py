"""Options of plans as fields of the forms of the admin."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

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
from matches.admin.parameter_fields import DECLARED, ParametersField
from matches.options import Option

Form = type[ModelFormWithAllErrors]


class NamesAndValues(forms.JSONField):
    """An object of names and values."""

    def clean(self, value: Any) -> dict[str, Any] | None:
        """Return it; None where it is empty. Raises ValidationError for what has no names."""
        cleaned = super().clean(value)
        if cleaned is not None and not isinstance(cleaned, dict):
            raise forms.ValidationError(
                f'Write names and values, such as {{"k": 3}}, not {cleaned!r:.40}.'
            )
        return cleaned


def add_options(form: Form, options: Sequence[Option]) -> Form:
    """Return the form with a field for each option that it does not show otherwise."""
    declared = getattr(form, "declared_fields", {})
    fields = {o.name: make_field(o) for o in options if o.name not in declared}
    # Through the metaclass of the form: fields that are set later are not found by it.
    metaclass: Any = type(form)
    form_class: Form = metaclass(form.__name__, (form,), {**fields, "options": tuple(options)})
    return form_class


def list_names(options: Iterable[Option]) -> tuple[str, ...]:
    """Return the names of options."""
    return tuple(option.name for option in options)


def map_titles(options: Iterable[Option]) -> dict[str, str]:
    """Return how forms name the options that have a title."""
    return {option.name: option.title for option in options if option.title}


def make_field(option: Option) -> forms.Field:
    """Return the field of an option."""
    shared: dict[str, Any] = {
        "label": option.title or option.name.replace("_", " ").capitalize(),
        "help_text": option.help,
        "initial": option.default,
        "required": option.is_required,
    }
    if option.choices is not None:
        shared |= {"choices": partial(_list_choices, option), "widget": UnfoldAdminSelectWidget}
        return forms.ChoiceField(**shared)
    match option.kind:
        case "text":
            shared |= {"max_length": option.max_length, "widget": UnfoldAdminTextInputWidget}
            return forms.CharField(**shared)
        case "whole":
            return _make_whole_field(option, shared)
        case "real":
            shared |= {"min_value": option.minimum, "max_value": option.maximum}
            return forms.FloatField(**shared, widget=UnfoldAdminDecimalFieldWidget)
        case "truth":
            return forms.BooleanField(**shared, widget=UnfoldBooleanSwitchWidget)
        case _:
            return _make_object_field(option, shared)


def _list_choices(option: Option) -> list[tuple[str, str]]:
    # Asked for whenever a form is shown: a plug-in may have been added since the start.
    choices = (option.choices or list)()
    return [("", option.empty), *choices] if option.default == "" else list(choices)


def _make_object_field(option: Option, shared: dict[str, Any]) -> forms.Field:
    if option.name not in DECLARED:
        return NamesAndValues(**shared, widget=UnfoldAdminTextareaWidget)
    owner, declare = DECLARED[option.name]
    # The example of a JSON text is for who writes one.
    help_text = f"Of the {owner}; left empty, each is as by default."
    return ParametersField(owner=owner, declare=declare, **{**shared, "help_text": help_text})


def _make_whole_field(option: Option, shared: dict[str, Any]) -> forms.Field:
    minimum, maximum = option.minimum, option.maximum
    return forms.IntegerField(
        **shared,
        min_value=None if minimum is None else int(minimum),
        max_value=None if maximum is None else int(maximum),
        widget=UnfoldAdminBigIntegerFieldWidget
        if maximum is None
        else UnfoldAdminIntegerFieldWidget,
    )
