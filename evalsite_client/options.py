"""The options of tournaments, campaigns and schedules, as the server has them.

Written by `./run manage write_client_options` from matches/plans.py: not edited.
"""

from typing import Any, Final, NamedTuple


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


TOURNAMENT: Final = (
    Option(
        "name", "text", "Of the tournament.", None, ("--name",), is_required=True, max_length=120
    ),
    Option(
        "n_matches",
        "whole",
        "At most; one whose pairing is over before has as many as were planned.",
        None,
        ("-n", "--matches"),
        is_required=True,
        minimum=1,
        maximum=100000000,
    ),
    Option(
        "pairing", "text", "Who meets whom.", "double_round_robin", ("--pairing",), max_length=60
    ),
    Option(
        "pairing_parameters",
        "pairs",
        'Of the pairing, such as {"best_of": 5}.',
        {},
        ("--pairing-parameter",),
    ),
    Option(
        "weight",
        "whole",
        "Its share of the nodes against that of others that run at the same time.",
        1,
        ("--weight",),
        minimum=1,
        maximum=1000,
    ),
    Option(
        "move_s",
        "real",
        "Limit of a move, in seconds.",
        10.0,
        ("--move-s",),
        minimum=0.01,
        maximum=86400,
    ),
    Option(
        "match_s",
        "real",
        "Limit of a match, in seconds.",
        600.0,
        ("--match-s",),
        minimum=0.01,
        maximum=86400,
    ),
    Option("is_paused", "truth", "It waits to be started.", False, ("--paused",)),
    Option(
        "seed",
        "whole",
        "The seed set: the same number replays the same pairings and games.",
        0,
        ("--seed",),
        minimum=0,
    ),
    Option(
        "faults",
        "json",
        "Faults to emulate, to try the platform; usually empty.",
        None,
        (),
        is_nullable=True,
    ),
    Option(
        "is_rated",
        "truth",
        "Unrated outcomes change no rating; only then may an agent play itself.",
        True,
        ("--unrated",),
    ),
    Option(
        "replays",
        "truth",
        "Play again what is known, to see that it comes out the same.",
        False,
        ("--replay",),
    ),
    Option(
        "keeps_trajectories",
        "truth",
        "Store observation, action, reward ... of every decision.",
        False,
        ("--keep-trajectories",),
    ),
    Option(
        "trajectory_days",
        "whole",
        "Delete them after so many days; empty: never.",
        None,
        ("--trajectory-days",),
        is_nullable=True,
        minimum=1,
        maximum=36500,
    ),
    Option(
        "order_limit",
        "whole",
        "Matches that one order holds at most; empty: by their length.",
        None,
        ("--order-limit",),
        is_nullable=True,
        minimum=1,
    ),
)


CAMPAIGN: Final = (
    Option(
        "max_matches",
        "whole",
        "It stops there at the latest, with the likeliest answer.",
        None,
        ("--max-matches",),
        is_required=True,
        minimum=1,
        maximum=100000000,
    ),
    Option("name", "text", "Empty: made of the question.", "", ("--name",), max_length=120),
    Option(
        "pairing",
        "text",
        "Who meets whom; empty: as suits the question.",
        "",
        ("--pairing",),
        max_length=60,
    ),
    Option(
        "pairing_parameters",
        "pairs",
        'Of the pairing, such as {"best_of": 5}.',
        {},
        ("--pairing-parameter",),
    ),
    Option(
        "weight",
        "whole",
        "Its share of the nodes against that of others that run at the same time.",
        1,
        ("--weight",),
        minimum=1,
        maximum=1000,
    ),
    Option(
        "move_s",
        "real",
        "Limit of a move, in seconds.",
        10.0,
        ("--move-s",),
        minimum=0.01,
        maximum=86400,
    ),
    Option(
        "match_s",
        "real",
        "Limit of a match, in seconds.",
        600.0,
        ("--match-s",),
        minimum=0.01,
        maximum=86400,
    ),
    Option("is_paused", "truth", "It waits to be started.", False, ("--paused",)),
    Option(
        "question",
        "text",
        "What is asked of the agents.",
        "best",
        ("-q", "--question"),
        max_length=60,
    ),
    Option("error", "real", "The probability that the verdict may be wrong.", 0.05, ("--error",)),
    Option(
        "margin",
        "real",
        "A gap in rating that makes no difference; 1 is some 45 points of Elo.",
        None,
        ("--margin",),
        is_nullable=True,
        minimum=0,
        group="margin",
    ),
    Option(
        "margin_elo",
        "real",
        "The same in points of Elo, instead.",
        None,
        ("--margin-elo",),
        is_nullable=True,
        minimum=0,
        group="margin",
    ),
    Option(
        "margin_points",
        "real",
        "The same in points of win rate, instead.",
        None,
        ("--margin-points",),
        is_nullable=True,
        minimum=0,
        group="margin",
    ),
    Option(
        "parameters",
        "pairs",
        'Of the question, such as {"k": 3}; agents by name.',
        {},
        ("-p", "--parameter"),
    ),
    Option(
        "max_core_s",
        "real",
        "Core-seconds that it may cost; empty: any.",
        None,
        ("--max-core-hours",),
        is_nullable=True,
        minimum=0,
        scale=3600,
    ),
    Option(
        "max_money",
        "real",
        "Money that it may cost; empty: any.",
        None,
        ("--max-money",),
        is_nullable=True,
        minimum=0,
    ),
    Option(
        "seed",
        "whole",
        "Empty: one that replays no game that is known.",
        None,
        ("--seed",),
        is_nullable=True,
        minimum=0,
    ),
)


SCHEDULE: Final = (
    Option(
        "n_matches",
        "whole",
        "Of each tournament, or the budget of each campaign; a season has none.",
        None,
        ("-n", "--matches"),
        is_nullable=True,
        minimum=1,
        maximum=100000000,
    ),
    Option(
        "pairing",
        "text",
        "Empty: the one that suits the question; without one, double_round_robin.",
        "",
        ("--pairing",),
        max_length=60,
    ),
    Option(
        "pairing_parameters",
        "pairs",
        'Of the pairing, such as {"best_of": 5}.',
        {},
        ("--pairing-parameter",),
    ),
    Option(
        "weight",
        "whole",
        "Its share of the nodes against that of others that run at the same time.",
        1,
        ("--weight",),
        minimum=1,
        maximum=1000,
    ),
    Option(
        "move_s",
        "real",
        "Limit of a move, in seconds.",
        10.0,
        ("--move-s",),
        minimum=0.01,
        maximum=86400,
    ),
    Option(
        "match_s",
        "real",
        "Limit of a match, in seconds.",
        600.0,
        ("--match-s",),
        minimum=0.01,
        maximum=86400,
    ),
    Option(
        "seed",
        "whole",
        "Of the first tournament; each later one takes the next, so that no game recurs.",
        0,
        ("--seed",),
        minimum=0,
    ),
    Option(
        "is_rated",
        "truth",
        "Unrated outcomes change no rating; only then may an agent play itself.",
        True,
        ("--unrated",),
    ),
    Option(
        "keeps_trajectories",
        "truth",
        "Store observation, action, reward ... of every decision.",
        False,
        ("--keep-trajectories",),
    ),
    Option(
        "trajectory_days",
        "whole",
        "Delete them after so many days; empty: never.",
        None,
        ("--trajectory-days",),
        is_nullable=True,
        minimum=1,
        maximum=36500,
    ),
    Option(
        "order_limit",
        "whole",
        "Matches that one order holds at most; empty: by their length.",
        None,
        ("--order-limit",),
        is_nullable=True,
        minimum=1,
    ),
    Option(
        "question",
        "text",
        "Empty: a tournament without one.",
        "",
        ("-q", "--question"),
        max_length=60,
    ),
    Option("error", "real", "The probability that the verdict may be wrong.", 0.05, ("--error",)),
    Option(
        "margin",
        "real",
        "A gap in rating that makes no difference; 1 is some 45 points of Elo.",
        0.0,
        ("--margin",),
        minimum=0,
    ),
    Option(
        "parameters",
        "pairs",
        'Of the question, such as {"k": 3}; agents by name.',
        {},
        ("-p", "--parameter"),
    ),
    Option(
        "max_core_s",
        "real",
        "Core-seconds that it may cost; empty: any.",
        None,
        ("--max-core-hours",),
        is_nullable=True,
        minimum=0,
        scale=3600,
    ),
    Option(
        "max_money",
        "real",
        "Money that it may cost; empty: any.",
        None,
        ("--max-money",),
        is_nullable=True,
        minimum=0,
    ),
)


FAULTS: Final = (
    Option(
        "error_rate", "real", "Emulated exceptions.", 0.0, ("--error-rate",), minimum=0, maximum=1
    ),
    Option(
        "invalid_rate",
        "real",
        "Emulated invalid values.",
        0.0,
        ("--invalid-rate",),
        minimum=0,
        maximum=1,
    ),
    Option("hang_rate", "real", "Emulated hangs.", 0.0, ("--hang-rate",), minimum=0, maximum=1),
    Option(
        "hang_s",
        "real",
        "How long it hangs, in seconds.",
        30.0,
        ("--hang-s",),
        minimum=0,
        maximum=10000000.0,
    ),
    Option(
        "charge",
        "text",
        "Who is at fault.",
        "platform",
        ("--charge",),
        max_length=200,
        fixed=("platform", "agent"),
    ),
)
