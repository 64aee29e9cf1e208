"""The options of the plans as a module of the client, which may import nothing of ours."""

from collections.abc import Mapping

from arena.messages import FaultRates
from matches.options import Option, Plan, options_of
from matches.plans import CampaignPlan, TournamentPlan, schedule_options

HEAD = '''"""The options of tournaments, campaigns and schedules, as the server has them.

Written by `./run manage write_client_options` from matches/plans.py: not edited.
"""

from typing import Final

from evalsite_client.plan_option import Option, find_option'''
SHOWN = (
    "is_required",
    "is_nullable",
    "minimum",
    "maximum",
    "max_length",
    "fixed",
    "scale",
    "group",
    "is_asked",
)


def write_source(tournament: Plan = TournamentPlan, campaign: Plan = CampaignPlan) -> str:
    """Return the source of the client's module of options."""
    lists = {
        "TOURNAMENT": options_of(tournament),
        "CAMPAIGN": options_of(campaign),
        "SCHEDULE": schedule_options(tournament, campaign),
        "FAULTS": options_of(FaultRates),
    }
    parts, written = [HEAD], dict[str, Option]()
    for name, options in lists.items():
        rows = "".join(f"    {_write_option(option, written)},\n" for option in options)
        parts.append(f"\n{name}: Final = (\n{rows})\n")
        written = {f'find_option({name}, "{option.name}")': option for option in options} | written
    return "\n".join(parts)


def _write_option(option: Option, written: Mapping[str, Option]) -> str:
    """Return its source: where to find it, if a list before has the same."""
    source = _write_arguments(option)
    # As the client has it: titles, which only forms show, may differ.
    same = (words for words, option in written.items() if _write_arguments(option) == source)
    return next(same, f"Option({source})")


def _write_arguments(option: Option) -> str:
    first = (option.name, option.kind, option.help, option.default, option.flags)
    others = {name: getattr(option, name) for name in SHOWN}
    # What is as the client's own Option has it is left out: a change shows what has changed.
    keywords = [
        f"{name}={value!r}" for name, value in others.items() if value != getattr(Option, name)
    ]
    return ", ".join([*map(repr, first), *keywords])
