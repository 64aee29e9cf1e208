"""Flags of the options of a plan: the list of them is written by the server's side."""

import json
import re
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Collection, Mapping, Sequence
from math import isfinite
from typing import Any

from evalsite_client import options
from evalsite_client.plan_option import Option

PLANS: Mapping[str, Sequence[Option]] = {
    "tournament": options.TOURNAMENT,
    "campaign": options.CAMPAIGN,
    "schedule": options.SCHEDULE,
    "faults": options.FAULTS,
}
_JSON_EXAMPLE = re.compile(r'\{"(\w+)": ([^}]+)\}')
RATES = tuple(option.name for option in options.FAULTS if option.name.endswith("_rate"))


def add_plan_flags(
    parser: ArgumentParser,
    plan: str = "tournament",
    *,
    leave_out: Collection[str] = (),
    defaults: Mapping[str, Any] | None = None,
    spelled: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Add a flag for every option of a plan.

    leave_out: options that the command says otherwise. defaults: values of this command; what has
    none is left to the server. spelled: other flags of an option.
    """
    groups: dict[str, Any] = {"": parser}
    for option in PLANS[plan]:
        flags = (spelled or {}).get(option.name, option.flags)
        if flags and option.name not in leave_out:
            if option.group not in groups:
                groups[option.group] = parser.add_mutually_exclusive_group()
            _add_flag(groups[option.group], option, flags, defaults or {})


def plan_from_flags(command_line: Namespace, plan: str = "tournament") -> dict[str, Any]:
    """Return the options that were given, as the API takes them.

    What was not given is left out, so that the server's default counts. Faults without a rate above
    0 are none.
    """
    values = {
        option.name: _read_value(option, getattr(command_line, option.name))
        for option in PLANS[plan]
        if hasattr(command_line, option.name)
    }
    if plan == "faults" and not any(values.get(rate) for rate in RATES):
        return {}
    return values


def flags_from_plan(
    values: Mapping[str, Any], plan: str = "tournament", *, leave_out: Collection[str] = ()
) -> list[str]:
    """Return the words that ask for these options, without those that the server has anyway."""
    words: list[str] = []
    for option in PLANS[plan]:
        value = values.get(option.name, option.default)
        if not option.flags or option.name in leave_out or value in (option.default, None):
            continue
        if option.kind == "truth":
            words.append(option.flags[-1])
        elif option.kind == "pairs":
            for pair in value.items():
                words += [option.flags[-1], f"{pair[0]}={json.dumps(pair[1])}"]
        else:
            words += [option.flags[-1], _write_value(option, value)]
    return words


def _write_value(option: Option, value: Any) -> str:
    if option.kind == "json":
        return json.dumps(value)
    # A seed may have more digits than a float.
    is_exact = option.kind == "text" or (isinstance(value, int) and option.scale == 1)
    return str(value) if is_exact else f"{value / option.scale:.15g}"


def _add_flag(
    group: Any, option: Option, flags: Sequence[str], defaults: Mapping[str, Any]
) -> None:
    default = defaults.get(option.name, SUPPRESS)
    settings: dict[str, Any] = {"dest": option.name, "default": default}
    settings["help"] = _write_help(option, default).replace("%", "%%")
    if option.kind == "truth":
        group.add_argument(*flags, action=f"store_{not option.default}".lower(), **settings)
        return
    settings["metavar"] = flags[-1].lstrip("-").replace("-", "_").upper()
    if option.kind == "pairs":
        settings |= {"action": "append", "metavar": "NAME=VALUE"}
    if option.is_required and default is SUPPRESS and not option.group:
        settings["required"] = True
    if option.fixed:
        settings |= {"choices": option.fixed, "metavar": None}
    group.add_argument(*flags, type=_choose_reader(option), **settings)


def _read_value(option: Option, value: Any) -> Any:
    if option.kind == "pairs":
        return dict(value or ())
    if option.scale != 1 and value is not None:
        return value * option.scale
    return value


def _write_help(option: Option, default: Any) -> str:
    """Return what people read, with the value that counts where none is given."""
    text = option.help[:1].lower() + option.help[1:].rstrip(".")
    if option.kind == "pairs":
        # The API takes {"k": 3}, a command line k=3.
        text = _JSON_EXAMPLE.sub(r"\1=\2", text)
    counts = option.default if default is SUPPRESS else default
    if option.kind in ("pairs", "json", "truth") or counts in (None, ""):
        return text
    return f"{text} ({counts})"


def _choose_reader(option: Option) -> Callable[[str], Any]:
    """Return what reads a value; argparse ends with status 2 and what it says."""
    if option.kind == "pairs":
        return _read_pair
    if option.kind == "json":
        return _read_json
    if option.kind == "text":
        return str
    return _make_number_reader(option)


def _make_number_reader(option: Option) -> Callable[[str], float]:
    of, name = (int, "a whole number") if option.kind == "whole" else (float, "a number")
    lowest, highest = option.minimum, option.maximum

    def read(text: str) -> float:
        try:
            value = of(text)
        except ValueError:
            raise ArgumentTypeError(f"must be {name}, got {text!r}") from None
        is_below = lowest is not None and value * option.scale < lowest
        is_above = highest is not None and value * option.scale > highest
        if is_below or is_above or (isinstance(value, float) and not isfinite(value)):
            raise ArgumentTypeError(f"must be {_write_limits(option)}, got {text}")
        return value

    return read


def _write_limits(option: Option) -> str:
    low, high = (
        None if limit is None else f"{limit / option.scale:.15g}"
        for limit in (option.minimum, option.maximum)
    )
    if low is None or high is None:
        return f"{low} or more" if low is not None else f"at most {high}" if high else "finite"
    return f"{low}..{high}"


def _read_pair(text: str) -> tuple[str, Any]:
    """Return name and value of NAME=VALUE; the value as JSON where it is some, else as text."""
    name, equals, value = text.partition("=")
    if not (equals and name):
        raise ArgumentTypeError(f"must be NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ArgumentTypeError(f"must be JSON, got {text!r:.80}: {error}") from None
