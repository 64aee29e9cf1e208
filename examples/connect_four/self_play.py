"""Self-play in which every decision is improved by a lookahead of one action.

The network says how good each position after an action is; what a rule can decide (a win, a full
board, a win of the other seat at once) is not asked but known. Actions that look better than the
policy thought become likelier, in the game and in what the policy learns.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from examples.connect_four import environment as rules
from examples.connect_four.environment import N_CELLS, N_COLUMNS, Positions

Floats = NDArray[np.float32]
Evaluate = Callable[[Floats], tuple[Floats, Floats]]
"""Observations [N, 3, 6, 7] -> logits [N, 7] and values [N] of the seat to move."""


@dataclass(frozen=True)
class Settings:
    """How to play; the defaults are those of the shipped run."""

    n_games: int = 512
    """Games at the same time."""
    n_plies: int = 16
    """Actions in each of them per iteration; games go on in the next one."""
    max_opening: int = 12
    """Up to so many random plies open a game, so that games differ."""
    temperature: float = 0.1
    """By how much of value one action must be better to be e times as likely."""
    forgetting: float = 0.15
    """Share of the old policy's logits that is dropped, so that no action is out for good."""
    trust: float = 0.8
    """Lambda: how much a value counts on how the game went on, against the lookahead alone."""


class Experience(NamedTuple):
    """What N decisions teach: observations [N, 3, 6, 7], policies [N, 7] and values [N]."""

    observations: Floats
    policies: Floats
    values: Floats


class Decided(NamedTuple):
    """One action in each of G games, and what led to it.

    policies: [G, 7]; values: [G], by the lookahead; rewards: [G], 1 where the action has won.
    """

    positions: Positions
    policies: Floats
    values: Floats
    is_over: NDArray[np.bool_]
    rewards: Floats


class SelfPlay:
    """Games in progress, all seats played by the network that is passed in."""

    def __init__(self, settings: Settings, rng: np.random.Generator) -> None:
        self._settings, self._rng = settings, rng
        self._positions = self._opened()

    def play(self, evaluate: Evaluate) -> Experience:
        """Play on in every game and return what its decisions teach."""
        decided = [self._decide(evaluate) for _ in range(self._settings.n_plies)]
        return Experience(
            np.concatenate([rules.observe(one.positions) for one in decided]),
            np.concatenate([one.policies for one in decided]),
            np.concatenate(returns(decided, trust=self._settings.trust)),
        )

    def _decide(self, evaluate: Evaluate) -> Decided:
        before, settings = self._positions, self._settings
        worth = lookahead(before, evaluate)
        logits, _ = evaluate(rules.observe(before))
        improved = (1 - settings.forgetting) * _log_policy(logits, rules.legal(before))
        policies = np.exp(_log_policy(improved + worth / settings.temperature, rules.legal(before)))
        after = rules.play(before, self._drawn(policies))
        has_won = rules.has_four(after.waiting)
        is_over = has_won | (after.n_plies == N_CELLS)
        self._positions = _where(is_over, self._opened(), after)
        values = (policies * worth).sum(axis=1)
        return Decided(before, policies, values, is_over, has_won.astype(np.float32))

    def _drawn(self, policies: Floats) -> NDArray[np.int64]:
        """Return one action per row, drawn by its probability; never one of probability 0."""
        heights = policies.cumsum(axis=1)
        marks = self._rng.random(len(policies), dtype=np.float32)[:, None] * heights[:, -1:]
        actions: NDArray[np.int64] = (heights > marks).argmax(axis=1)
        return actions

    def _opened(self) -> Positions:
        """Return new games after some random plies, none of them decided."""
        n, longest = self._settings.n_games, self._settings.max_opening
        positions = rules.start(n)
        n_plies = self._rng.integers(0, longest + 1, n)
        for ply in range(longest):
            drawn = self._rng.random((n, N_COLUMNS)) * rules.legal(positions)
            after = rules.play(positions, drawn.argmax(axis=1))
            goes_on = (n_plies > ply) & ~rules.has_four(after.waiting)
            positions = _where(goes_on, after, positions)
        return positions


def lookahead(positions: Positions, evaluate: Evaluate) -> Floats:
    """Return [N, 7]: what each action is worth to the seat to move, -1 to 1; 0 where illegal."""
    after = rules.children(positions)
    has_won = rules.has_four(after.waiting)
    is_open = rules.legal(positions).ravel() & ~has_won & (after.n_plies < N_CELLS)
    will_lose = is_open & rules.can_win(after)
    worth = has_won.astype(np.float32) - will_lose
    unknown = np.flatnonzero(is_open & ~will_lose)
    if len(unknown):
        _, values = evaluate(rules.observe(after.at(unknown)))
        worth[unknown] = -values
    return worth.reshape(-1, N_COLUMNS)


def returns(decided: list[Decided], *, trust: float) -> list[Floats]:
    """Return the value of every decision, the last first looked at: TD(lambda) of two seats."""
    latest_first: list[Floats] = []
    for one in reversed(decided):
        onward = (
            trust * -latest_first[-1] + (1 - trust) * one.values if latest_first else one.values
        )
        latest_first.append(np.where(one.is_over, one.rewards, onward).astype(np.float32))
    return latest_first[::-1]


def _log_policy(logits: Floats, legal: NDArray[np.bool_]) -> Floats:
    """Return the logarithms of the probabilities, minus infinity where illegal."""
    masked = np.where(legal, logits, np.float32(-np.inf))
    masked -= masked.max(axis=1, keepdims=True)
    total: Floats = np.log(np.exp(masked).sum(axis=1, keepdims=True))
    return masked - total


def _where(chosen: NDArray[np.bool_], these: Positions, others: Positions) -> Positions:
    return Positions(*(np.where(chosen, a, b) for a, b in zip(these, others, strict=True)))
