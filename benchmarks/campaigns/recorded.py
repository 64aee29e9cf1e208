"""Campaigns in real fields: matches that were played once, drawn again block by block.

Each field plays a reference, a round robin that is long against a campaign. Campaigns draw blocks
of it at random, from nothing, and are wrong where the whole reference says so.
"""

from collections import defaultdict
from collections.abc import Mapping
from random import Random

import numpy as np
from numpy.typing import NDArray

from arena.local_play import Agent, PlayedMatch, play
from arena.policies.callables import Act
from arena.ratings.counts import Floats, Ints
from benchmarks.campaigns.hard.base import HeadToHead, Times
from benchmarks.campaigns.hard.campaign import Held, hold_in_world
from benchmarks.campaigns.hard.rules import RULES
from benchmarks.campaigns.plans import Task
from benchmarks.campaigns.recorded_ranks import RecordedRanks, group_ranks, hold_among_seats
from benchmarks.campaigns.worlds import COUPLE

# Of Kuhn poker: how likely a seat bets by its card, and calls a bet; the lowest card, any in
# between, and the highest.
_BETS = {
    "rock": ((0.0, 0.0, 1.0), (0.0, 0.0, 1.0)),
    "balanced": ((1 / 3, 0.0, 1.0), (0.0, 1 / 3, 1.0)),
    "caller": ((0.0, 0.0, 0.5), (0.3, 1.0, 1.0)),
    "bluffer": ((0.8, 0.2, 1.0), (0.0, 0.5, 1.0)),
    "maniac": ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
}
# Of backgammon: which of the legal moves, as the engine numbers them.
_PLACES = {"first_move": 0.0, "early_move": 0.2, "middle_move": 0.5, "last_move": 1.0}


def bet_like(style: str) -> Act:
    """Return an agent of Kuhn poker for any number of seats: 1 bets or calls, 0 checks or folds."""
    bets, calls = _BETS[style]

    def act(observation: NDArray[np.generic], _: NDArray[np.bool_], rng: Random) -> int:
        # Which seat, which of the cards, one more than seats, and what each seat has paid.
        numbers, n_seats = observation.astype(np.float64), len(observation) // 3
        card, paid = int(np.argmax(numbers[n_seats : 2 * n_seats + 1])), numbers[2 * n_seats + 1 :]
        height = 1 if 0 < card < n_seats else 2 * (card == n_seats)
        return int(rng.random() < (calls if paid.max() > 1 else bets)[height])

    return act


def move_by_place(name: str) -> Act:
    """Return an agent that takes the legal move at a place between the first and the last."""

    def act(_: NDArray[np.generic], legal: NDArray[np.bool_], rng: Random) -> int:  # noqa: ARG001
        moves = np.flatnonzero(legal)
        return int(moves[round(_PLACES[name] * (len(moves) - 1))])

    return act


FIELDS = {
    "connect_four": ("random", "greedy", "alphabeta:1", "alphabeta:2", "mcts:20"),
    "tic_tac_toe": ("random", "greedy", "alphabeta:2", "mcts:10", "mcts:50"),
    "chess": ("random", "greedy", "alphabeta:1"),
    "kuhn_poker": tuple(_BETS),
    "kuhn_poker_3": tuple(_BETS),
    "backgammon": ("random", *_PLACES),
    "hex": ("random", "greedy", "mcts:10"),
}
"""The agents of each game, all of which differ."""
QUESTIONS = {"best": 4_000, "rank_all": 8_000}
"""What is asked, and the budget of matches."""


class Recorded(HeadToHead):
    """A field whose blocks are drawn, with replacement, from those that were played."""

    def __init__(self, scores: Mapping[tuple[int, int], Ints], n_agents: int) -> None:
        """Keep the scores of agent i in both games of its blocks with j, i < j: int64 [b, 2]."""
        self._n_agents = n_agents
        # The first game of the other one of a pair is the second of this one.
        turned = {(j, i): -blocks[:, ::-1] for (i, j), blocks in scores.items()}
        self._scores = {**scores, **turned}

    @property
    def n_agents(self) -> int:
        return self._n_agents

    def play_blocks(self, first: Ints, second: Ints, time: Times, rng: np.random.Generator) -> Ints:  # noqa: ARG002
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        drawn = [rng.choice(self._scores[pair]) for pair in pairs]
        return np.array(drawn, np.int64).reshape(-1, 2)

    def expect_points(self, one: Ints, other: Ints, time: Times) -> Floats:  # noqa: ARG002
        pairs = zip(one.tolist(), other.tolist(), strict=True)
        return np.array([(1 + self._scores[pair].mean()) / 2 for pair in pairs])


def play_reference(arguments: tuple[str, int]) -> Recorded | RecordedRanks:
    """Play a field's reference of so many matches: every lineup equally often."""
    game, n_matches = arguments
    names = FIELDS[game]
    played = play(game, {name: make_agent(name) for name in names}, n_matches, seed=1)
    if len(played[0].lineup) > COUPLE:
        return RecordedRanks(group_ranks(played, names), len(names))
    return Recorded(group_blocks(played, names), len(names))


def make_agent(name: str) -> Agent:
    if name in _BETS:
        return bet_like(name)
    return move_by_place(name) if name in _PLACES else name


def group_blocks(played: list[PlayedMatch], agents: tuple[str, ...]) -> dict[tuple[int, int], Ints]:
    """Return the blocks of each pair, the lower agent's scores in the first and second seat."""
    blocks: dict[tuple[int, int], dict[int, list[int]]] = defaultdict(dict)
    for match in played:
        first, second = (agents.index(name) for name in match.lineup)
        score = (match.ranks[0] < match.ranks[1]) - (match.ranks[0] > match.ranks[1])
        pair, is_lower = (min(first, second), max(first, second)), first < second
        games = blocks[pair].setdefault(match.game_seed, [0, 0])
        games[0 if is_lower else 1] = score if is_lower else -score
    return {pair: np.array(list(games.values())) for pair, games in blocks.items()}


def hold_recorded(arguments: tuple[Task, Recorded | RecordedRanks, str]) -> Held:
    """Hold one campaign in a recorded field, under the rule of a name; of several seats by ours."""
    task, world, rule = arguments
    if isinstance(world, RecordedRanks):
        return hold_among_seats(world, task)
    return hold_in_world(world, task, RULES[rule])
