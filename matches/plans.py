"""What may be asked of a tournament and of a campaign: the only list of their options.

Forms of the admin, bodies of the API, flags of the command line, schedules and the types of the
client are derived from it (matches.options): an option is one field here, and its use.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from django.db.models import Model
from msgspec import Meta, Struct, field

from arena.messages import Limits
from matches.models.choices import pairing_choices, question_choices
from matches.models.tournament import MAX_DAYS, MAX_MATCHES, MAX_WEIGHT, new_key
from matches.options import Option, Plan, options_of

Name = Annotated[str, Meta(max_length=120)]
Id = Annotated[str, Meta(max_length=60)]
Matches = Annotated[int, Meta(ge=1, le=MAX_MATCHES)]
FromOne = Annotated[int, Meta(ge=1)]
Days = Annotated[int, Meta(ge=1, le=MAX_DAYS)]
Seed = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(ge=0.01, le=86_400)]
Amount = Annotated[float, Meta(ge=0)]
Parameters = Mapping[str, Any]

ASKED: dict[str, Any] = {"is_asked": True}
# Of what a schedule has not, or has otherwise (ScheduledPlan).
ONCE: dict[str, Any] = {"is_scheduled": False}


class PlayPlan(Struct, frozen=True, kw_only=True):
    """How the matches of a tournament or campaign are paired, weighed and limited."""

    name: Annotated[Name, Meta(description="Its name in lists and titles.", extra=ONCE)]
    pairing: Annotated[
        Id, Meta(description="Who meets whom.", extra={"choices": pairing_choices})
    ] = ""
    pairing_parameters: Annotated[
        Parameters,
        Meta(
            title="Parameters of the pairing",
            description='Of the pairing, such as {"best_of": 5}.',
            extra={**ASKED, "flags": ("--pairing-parameter",)},
        ),
    ] = {}
    weight: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_WEIGHT,
            description="Its share of the nodes against that of others that run at the same time.",
        ),
    ] = 1
    move_s: Annotated[
        Seconds,
        Meta(title="Limit of a move, s", description="Limit of a move, in seconds."),
    ] = Limits().move_s
    match_s: Annotated[
        Seconds,
        Meta(title="Limit of a match, s", description="Limit of a match, in seconds."),
    ] = Limits().match_s
    is_paused: Annotated[
        bool,
        Meta(
            title="Paused",
            description="Only create it: it waits until somebody resumes it.",
            extra={**ONCE, "flags": ("--paused",)},
        ),
    ] = False


class TournamentPlan(PlayPlan, frozen=True, kw_only=True):
    """What a tournament is to be."""

    n_matches: Annotated[
        Matches,
        Meta(
            title="Matches to play",
            description="The most matches; it ends earlier where its pairing is complete.",
            extra={"flags": ("-n", "--matches")},
        ),
    ]
    pairing: Annotated[
        Id, Meta(description="Who meets whom.", extra={"choices": pairing_choices})
    ] = "double_round_robin"
    seed: Annotated[
        Seed,
        Meta(description="The seed set: the same number replays the same pairings and games."),
    ] = 0
    faults: Annotated[
        Parameters | None,
        Meta(
            title="Faults to emulate",
            description="Faults to emulate, to try the platform; usually empty.",
            extra={**ONCE, "flags": ()},
        ),
    ] = None
    is_rated: Annotated[
        bool,
        Meta(
            title="Rated",
            description="Unrated outcomes change no rating; only then may an agent play itself.",
            extra={"flags": ("--unrated",)},
        ),
    ] = True
    replays: Annotated[
        bool,
        Meta(
            title="Play known games again",
            description="Play again what is known, to see that it comes out the same.",
            extra={**ONCE, "flags": ("--replay",)},
        ),
    ] = False
    keeps_trajectories: Annotated[
        bool,
        Meta(
            title="Store trajectories",
            description="Store observation, action, reward ... of every decision.",
            extra={"flags": ("--keep-trajectories",)},
        ),
    ] = False
    trajectory_days: Annotated[
        Days | None,
        Meta(
            title="Days to keep them", description="Delete them after so many days; empty: never."
        ),
    ] = None
    order_limit: Annotated[
        FromOne | None,
        Meta(
            title="Matches of an order at most",
            description="The most matches a node takes at a time; empty: by how long they last.",
        ),
    ] = None
    # Without a description, so no option: the key of a run's tournament is set by ours.
    key: str = field(default_factory=new_key)


class CampaignPlan(PlayPlan, frozen=True, kw_only=True):
    """What a campaign asks and may spend."""

    name: Annotated[
        Name, Meta(description="Left empty, it is named after its question.", extra=ONCE)
    ] = ""
    question: Annotated[
        Id,
        Meta(
            description="What you want to know about the agents.",
            extra={**ASKED, "flags": ("-q", "--question"), "choices": question_choices},
        ),
    ] = "best"
    error: Annotated[
        float,
        Meta(
            title="Error at most",
            description="The probability that the verdict may be wrong.",
            extra=ASKED,
        ),
    ] = 0.05
    margin: Annotated[
        Amount | None,
        Meta(
            title="Margin",
            description="Agents closer than this in rating count as equal; 1 is about 45 Elo.",
            extra={**ASKED, "group": "margin"},
        ),
    ] = None
    margin_elo: Annotated[
        Amount | None,
        Meta(
            title="Margin in Elo",
            description="The margin in Elo instead.",
            extra={**ASKED, **ONCE, "group": "margin"},
        ),
    ] = None
    margin_points: Annotated[
        Amount | None,
        Meta(
            title="Margin in win rate",
            description="The margin in points of win rate instead.",
            extra={**ASKED, **ONCE, "group": "margin"},
        ),
    ] = None
    margin_score: Annotated[
        Amount | None,
        Meta(
            title="Margin in score",
            description="For games of one seat: in mean score on equal seeds instead; may be 0.",
            extra={**ASKED, **ONCE, "group": "margin"},
        ),
    ] = None
    parameters: Annotated[
        Parameters,
        Meta(
            title="Parameters of the question",
            description='What the question needs, such as {"k": 3}; agents by name.',
            extra={**ASKED, "flags": ("-p", "--parameter")},
        ),
    ] = {}
    max_matches: Annotated[
        Matches,
        Meta(
            title="Budget, matches",
            description="It ends there at the latest, with the likeliest answer.",
            extra=ONCE,
        ),
    ]
    max_core_s: Annotated[
        Amount | None,
        Meta(
            title="Budget, core-seconds",
            description="The most core time it may use; empty: no limit.",
            extra={"flags": ("--max-core-hours",), "scale": 3_600},
        ),
    ] = None
    max_money: Annotated[
        Amount | None,
        Meta(title="Budget, money", description="The most it may cost; empty: no limit."),
    ] = None
    pairing: Annotated[
        Id,
        Meta(
            description="Who meets whom; empty: as suits the question.",
            extra={
                **ASKED,
                "choices": pairing_choices,
                "empty": "the one that suits the question",
            },
        ),
    ] = ""
    seed: Annotated[
        Seed | None,
        Meta(description="Empty: a new one, so that no known game is played again."),
    ] = None


class ScheduledPlan(Struct, frozen=True, kw_only=True):
    """What a schedule has otherwise: it starts tournaments, or with a question campaigns."""

    question: Annotated[
        Id,
        Meta(
            description="Ask this each time, as a campaign; empty: start a plain tournament.",
            extra={"flags": ("-q", "--question"), "choices": question_choices, "empty": "none"},
        ),
    ] = ""
    margin: Annotated[
        Amount,
        Meta(
            title="Margin",
            description="Agents closer than this in rating count as equal; 1 is about 45 Elo.",
        ),
    ] = 0.0
    n_matches: Annotated[
        Matches | None,
        Meta(
            title="Matches of each at most",
            description="Of each tournament, or the budget of each campaign; none for a season.",
            extra={"flags": ("-n", "--matches")},
        ),
    ] = None
    pairing: Annotated[
        Id,
        Meta(
            description="Who meets whom; empty: as suits the question, or double_round_robin.",
            extra={"choices": pairing_choices, "empty": "the one that suits"},
        ),
    ] = ""
    seed: Annotated[
        Seed,
        Meta(
            description="Of the first tournament; each later one takes the next, so that no game "
            "recurs."
        ),
    ] = 0


def schedule_options(
    tournament: Plan = TournamentPlan, campaign: Plan = CampaignPlan
) -> tuple[Option, ...]:
    """Return the options of a schedule: those of what it may start, and its own."""
    plans = (tournament, campaign, ScheduledPlan)
    options = [option for plan in plans for option in options_of(plan) if option.is_scheduled]
    return tuple({option.name: option for option in options}.values())


def columns_of(plan: Plan, model: type[Model]) -> list[str]:
    """Return the options of a plan that a model has columns for."""
    columns = {column.name for column in model._meta.get_fields()}
    return [option.name for option in options_of(plan) if option.name in columns]


def scheduled_names(plan: Plan) -> list[str]:
    """Return the options of a plan that a schedule has, but the seed: it counts that itself."""
    return [o.name for o in options_of(plan) if o.is_scheduled and o.name != "seed"]
