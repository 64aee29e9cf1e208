"""Parameters of pairings, questions, policies and games as typed fields, from what each declares.

All groups are in the form: without script each stands under the name of what it belongs to. The
values of the chosen one count, the others are left alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from django import forms
from django.forms.widgets import Script
from django.template.loader import render_to_string
from django.utils.datastructures import MultiValueDict

from arena import architecture_files
from arena.errors import ParameterError
from arena.games import registry as games
from arena.pairing import registry as pairings
from arena.parameters import Parameter
from arena.policies import registry as policies
from arena.verdicts import registry as questions
from matches.campaigns.starting import IS_SPRT, NAMED, SPRT_DEFAULTS

Declared = Mapping[str, Sequence[Parameter]]
_SPRT_HELP = {
    "elo0": "not better by so many Elo is what is tested against",
    "elo1": "better by so many Elo is what is looked for",
    "alpha": "the probability of accepting wrongly",
    "beta": "the probability of rejecting wrongly",
    "model": "of Elo: normalized or logistic",
}


class Group(NamedTuple):
    """The parameters of one choice of the field that they depend on, as inputs."""

    owner: str
    title: str
    rows: list[dict[str, Any]]


def list_pairing_parameters() -> Declared:
    """Return what each pairing declares."""
    return {name: pairings.get_adaptive(name).parameters for name in pairings.adaptive_names()}


def list_question_parameters() -> Declared:
    """Return what each question declares, the sequential test with them."""
    test = [Parameter(name, v, _SPRT_HELP.get(name, "")) for name, v in SPRT_DEFAULTS.items()]
    return {**{name: questions.get(name).parameters for name in questions.names()}, IS_SPRT: test}


def list_policy_parameters() -> Declared:
    """Return what each policy kind declares."""
    return {name: policies.get(name).parameters for name in policies.names()}


def list_game_parameters() -> Declared:
    """Return what each game declares."""
    return {name: games.get(name).spec.parameters for name in games.names()}


def list_architecture_parameters() -> Declared:
    """Return what each architecture declares whose file says so plainly: torch is not here."""
    return architecture_files.list_declared()


DECLARED: Mapping[str, tuple[str, Callable[[], Declared]]] = {
    "pairing_parameters": ("pairing", list_pairing_parameters),
    "parameters": ("question", list_question_parameters),
}
"""Of the options of plans: the option whose choice they belong to, and what its choices declare."""


class ParametersInput(forms.Widget):
    """Inputs for the parameters of whatever is chosen in another field of the form."""

    template_name = "admin/acts/parameters.html"

    class Media:
        """The script that shows the parameters of the chosen entry."""

        js = (Script("evalsite/forms.js", type="module"),)

    def __init__(
        self, owner: str, declare: Callable[[], Declared], *, takes_text: bool = False
    ) -> None:
        """owner: the field that chooses; declare: what each choice has.

        takes_text: what is chosen may be unknown here; its parameters are written as JSON.
        """
        super().__init__()
        self.owner, self.declare, self.takes_text = owner, declare, takes_text

    def value_from_datadict(
        self, data: Mapping[str, Any], files: MultiValueDict[str, Any], name: str
    ) -> Any:
        """Return what was entered for the chosen one; a text for all of it is taken, too."""
        del files
        chosen = data.get(self.owner) or ""
        typed = {
            parameter.name: _read_value(chosen, parameter, text)
            for parameter in self.declare().get(chosen, ())
            if (text := str(data.get(_name_input(name, chosen, parameter), "")).strip())
        }
        # A text that was written for another choice may still stand there, out of sight.
        is_hidden = self.takes_text and typed
        return data[name] if data.get(name) and not is_hidden else typed

    def value_omitted_from_data(self, *_: Any) -> bool:
        """Return False: leaving all inputs empty is a valid answer."""
        return False

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> Any:
        """Return the inputs; by the templates of the site, which those of forms cannot see."""
        del renderer
        return render_to_string(self.template_name, self.get_context(name, value, attrs))

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        """Return the groups with what was entered."""
        context = super().get_context(name, value, attrs)
        entered = value if isinstance(value, Mapping) else {}
        groups = [
            Group(
                owner,
                owner.replace("_", " "),
                [_describe_input(name, owner, parameter, entered) for parameter in parameters],
            )
            for owner, parameters in self.declare().items()
            if parameters
        ]
        # What is no object of names and values was sent as a text: it is shown as such.
        text = value if isinstance(value, str) and value.strip() not in {"", "{}"} else ""
        context["widget"] |= {"groups": groups, "owner": self.owner, "text": text}
        context["widget"]["takes_text"] = self.takes_text
        return context


class ParametersField(forms.Field):
    """An object of names and values, as typed inputs; JSON is taken, too."""

    def __init__(
        self,
        *,
        owner: str,
        declare: Callable[[], Declared],
        takes_text: bool = False,
        **options: Any,
    ) -> None:
        """owner, declare, takes_text: as ParametersInput has them."""
        self.json, self.takes_text = forms.JSONField(required=False), takes_text
        widget = ParametersInput(owner, declare, takes_text=takes_text)
        super().__init__(**{**options, "widget": widget})

    def clean(self, value: Any) -> dict[str, Any] | None:
        """Return the values by name. Raises ValidationError for a text that is no object."""
        cleaned = value if isinstance(value, Mapping) else self.json.clean(value or None)
        if cleaned is not None and not isinstance(cleaned, Mapping):
            raise forms.ValidationError(
                f'Write names and values, such as {{"k": 3}}, not {cleaned!r:.40}.'
            )
        if self.required and cleaned is None:
            raise forms.ValidationError(self.error_messages["required"], code="required")
        return None if cleaned is None else dict(cleaned)

    def prepare_value(self, value: Any) -> Any:
        """Return the object that a text holds, where it holds one."""
        # Where a text is entered on purpose it stays one.
        if isinstance(value, str) and not self.takes_text:
            try:
                return self.json.to_python(value) if value.strip() else {}
            except forms.ValidationError:
                return value
        return value

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return whether other values were entered than before."""
        return bool((initial or {}) != (data or {}))


def _name_input(field: str, owner: str, parameter: Parameter) -> str:
    return f"{field}-{owner}-{parameter.name}"


def _read_value(owner: str, parameter: Parameter, text: str) -> Any:
    try:
        return parameter.read_value(owner, text)
    except ParameterError:
        # The service says what is wrong with it, and takes names where we only know numbers.
        return text


def _describe_input(
    field: str, owner: str, parameter: Parameter, entered: Mapping[str, Any]
) -> dict[str, Any]:
    kind = type(parameter.default)
    # Agents are named; the service takes names and positions alike.
    is_agent = field == "parameters" and parameter.name in NAMED
    is_number = kind in {int, float} and not is_agent
    value = entered.get(parameter.name, "")
    return {
        "name": _name_input(field, owner, parameter),
        "label": f"agent {parameter.name}" if is_agent else parameter.name.replace("_", " "),
        "help": parameter.help.replace("by index", "by name") if is_agent else parameter.help,
        "value": str(value).lower() if isinstance(value, bool) else value,
        "default": _write_default(parameter, is_agent=is_agent),
        "type": "truth" if kind is bool else "number" if is_number else "text",
        "minimum": parameter.minimum,
        "maximum": parameter.maximum,
        "step": "1" if kind is int else "any",
    }


def _write_default(parameter: Parameter, *, is_agent: bool) -> str:
    if is_agent:
        return ("the first", "the second")[int(parameter.default)]
    default = parameter.default
    return str(default).lower() if isinstance(default, bool) else str(default)
