"""A task of LLMServe as a game of one seat: a window is six decisions, the sixth one runs it.

What an OpenEnv client sends as one action are six choices here, so that networks, trajectories and
replays need nothing new. The return of the seat is the grader's score. The rewards of single
windows are in no trajectory: they follow from seed and actions, which it has.
"""

from collections.abc import Mapping, Sequence
from math import log1p
from typing import Final

import numpy as np
from numpy.typing import NDArray

from arena.errors import IllegalActionError, ParameterError
from arena.games.base import OVER, GameSpec
from arena.games.llmserve.grading import Grader, reward
from arena.games.llmserve.picture import draw_episode
from arena.games.llmserve.settings import CHOICES, FIRST, choose
from arena.games.llmserve.simulator import Server, Sight
from arena.games.llmserve.words import Played, describe, name_choice
from arena.games.llmserve.workload import N_WINDOWS, Task
from arena.games.observations import parts
from arena.games.pictures import Picture
from arena.parameters import Value, read_parameters

N_FIELDS: Final = len(CHOICES)
N_ACTIONS: Final = max(map(len, CHOICES))
SIGHT: Final = (
    "requests in the queue",
    "requests that run",
    "share of the KV cache in use",
    "mean prompt of those that came",
    "median time to the first token",
    "its 99th percentile",
    "median time between tokens",
    "tokens per second",
    "share within both limits",
    "share of the memory in use",
    "dollars for 1,000 tokens",
    "requests per second",
    "acceptance of drafts",
    "evicted requests",
)
PARTS: Final = parts(
    *(f"{name}, in the last window" for name in SIGHT),
    "share of the episode that has run",
    ("choices in the last window, 0 to 1", N_FIELDS),
    ("choices in this window, 0 to 1", N_FIELDS),
    ("the setting to choose next, one-hot", N_FIELDS),
)
SIZE: Final = sum(part.size for part in PARTS)
_LEGAL: Final = tuple(tuple(range(len(choices))) for choices in CHOICES)


def observe(
    sight: Sight, n_windows: int, last: Sequence[int], chosen: Sequence[int]
) -> NDArray[np.float32]:
    """Return what an agent sees before a decision: float32 [SIZE], most of it in 0..1."""
    numbers = (
        log1p(sight.queue_depth) / 5,
        log1p(sight.active_requests) / 5,
        sight.kv_cache_occupancy,
        log1p(sight.mean_prompt_length) / 8,
        log1p(sight.p50_ttft_ms) / 9,
        log1p(sight.p99_ttft_ms) / 9,
        log1p(sight.p50_itl_ms) / 6,
        sight.throughput_tps / 4_000,
        sight.slo_compliance_rate,
        sight.gpu_memory_used_gb / 160,
        sight.estimated_cost_per_1k / 0.05,
        log1p(sight.request_arrival_rate) / 4,
        sight.spec_acceptance_rate,
        log1p(sight.eviction_events) / 5,
        n_windows / N_WINDOWS,
    )
    observation = np.zeros(SIZE, np.float32)
    observation[: len(numbers)] = numbers
    first, second = len(numbers), len(numbers) + N_FIELDS
    for offset, choices in ((first, last), (second, chosen)):
        for index, choice in enumerate(choices):
            observation[offset + index] = choice / (len(CHOICES[index]) - 1)
    observation[second + N_FIELDS + len(chosen)] = 1.0
    return observation


class LLMServeState:
    """One episode in progress."""

    opening: Sequence[int] = ()

    def __init__(self, task: Task, game_seed: int) -> None:
        """Draw the requests of the episode; the server runs as FIRST says."""
        self.server = Server(task, game_seed)
        self.grader = Grader()
        self.actions: list[int] = []
        self.chosen: list[int] = []
        self.last: list[int] = [CHOICES[i].index(value) for i, value in enumerate(FIRST)]
        self.played: list[Played] = []

    def to_move(self) -> int:
        """Return the one seat, or OVER."""
        return OVER if self.server.is_over else 0

    def legal_actions(self) -> Sequence[int]:
        """Return the choices there are for the next setting; none when over."""
        return () if self.server.is_over else _LEGAL[len(self.chosen)]

    def legal_mask(self) -> NDArray[np.bool_]:
        """Return bool [A], True where legal."""
        return np.arange(N_ACTIONS) < len(self.legal_actions())

    def observation(self, seat: int) -> NDArray[np.generic]:
        """Return float32 [SIZE]; zeros when over."""
        del seat
        if self.server.is_over:
            return np.zeros(SIZE, np.float32)
        return observe(self.server.sight, self.server.n_windows, self.last, self.chosen)

    def apply(self, action: int) -> None:
        """Choose a setting; the last one of a window runs it. Raises IllegalActionError."""
        if type(action) is not int or action not in self.legal_actions():
            legal = f"0..{len(self.legal_actions()) - 1}" if self.legal_actions() else "nothing"
            raise IllegalActionError(f"{self.server.task.id}: {action!r:.80} is not in {legal}")
        self.actions.append(action)
        self.chosen.append(action)
        if len(self.chosen) == N_FIELDS:
            self._run_window()

    def _run_window(self) -> None:
        settings = choose(self.chosen)
        window = self.server.run_window(settings)
        self.grader.add(window)
        self.played.append(Played(settings, self.server.sight, reward(window)))
        self.last, self.chosen = self.chosen, []

    def returns(self) -> list[float]:
        """Return the grader's score of what has run."""
        return [self.grader.score()]

    def describe(self, seat: int | None = None) -> str:
        """Return how far it is, what the last window looked like, and what is chosen next."""
        del seat
        return describe(self.played, self.chosen, self.grader.score())

    def action_name(self, action: int) -> str:
        """Return a setting and its value."""
        return name_choice(len(self.chosen), action)


class LLMServeGame:
    """A task under its rules; it has no parameters."""

    parameters: Mapping[str, Value] = {}

    def __init__(self, task: Task) -> None:
        """Take the task whose requests are served."""
        self._task = task
        self.spec = GameSpec(
            id=f"llmserve_{task.id}",
            title=f"LLMServe, {task.title}",
            n_seats=1,
            n_actions=N_ACTIONS,
            observation_shape=(SIZE,),
            observation_dtype="float32",
            observation_parts=PARTS,
            observation_note="Numbers without an upper bound as logarithms.",
            has_chance=True,
            # What is yet to come is nobody's secret: nothing is shown that the seat does not see.
            has_hidden_information=False,
            opening_plies=0,
            max_steps=N_WINDOWS * N_FIELDS,
            score_range=(0.0, 1.0),
            score_margin=0.01,
        )

    def configured(self, parameters: Mapping[str, object]) -> "LLMServeGame":
        """Return the game itself. Raises ParameterError for any parameter."""
        read_parameters(self.spec.id, (), parameters)
        return self

    def start(self, game_seed: int, *, opening_plies: int) -> LLMServeState:
        """Return a new episode. Raises ParameterError for an opening."""
        if opening_plies:
            rule = f"must be 0, as the game has chance: {opening_plies}"
            raise ParameterError(self.spec.id, "opening_plies", rule)
        return LLMServeState(self._task, game_seed)

    def picture(self, state: LLMServeState, seat: int | None) -> Picture:
        """Return the windows so far: queue, latency, memory, cost and what was set."""
        del seat
        return draw_episode(self._task, state.played)
