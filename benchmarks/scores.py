"""`best` campaigns on scores: how often right, after how many episodes, errors under peeking.

Simulated agents of known order, five real ones of CartPole (also on seeds drawn again from theirs),
and whether their scores are those of a plain loop over Gymnasium to the last bit.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import mean, median
from typing import Any

import gymnasium
import numpy as np
from scipy.stats import binomtest

from arena.games.catalog.cart_pole import GAME
from arena.local_play import play
from arena.policies.callables import Act
from arena.ratings.counts import Floats, Ints
from arena.seeding import derive
from arena.verdicts.base import Terms
from arena.verdicts.score_evidence import score_width, watch_evidence
from arena.verdicts.score_questions import (
    FIRST_SEEDS,
    choose_agents,
    choose_ahead,
    group_sizes,
    judge_order,
    weigh_pairs,
)
from benchmarks.report import Cell, format_table, make_parser, whole_number, write_report

ERRORS = (0.05, 0.01)
MAX_SHARE = 0.5
N_CAMPAIGNS, N_NULLS, N_REAL = 200, 2_000, 5
MAX_SEEDS, PEEKS = 1_000, 300
# Seeds between two looks of a campaign: reports bring several.
STEP = 2
# As control plans them (matches.ledger.adaptive_pairing).
LEAST_AHEAD, AHEAD_OF_KNOWN, REFILL = 16, 8, 4
REAL_SEEDS = 400
# How often each agent of CartPole pushes the right way: the newest two of a run are close.
SKILLS = (0.95, 0.93, 0.8, 0.7, 0.6)
Draw = Callable[[np.random.Generator, int, int], Floats]
RANGE = (0.0, 1.0)


def draw_bernoulli(rng: np.random.Generator, agent: int, n: int) -> Floats:
    return (rng.random(n) < 0.8 - 0.12 * agent).astype(np.float64)


def draw_clipped(rng: np.random.Generator, agent: int, n: int) -> Floats:
    return rng.normal(0.7 - 0.08 * agent, 0.25, n).clip(0, 1)


def draw_capped(rng: np.random.Generator, agent: int, n: int) -> Floats:
    """Return lengths of episodes like CartPole's: exponential, cut at 500."""
    lengths: Floats = np.ceil(rng.exponential(500 * 0.6**agent, n)).clip(1, 500)
    return lengths / 500


def draw_bimodal(rng: np.random.Generator, agent: int, n: int) -> Floats:
    is_high = rng.random(n) < 0.8 - 0.12 * agent
    return np.where(is_high, rng.normal(0.9, 0.03, n), rng.normal(0.2, 0.05, n)).clip(0, 1)


WORLDS: dict[str, Draw] = {
    "bernoulli": draw_bernoulli,
    "clipped normal": draw_clipped,
    "capped at 500": draw_capped,
    "bimodal": draw_bimodal,
}


@dataclass(eq=False)
class Revealed:
    """Scores played beforehand and shown seed by seed; evidence of all pairs is watched once."""

    scores: Floats
    watched: Floats
    n_seeds: Ints

    @property
    def means(self) -> Floats:
        """The mean score of the seeds shown: float64 [n]."""
        totals = np.array([row[:n].sum() for row, n in zip(self.scores, self.n_seeds, strict=True)])
        means: Floats = totals / np.maximum(self.n_seeds, 1)
        return means

    def evidence(self, above: Ints, below: Ints, lead: float) -> Floats:
        """Return log capital after the common seeds; only the lead of 0 was watched."""
        assert lead == 0
        common = np.minimum(self.n_seeds[above], self.n_seeds[below])
        weighed: Floats = self.watched[above, below, common - 1]
        return weighed


def reveal(scores: Floats, score_range: tuple[float, float]) -> Revealed:
    pairs = scores[:, None] - scores[None, :]
    watched = watch_evidence(pairs, score_width(score_range))
    return Revealed(scores, watched, np.zeros(len(scores), np.int64))


def run_campaign(table: Revealed, error: float, *, is_adaptive: bool) -> tuple[int | None, int]:
    """Return the agent named best, None if none was, and how many episodes were played."""
    n_agents, n_most = table.scores.shape
    sizes, terms = group_sizes("best", n_agents), Terms(error=error)
    table.n_seeds[:] = FIRST_SEEDS
    while True:
        verdict = judge_order(table, sizes, terms)
        if verdict is not None:
            return verdict.subjects[0], int(table.n_seeds.sum())
        playing = choose_agents(table, sizes, terms) if is_adaptive else np.arange(n_agents)
        if table.n_seeds[playing].max() + STEP > n_most:
            return None, int(table.n_seeds.sum())
        table.n_seeds[playing] += STEP


def run_ahead(table: Revealed, error: float) -> tuple[int | None, int]:
    """Return the same where, as in control, an eighth of the episodes is chosen ahead."""
    n_agents, n_most = table.scores.shape
    sizes, terms = group_sizes("best", n_agents), Terms(error=error)
    table.n_seeds[:] = FIRST_SEEDS
    ahead: deque[int] = deque()
    while (verdict := judge_order(table, sizes, terms)) is None:
        n_over = int(table.n_seeds.sum())
        n_ahead = max(LEAST_AHEAD, n_over // AHEAD_OF_KNOWN)
        n_planned = table.n_seeds + np.bincount(ahead, minlength=n_agents)
        pairs = weigh_pairs(table, sizes, terms)
        ahead.extend(choose_ahead(pairs, n_planned, n_ahead - len(ahead)))
        for _ in range(n_ahead // REFILL):
            table.n_seeds[ahead.popleft()] += 1
        if table.n_seeds.max() > n_most - 1:
            return None, n_over
    return verdict.subjects[0], int(table.n_seeds.sum())


def compare_choices(name: str, tables: Sequence[Floats], score_range: tuple[float, float]) -> Any:
    """Return a row: adaptive choice against equal sampling on the same scores, agent 0 best."""
    revealed_tables = [reveal(scores, score_range) for scores in tables]
    ours, equal = (
        [run_campaign(table, ERRORS[0], is_adaptive=way) for table in revealed_tables]
        for way in (True, False)
    )
    ahead = [run_ahead(table, ERRORS[0]) for table in revealed_tables]
    n_ours, n_equal, n_ahead = (median(n for _, n in way) for way in (ours, equal, ahead))
    return {
        "name": name,
        "campaigns": len(tables),
        "right": sum(best == 0 for best, _ in ours),
        "wrong": sum(best not in (0, None) for best, _ in ours),
        "episodes": n_ours,
        "equal_episodes": n_equal,
        "share": n_ours / n_equal,
        "ahead_right": sum(best == 0 for best, _ in ahead),
        "ahead_episodes": n_ahead,
        "ahead_share": n_ahead / n_equal,
    }


def count_errors(name: str, draw: Draw, n: int) -> list[dict[str, Any]]:
    """Return how often two equal agents are told apart, looked at after every seed."""
    rng = np.random.default_rng([2, len(name)])
    differences = np.stack([draw(rng, 2, PEEKS) - draw(rng, 2, PEEKS) for _ in range(n)])
    highest = watch_evidence(differences, 1.0).max(axis=1)
    rows = []
    for error in ERRORS:
        n_wrong = int((highest >= -np.log(error)).sum())
        bounds = binomtest(n_wrong, n).proportion_ci(0.95, method="exact")
        share = {"wrong": n_wrong, "share": n_wrong / n}
        rows.append({"name": name, "error": error, "tests": n, **share})
        rows[-1] |= {"low": float(bounds.low), "high": float(bounds.high)}
    return rows


def balance(observation: Any, push: Random, skill: float) -> int:
    is_right = bool(observation[2] + observation[3] > 0)
    return int(is_right if push.random() < skill else not is_right)


def make_agents() -> dict[str, Act]:
    def make_act(skill: float) -> Act:
        return lambda state, mask, rng: balance(state, Random(state.tobytes()), skill)  # noqa: ARG005

    return {f"skill {skill:g}": make_act(skill) for skill in SKILLS}


def play_cart_poles(n_seeds: int, seed: int) -> tuple[Floats, list[int]]:
    """Return float64 [agents, seeds] by arena.play, and the game seeds."""
    agents = make_agents()
    played = play(GAME, agents, n_seeds * len(agents), seed)
    scores = np.array([match.returns[0] for match in played]).reshape(n_seeds, len(agents)).T
    return scores, [match.game_seed for match in played[:: len(agents)]]


def play_plainly(game_seeds: Sequence[int]) -> Floats:
    """Return the same scores by a loop over Gymnasium, without the platform."""
    env, scores = gymnasium.make("CartPole-v1"), []
    for skill in SKILLS:
        for game_seed in game_seeds:
            observation, _ = env.reset(seed=derive("environment", game_seed) >> 32)
            total, is_over = 0.0, False
            while not is_over:
                action = balance(observation, Random(observation.tobytes()), skill)
                observation, reward, terminated, truncated, _ = env.step(action)
                total, is_over = total + float(reward), terminated or truncated
            scores.append(total)
    return np.array(scores).reshape(len(SKILLS), -1)


def draw_seeds(played: Floats, n_campaigns: int) -> list[Floats]:
    """Return tables of game seeds drawn, with replacement, from those that all agents played."""
    rng = np.random.default_rng(3)
    n_seeds = played.shape[1]
    return [played[:, rng.integers(n_seeds, size=MAX_SEEDS)] for _ in range(n_campaigns)]


def measure(n_campaigns: int, n_nulls: int, n_real: int) -> dict[str, Any]:
    rows, errors = list[dict[str, Any]](), list[dict[str, Any]]()
    for number, (name, draw) in enumerate(WORLDS.items()):
        rng = np.random.default_rng([1, number])
        tables = [
            np.stack([draw(rng, agent, MAX_SEEDS) for agent in range(5)])
            for _ in range(n_campaigns)
        ]
        rows.append(compare_choices(name, tables, RANGE))
        errors += count_errors(name, draw, n_nulls)
    real = [play_cart_poles(REAL_SEEDS, seed) for seed in range(n_real)]
    assert GAME.spec.score_range is not None
    tables = [scores for scores, _ in real]
    rows.append(compare_choices("CartPole", tables, GAME.spec.score_range))
    drawn = draw_seeds(np.concatenate(tables, axis=1), n_campaigns)
    rows.append(compare_choices("CartPole, drawn again", drawn, GAME.spec.score_range))
    plain = play_plainly(real[0][1])
    return {
        "campaigns": rows,
        "errors": errors,
        "means": [mean(row) for row in real[0][0].tolist()],
        "plain_means": [mean(row) for row in plain.tolist()],
        "is_bit_equal": bool((real[0][0] == plain).all()),
    }


def format_figures(figures: dict[str, Any]) -> str:
    campaigns: list[list[Cell]] = [
        [
            *(row["name"], f"{row['right']} of {row['campaigns']}"),
            *(row["episodes"], row["equal_episodes"], MAX_SHARE, row["share"]),
            *(row["ahead_episodes"], row["ahead_share"]),
        ]
        for row in figures["campaigns"]
    ]
    errors: list[list[Cell]] = [
        [
            *(row["name"], row["share"], f"{row['low']:.4f}..{row['high']:.4f}"),
            *(row["error"], row["share"] / row["error"]),
        ]
        for row in figures["errors"]
    ]
    means: list[list[Cell]] = [
        [f"skill {skill:g}", ours, plain, ours / plain]
        for skill, ours, plain in zip(SKILLS, figures["means"], figures["plain_means"], strict=True)
    ]
    columns = ["median episodes to the best", "right", "ours", "equal sampling", "limit", "ratio"]
    columns += ["chosen ahead", "ratio"]
    return "\n\n".join(
        (
            format_table(columns, campaigns),
            format_table(["wrong under peeking", "ours", "95 %", "limit", "ratio"], errors),
            format_table(["mean of CartPole", "ours", "plain loop", "ratio"], means),
            f"All scores equal to the last bit: {figures['is_bit_equal']}",
        )
    )


def main(arguments: Sequence[str]) -> int:
    parser = make_parser("scores", "Campaigns on scores of games of one seat.")
    parser.add_argument("--campaigns", type=whole_number(1), default=N_CAMPAIGNS)
    parser.add_argument("--nulls", type=whole_number(1), default=N_NULLS)
    parser.add_argument("--real", type=whole_number(1), default=N_REAL)
    options = parser.parse_args(arguments)
    figures = measure(options.campaigns, options.nulls, options.real)
    write_report(format_figures(figures), figures, options.json)
    return 0
