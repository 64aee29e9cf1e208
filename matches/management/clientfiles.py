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


def write_source(tournament: Plan = TournamentPlan, campaign: Plan = CampaignPlan) -> str:
    """Return the source of the client's module of options."""
    lists = (
        _write_list("TOURNAMENT", options_of(tournament)),
        _write_list("CAMPAIGN", options_of(campaign)),
        _write_list("SCHEDULE", schedule_options(tournament, campaign)),
        _write_list("FAULTS", options_of(FaultRates)),
    )
    return "\n".join((HEAD, *lists))


def _write_list(name: str, options: Sequence[Option]) -> str:
    rows = ""
    for option in options:
        first = (option.name, option.kind, option.help, option.default, option.flags)
        others = {name: getattr(option, name) for name in SHOWN}
        # What is as the client's own Option has it is left out: a change shows what has changed.
        given = [f"{n}={value!r}" for n, value in others.items() if value != getattr(Option, n)]
        rows += f"    Option({', '.join([*map(repr, first), *given])}),\n"
    return f"\n{name}: Final = (\n{rows})\n"
