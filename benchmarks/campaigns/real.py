"""Fields of known order through the real queue: connect four by search depth, budget and training.

Each field is played twice on a private stack: once paired by the information about the order, once
at random. The matches to a level are those from which on that share of the pairs stays in the order
that is known beforehand.
"""

from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

import numpy as np

from arena.ratings.accuracy import strict_accuracy
from arena.ratings.counts import count_results
from arena.ratings.settled import settle_ratings
from benchmarks.stacks import private_stack

GAME = "connect_four"
CHECKPOINTS = Path("examples") / GAME / "checkpoints"
STEPS = (0, 64, 128, 256, 512, 960, 3_840)
"""Those of the example's run that are told apart by thousands of matches."""
GROWTH = 1.05
LIMIT_S = 600.0
PAIRINGS = ("order_information", "random")
ERROR = 0.05
Row = dict[str, object]
Curve = list[tuple[int, float]]
"""Matches, and the share of the pairs in the known order after them."""


class RealField(NamedTuple):
    """Agents from the weakest to the strongest, the matches of each pairing, the levels."""

    name: str
    agents: tuple[str, ...]
    n_matches: int
    levels: tuple[float, ...] = (0.9, 0.95, 1.0)


FIELDS = (
    RealField(
        "connect_four, alpha-beta depths",
        ("random", "greedy", "alphabeta:2", "alphabeta:4", "alphabeta:6"),
        400,
    ),
    RealField(
        "connect_four, MCTS budgets",
        ("mcts:2", "mcts:5", "mcts:15", "mcts:50", "mcts:150", "mcts:500"),
        400,
    ),
    RealField("connect_four, checkpoints", tuple(f"run@{step}" for step in STEPS), 600),
)


def rows(replicates: int) -> tuple[list[Row], list[Row]]:
    """Play all fields; return the matches to each level in our way and at random, and campaigns."""
    with private_stack(nodes=1, slots=2, gpus=1, web=True):
        _add_checkpoints()
        curves = [(field, _curves(field, replicates)) for field in FIELDS]
        held = [_campaigns(field, replicates) for field in FIELDS]
        return [row for field, both in curves for row in _rows(field, *both)], held


def _curves(field: RealField, replicates: int) -> tuple[list[Curve], list[Curve]]:
    ours, at_random = (
        [_curve(field, pairing, seed) for seed in range(replicates)] for pairing in PAIRINGS
    )
    return ours, at_random


def _rows(field: RealField, ours: Sequence[Curve], at_random: Sequence[Curve]) -> list[Row]:
    found: list[Row] = []
    for level in field.levels:
        needed, other = (_median_to(level, curves) for curves in (ours, at_random))
        found.append(
            {
                "name": field.name,
                "agents": len(field.agents),
                "level": level,
                "matches": needed,
                "random_matches": other,
                "factor": other / needed if needed and other else None,
            }
        )
    return found


def _median_to(level: float, curves: Sequence[Curve]) -> float | None:
    """Return the median of the matches to a level; None: half of them never got there."""
    found = [matches_to(level, curve) for curve in curves]
    middle = float(np.median([np.inf if needed is None else needed for needed in found]))
    return middle if np.isfinite(middle) else None


def matches_to(level: float, curve: Curve) -> int | None:
    """Return the matches from which on the accuracy stays at the level; None: never."""
    below = [place for place, (_, accuracy) in enumerate(curve) if accuracy < level]
    first = below[-1] + 1 if below else 0
    return curve[first][0] if first < len(curve) else None


def _curve(field: RealField, pairing: str, seed: int) -> Curve:
    """Return (matches, share of the pairs in the known order) as the results came in."""
    results = np.array(_played(field, pairing, seed), np.int64)
    levels, n = list(range(len(field.agents))), len(field.agents)
    curve: Curve = []
    known = float(n)
    while known < len(results) * GROWTH:
        first = results[: min(int(known), len(results))]
        mu = settle_ratings(count_results(first), n, has_seat_term=True).mu
        curve.append((len(first), strict_accuracy(levels, mu.tolist()) or 0.0))
        known *= GROWTH
    return curve


def _played(field: RealField, pairing: str, seed: int) -> list[tuple[int, int, int]]:
    """Play a tournament through the queue; return (first, second, score) in planned order."""
    from matches.artifacts.agents import register_spelled_agent  # noqa: PLC0415
    from matches.ledger.tournaments import open_leaderboard, schedule_tournament  # noqa: PLC0415
    from matches.models import Match  # noqa: PLC0415 - Django is set up by the stack
    from matches.plans import TournamentPlan  # noqa: PLC0415

    agents = [register_spelled_agent(text, game=GAME) for text in field.agents]
    board = open_leaderboard(_name(field.name, pairing, seed), game=GAME, is_listed=False)
    plan = TournamentPlan(
        name=f"{field.name}, {pairing}", n_matches=field.n_matches, pairing=pairing, seed=seed
    )
    tournament = schedule_tournament(plan, leaderboard=board, agents=agents)
    _wait(tournament)
    index = {agent.pk: place for place, agent in enumerate(agents)}
    done = Match.objects.filter(tournament=tournament, state=Match.State.DONE)
    found = []
    for lineup, ranks in done.order_by("sequence").values_list("lineup", "outcome__ranks"):
        first, second = (index[int(agent)] for agent in lineup.split(","))
        mine, other = map(int, ranks.split(","))
        found.append((first, second, (mine < other) - (mine > other)))
    return found


def _campaigns(field: RealField, replicates: int) -> Row:
    """Ask for the best of a field as often, each time from nothing; return how it went."""
    found = [_campaign(field, seed) for seed in range(replicates)]
    decided = [one for one in found if not one.why.startswith("out_of_budget")]
    best = field.agents[-1]
    return {
        "question": "best",
        "field": field.name,
        "stated_error": ERROR,
        "wrong": sum(not one.statement.startswith(f"{best} is the best") for one in decided),
        "n": replicates,
        "decided": len(decided),
        "median_matches": float(np.median([one.n_played for one in found])),
        "round_robin_matches": None,
    }


def _campaign(field: RealField, seed: int) -> Any:
    from matches.artifacts.agents import register_spelled_agent  # noqa: PLC0415 - as above
    from matches.campaigns.starting import start  # noqa: PLC0415
    from matches.ledger.tournaments import open_leaderboard  # noqa: PLC0415
    from matches.plans import CampaignPlan  # noqa: PLC0415

    agents = [register_spelled_agent(text, game=GAME) for text in field.agents]
    # Not listed: what the others know is no evidence here.
    board = open_leaderboard(_name(field.name, "best", seed), game=GAME, is_listed=False)
    plan = CampaignPlan(
        name=field.name,
        question="best",
        max_matches=field.n_matches,
        error=ERROR,
        margin=0.5,
        seed=seed,
    )
    campaign = start(plan, leaderboard=board, agents=agents)
    _wait(campaign.tournament)
    campaign.refresh_from_db()
    return campaign


def _wait(tournament: Any) -> None:
    deadline = monotonic() + LIMIT_S
    while tournament.finished_at is None:
        if monotonic() > deadline:
            raise TimeoutError(f"{tournament.name}: not played within {LIMIT_S:g} s")
        sleep(0.2)
        tournament.refresh_from_db()


def _add_checkpoints() -> None:
    from matches.artifacts.checkpoints import New, add_run, read_run_folder  # noqa: PLC0415
    from matches.store.clock import db_now  # noqa: PLC0415

    given = [
        one for one in read_run_folder(CHECKPOINTS, New("run", game=GAME)) if one[1].step in STEPS
    ]
    add_run(given, now=db_now())


def _name(field: str, pairing: str, seed: int) -> str:
    words = "".join(letter if letter.isalnum() else " " for letter in f"{field} {pairing} {seed}")
    return "-".join(words.lower().split())
