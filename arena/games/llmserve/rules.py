"""A task of LLMServe as a game of one seat: a window is six decisions, the sixth one runs it.

What an OpenEnv client sends as one action are six choices here, so that networks, trajectories and
replays need nothing new. The return of the seat is the grader's score. The rewards of single
windows are in no trajectory: they follow from seed and actions, which it has.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from arena.errors import IllegalActionError, ParameterError
from arena.games.base import OVER, GameSpec
from arena.games.llmserve.features import N_FIELDS, SIGHT, SIZE, observe
from arena.games.llmserve.grading import Grader, reward
from arena.games.llmserve.picture import draw_episode
from arena.games.llmserve.settings import CHOICES, FIRST, choose
from arena.games.llmserve.simulator import Server
from arena.games.llmserve.words import Played, describe, name_choice
from arena.games.llmserve.workload import N_WINDOWS, Task
from arena.games.observations import parts
from arena.games.pictures import Picture
from arena.parameters import Value, read_parameters

PARTS: Final = parts(
    *(f"{name}, in the last window" for name in SIGHT),
    "share of the episode that has run",
    ("choices in the last window, 0 to 1", N_FIELDS),
    ("choices in this window, 0 to 1", N_FIELDS),
    ("the setting to choose next, one-hot", N_FIELDS),
)
N_ACTIONS: Final = max(map(len, CHOICES))
_LEGAL: Final = tuple(tuple(range(len(choices))) for choices in CHOICES)


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
            suite="LLMServe",
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
