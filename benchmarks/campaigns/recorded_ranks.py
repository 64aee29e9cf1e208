"""Campaigns in real fields of three and more seats, each agent for itself: see `recorded`.

A block is all rotations of one lineup on one game seed, as campaigns plan it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from time import process_time
from typing import NamedTuple

import numpy as np

from arena.local_play import PlayedMatch
from arena.pairing import registry as pairings
from arena.pairing.base import Field, Lineup, Standing
from arena.pairing.registry import choose_pairing
from arena.parameters import read_parameters
from arena.ratings.base import BETA, DRAW_PROBABILITY
from arena.ratings.counts import Floats, Ints, PairCounts, count_results
from arena.ratings.settled import FittedTerms, SettledRatings, settle_ratings
from arena.verdicts import registry as questions
from arena.verdicts.base import Terms
from arena.verdicts.beliefs import Belief, form_belief
from arena.verdicts.dispersion import measure_sum_dispersion
from benchmarks.campaigns.hard.base import find_gap
from benchmarks.campaigns.hard.campaign import LOOK_GROWTH, Held
from benchmarks.campaigns.mistakes import Moment, is_wrong_at
from benchmarks.campaigns.plans import Task
from benchmarks.campaigns.worlds import IN_FLIGHT

_UNIT = float(np.sqrt(2) * BETA)


class RankedBlock(NamedTuple):
    """A block that was played; ranks: int64 [matches, seats], by agent of the lineup, 0 best."""

    lineup: Lineup
    ranks: Ints

    def list_scores(self) -> Iterator[tuple[int, int, Ints]]:
        """Yield each two agents and the score of the one in each match: 1, 0 or -1."""
        for i, j in combinations(range(len(self.lineup)), 2):
            yield self.lineup[i], self.lineup[j], np.sign(self.ranks[:, j] - self.ranks[:, i])


class RecordedRanks:
    """A field whose blocks are drawn, with replacement, from those that were played."""

    def __init__(self, ranks: Mapping[Lineup, Ints], n_agents: int) -> None:
        """Keep the ranks of each sorted lineup: int64 [blocks, matches, seats]."""
        self._ranks, self.n_agents = ranks, n_agents
        self.n_seats = len(next(iter(ranks)))
        self._points = np.zeros((n_agents, n_agents))
        n_met = np.zeros((n_agents, n_agents))
        for lineup, blocks in ranks.items():
            for first, second, scores in RankedBlock(
                lineup, blocks.reshape(-1, self.n_seats)
            ).list_scores():
                self._points[first, second] += (1 + scores).sum() / 2
                self._points[second, first] += (1 - scores).sum() / 2
                n_met[[first, second], [second, first]] += len(scores)
        self._points /= np.maximum(n_met, 1)

    def play_block(self, lineup: Sequence[int], rng: np.random.Generator) -> RankedBlock:
        agents = tuple(sorted(lineup))
        return RankedBlock(agents, rng.choice(self._ranks[agents]))

    def find_lead(self, one: int, other: int, time: float) -> float:  # noqa: ARG002
        """Return by how much one is better than the other, whoever else plays."""
        return find_gap(float(self._points[one, other]))


def group_ranks(played: Iterable[PlayedMatch], agents: Sequence[str]) -> dict[Lineup, Ints]:
    """Return the blocks of each sorted lineup, ranks by agent: int64 [blocks, matches, seats]."""
    blocks: dict[Lineup, dict[int, list[list[int]]]] = defaultdict(lambda: defaultdict(list))
    for match in played:
        ranked = sorted(
            (agents.index(name), rank) for name, rank in zip(match.lineup, match.ranks, strict=True)
        )
        lineup = tuple(agent for agent, _ in ranked)
        blocks[lineup][match.game_seed].append([rank for _, rank in ranked])
    return {lineup: np.array(list(games.values())) for lineup, games in blocks.items()}


def hold_among_seats(world: RecordedRanks, task: Task) -> Held:
    """Hold one campaign by the rule of campaigns, to its first verdict or its budget."""
    began, rng = process_time(), np.random.default_rng(task.seed)
    question, terms = questions.get(task.question), Terms(task.error, task.margin)
    planned: list[RankedBlock] = []
    n_closed, verdict = 0, None
    while verdict is None and n_closed * world.n_seats < task.budget:
        n_grown = n_closed + max(world.n_agents // 4, int(n_closed * LOOK_GROWTH), 1)
        n_blocks = min(n_grown, -(-task.budget // world.n_seats)) - n_closed
        n_ahead = round((n_closed + n_blocks) / (1 - IN_FLIGHT)) - len(planned)
        lineups = _plan(task, planned[:n_closed], planned[n_closed:], world, n_ahead)
        planned += [world.play_block(lineup, rng) for lineup in lineups]
        n_closed += n_blocks
        verdict = question.judge(_believe(planned[:n_closed], world.n_agents), terms)
    n_matches = n_closed * world.n_seats
    is_wrong = verdict is not None and is_wrong_at(task, Moment(world, n_matches), verdict)
    return Held(task, verdict, n_matches, is_wrong, process_time() - began)


def _plan(
    task: Task,
    closed_blocks: Sequence[RankedBlock],
    open_blocks: Sequence[RankedBlock],
    world: RecordedRanks,
    n_blocks: int,
) -> Sequence[Lineup]:
    """Return what the pairing of the question would play next."""
    values = read_parameters(task.question, questions.get(task.question).parameters, {})
    name, parameters = choose_pairing(task.question, values, n_agents=world.n_agents)
    counts, n_seats = _count_pairs(closed_blocks), world.n_seats
    settled = _settle(counts, world.n_agents, n_seats)
    in_flight = Counter(pair for block in open_blocks for pair in combinations(block.lineup, 2))
    standing = Standing(
        Field(world.n_agents, n_seats), settled.mu, settled.covariance, settled.sd, settled.spread,
        counts, {pair: n_seats * n for pair, n in in_flight.items()}, (), settled.draw_probability,
    )  # fmt: skip
    seed = task.seed * 1_000_003 + len(closed_blocks)
    return pairings.get_adaptive(name).configured(parameters).choose(standing, n_blocks, seed=seed)


def _believe(blocks: Sequence[RankedBlock], n_agents: int) -> Belief:
    """Return what campaigns believe in a game of so many seats (matches.campaigns.belief)."""
    n_seats = len(blocks[0].lineup)
    counts = _count_pairs(blocks)
    settled = _settle(counts, n_agents, n_seats)
    dispersion = _measure_dispersion(blocks, settled.mu)
    if dispersion > 1:
        settled = _settle(counts, n_agents, n_seats, weight=1 / dispersion)
    return form_belief(settled, counts, n_opponents=n_seats - 1)


def _measure_dispersion(blocks: Sequence[RankedBlock], mu: Floats) -> float:
    """Return how much more blocks vary than ratings expect; shared ranks say nothing."""
    pairs = [
        (mu[first] - mu[second], np.count_nonzero(scores), np.count_nonzero(scores > 0))
        for block in blocks
        for first, second, scores in block.list_scores()
        if scores.any()
    ]
    lead, n_games, points = np.array(pairs, np.float64).reshape(-1, 3).T
    return measure_sum_dispersion(
        lead / _UNIT, n_games.astype(np.int64), points, draw_probability=0.0
    )


def _settle(counts: PairCounts, n_agents: int, n_seats: int, weight: float = 1.0) -> SettledRatings:
    return settle_ratings(
        counts, n_agents, n_sides=n_seats, draw_probability=DRAW_PROBABILITY, weight=weight,
        terms=FittedTerms(draws=True),
    )  # fmt: skip


def _count_pairs(blocks: Iterable[RankedBlock]) -> PairCounts:
    pairs = [
        np.stack([np.full(len(scores), first), np.full(len(scores), second), scores], axis=1)
        for block in blocks
        for first, second, scores in block.list_scores()
    ]
    return count_results(np.concatenate([np.zeros((0, 3), np.int64), *pairs]))
