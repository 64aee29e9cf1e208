"""Fields of known order through the real queue: connect four by search depth, budget and training.

Each field is played twice on a private stack: once paired by the information about the order, once
at random. The matches to a level are those from which on that share of the pairs stays in the order
that is known beforehand.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from arena.ratings.accuracy import strict_accuracy
from arena.ratings.counts import count_results
from arena.ratings.settled import FittedTerms, settle_ratings
from benchmarks.campaigns.accuracy import make_level_row
from benchmarks.stacks import await_tournament, open_board, private_stack, schedule_agents

GAME = "connect_four"
CHECKPOINTS = Path("examples") / GAME / "checkpoints"
# Those of the example's run that are told apart by thousands of matches.
STEPS = (0, 64, 128, 256, 512, 960, 3_840)
GROWTH = 1.05
LIMIT_S = 600.0
ERROR = 0.05
Row = dict[str, object]
# Matches, and the share of the pairs in the known order after them.
Curve = list[tuple[int, float]]


class RealField(NamedTuple):
    """Agents from the weakest to the strongest, the matches of each pairing, the levels."""

    name: str
    agents: tuple[str, ...]
    n_matches: int
    levels: tuple[float, ...] = (0.9, 0.95, 1.0)

    def open_board(self, purpose: str, seed: int) -> Any:
        """Return a board, not rated: what the others know is no evidence here."""
        name = f"{self.name} {purpose} {seed}"
        words = "".join(letter if letter.isalnum() else " " for letter in name).lower().split()
        return open_board("-".join(words), GAME, is_rated=False)


DEPTHS = ("random", "greedy", "alphabeta:2", "alphabeta:4", "alphabeta:6")
BUDGETS = ("mcts:2", "mcts:5", "mcts:15", "mcts:50", "mcts:150", "mcts:500")
FIELDS = (
    RealField("connect_four, alpha-beta depths", DEPTHS, 400),
    RealField("connect_four, MCTS budgets", BUDGETS, 400),
    RealField("connect_four, checkpoints", tuple(f"run@{step}" for step in STEPS), 600),
)


def play_fields(replicates: int) -> tuple[list[Row], list[Row]]:
    """Play all fields; return the matches to each level in our way and at random, and campaigns."""
    with private_stack(nodes=1, slots=2, gpus=1, web=True):
        from matches.artifacts.checkpoints import New, add_run, read_run_folder  # noqa: PLC0415
        from matches.store.clock import db_now  # noqa: PLC0415 - Django is set up by the stack

        # The other checkpoints of the run are too close to be told apart in a few hundred matches.
        checkpoints = [
            checkpoint
            for checkpoint in read_run_folder(CHECKPOINTS, New("run", game=GAME))
            if checkpoint[1].step in STEPS
        ]
        add_run(checkpoints, now=db_now())
        rows = [row for field in FIELDS for row in compare_pairings(field, replicates)]
        return rows, [hold_campaigns(field, replicates) for field in FIELDS]


def compare_pairings(field: RealField, replicates: int) -> list[Row]:
    """Return the medians of the matches to each level; None: half of them never got there."""
    ours, at_random = (
        [follow_tournament(field, pairing, seed) for seed in range(replicates)]
        for pairing in ("order_information", "random")
    )
    rows: list[Row] = []
    for level in field.levels:
        needed = [
            float(np.median([find_matches_to(level, curve) for curve in curves]))
            for curves in (ours, at_random)
        ]
        mine, other = (n if np.isfinite(n) else None for n in needed)
        rows.append(make_level_row(field.name, len(field.agents), level, mine, other))
    return rows


def find_matches_to(level: float, curve: Curve) -> float:
    """Return the matches from which on the accuracy stays at the level; infinite: never."""
    below = [place for place, (_, accuracy) in enumerate(curve) if accuracy < level]
    first = below[-1] + 1 if below else 0
    return curve[first][0] if first < len(curve) else np.inf


def follow_tournament(field: RealField, pairing: str, seed: int) -> Curve:
    """Play a tournament through the queue; return its curve as the results came in."""
    n, curve = len(field.agents), Curve()
    results = np.array(play_tournament(field, pairing, seed), np.int64)
    n_known = float(n)
    # The last look is at all results, however far the factor would go beyond.
    while n_known < len(results) * GROWTH:
        first = results[: min(int(n_known), len(results))]
        mu = settle_ratings(count_results(first), n, terms=FittedTerms(seat=True)).mu
        curve.append((len(first), strict_accuracy(list(range(n)), mu.tolist()) or 0.0))
        n_known *= GROWTH
    return curve


def play_tournament(field: RealField, pairing: str, seed: int) -> list[tuple[int, int, int]]:
    """Return (first, second, score) of its matches in planned order."""
    from matches.models import Match  # noqa: PLC0415

    board = field.open_board(pairing, seed)
    tournament = schedule_agents(board, field.agents, field.n_matches, seed=seed, pairing=pairing)
    await_tournament(tournament, limit_s=LIMIT_S)
    entrants = tournament.entrant_set.order_by("position").values_list("agent_id", flat=True)
    places = {agent: place for place, agent in enumerate(entrants)}
    done = Match.objects.filter(tournament=tournament, state=Match.State.DONE)
    results = []
    for lineup, ranks in done.order_by("sequence").values_list("lineup", "outcome__ranks"):
        first, second = (places[int(agent)] for agent in lineup.split(","))
        rank, other = map(int, ranks.split(","))
        results.append((first, second, (rank < other) - (rank > other)))
    return results


def hold_campaigns(field: RealField, replicates: int) -> Row:
    """Ask for the best of a field as often, each time from nothing; return how it went."""
    campaigns = [hold_campaign(field, seed) for seed in range(replicates)]
    decided = [campaign for campaign in campaigns if not campaign.why.startswith("out_of_budget")]
    right = f"{field.agents[-1]} is the best"
    return {
        "question": "best",
        "field": field.name,
        "stated_error": ERROR,
        "wrong": sum(not campaign.statement.startswith(right) for campaign in decided),
        "n": replicates,
        "decided": len(decided),
        "median_matches": float(np.median([campaign.n_played for campaign in campaigns])),
        "round_robin_matches": None,
    }


def hold_campaign(field: RealField, seed: int) -> Any:
    from matches.artifacts.agents import register_spelled_agent  # noqa: PLC0415
    from matches.campaigns.starting import start_campaign  # noqa: PLC0415
    from matches.plans import CampaignPlan  # noqa: PLC0415

    agents: Sequence[Any] = [register_spelled_agent(text, game=GAME) for text in field.agents]
    plan = CampaignPlan(
        name=field.name, question="best", max_matches=field.n_matches, error=ERROR, margin=0.5,
        seed=seed,
    )  # fmt: skip
    campaign = start_campaign(plan, leaderboard=field.open_board("best", seed), agents=agents)
    await_tournament(campaign.tournament, limit_s=LIMIT_S)
    campaign.refresh_from_db()
    return campaign
