"""The options of the plans as a module of the client, which may import nothing of ours."""

from collections.abc import Sequence

from arena.messages import FaultRates
from matches.options import Option, Plan, options_of
from matches.plans import CampaignPlan, TournamentPlan, schedule_options

HEAD = '''"""The options of tournaments, campaigns and schedules, as the server has them.

Written by `./run manage write_client_options` from matches/plans.py: not edited.
"""

from typing import Final

from evalsite_client.plan_option import Option'''
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


def rendered(tournament: Plan = TournamentPlan, campaign: Plan = CampaignPlan) -> str:
    """Return the source of the client's module of options."""
    lists = (
        _list("TOURNAMENT", options_of(tournament)),
        _list("CAMPAIGN", options_of(campaign)),
        _list("SCHEDULE", schedule_options(tournament, campaign)),
        _list("FAULTS", options_of(FaultRates)),
    )
    return "\n".join((HEAD, *lists))


def _list(name: str, options: Sequence[Option]) -> str:
    rows = "".join(f"    Option({_arguments(option)}),\n" for option in options)
    return f"\n{name}: Final = (\n{rows})\n"


def _arguments(option: Option) -> str:
    first = (option.name, option.kind, option.help, option.default, option.flags)
    others = {name: getattr(option, name) for name in SHOWN}
    given = [
        f"{name}={value!r}" for name, value in others.items() if value != getattr(Option, name)
    ]
    return ", ".join([*map(repr, first), *given])
