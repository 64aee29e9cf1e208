"""The options of the plans as a module of the client, which may import nothing of ours."""

from collections.abc import Iterable, Mapping, Sequence

from arena.messages import FaultRates
from matches.options import Option, Plan, options_of
from matches.plans import CampaignPlan, TournamentPlan, schedule_options

HEAD = '''"""The options of tournaments, campaigns and schedules, as the server has them.

Written by `./run manage write_client_options` from matches/plans.py: not edited.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Required, TypedDict


class Option(NamedTuple):
    """One option: its type, its limits, and its flags on the command line.

    kind: text, whole, real, truth, pairs (names and values) or json. scale: what one unit on the
    command line is worth in the API. group: of its options at most one is given.
    """

    name: str
    kind: str
    help: str
    default: Any
    flags: tuple[str, ...]
    is_required: bool = False
    is_nullable: bool = False
    minimum: float | None = None
    maximum: float | None = None
    max_length: int | None = None
    fixed: tuple[str, ...] = ()
    scale: float = 1
    group: str = ""
'''
SHOWN = (
    "is_required",
    "is_nullable",
    "minimum",
    "maximum",
    "max_length",
    "fixed",
    "scale",
    "group",
)
TYPES: Mapping[str, str] = {
    **{"text": "str", "whole": "int", "real": "float", "truth": "bool"},
    **{"pairs": "Mapping[str, Any]", "json": "Mapping[str, Any]"},
}


def rendered(tournament: Plan = TournamentPlan, campaign: Plan = CampaignPlan) -> str:
    """Return the source of the client's module of options."""
    of_tournament, of_campaign = options_of(tournament), options_of(campaign)
    of_schedule = schedule_options(tournament, campaign)
    asked = [option for option in of_campaign if option.is_asked]
    left = [option for option in of_campaign if not option.is_asked]
    parts = (
        HEAD,
        _class("TournamentOptions", "What a tournament may be asked to be.", of_tournament),
        _class("QuestionOptions", "What a campaign may be asked.", asked),
        _class("CampaignOptions", "What a campaign may spend.", left, "QuestionOptions"),
        _class("ScheduleOptions", "What a schedule may start.", of_schedule),
        _list("TOURNAMENT", of_tournament),
        _list("CAMPAIGN", of_campaign),
        _list("SCHEDULE", of_schedule),
        _list("FAULTS", options_of(FaultRates)),
    )
    return "\n".join(parts)


def _class(name: str, says: str, options: Iterable[Option], base: str = "TypedDict") -> str:
    members = (f"    {option.name}: {_type(option)}\n" for option in options)
    return f'\nclass {name}({base}, total=False):\n    """{says}"""\n\n{"".join(members)}'


def _type(option: Option) -> str:
    plain = TYPES[option.kind] + (" | None" if option.is_nullable else "")
    return f"Required[{plain}]" if option.is_required else plain


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
