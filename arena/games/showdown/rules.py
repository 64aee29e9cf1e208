"""The rules of Pokemon Showdown as a Game of this process, played by the driver."""

import json
import threading
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from arena.errors import IllegalActionError, ParameterError
from arena.games.base import GameSpec, State
from arena.games.pictures import Picture, Side
from arena.games.showdown.driver import Driver
from arena.games.showdown.picture import draw_battle
from arena.games.showdown.words import tell_battle, tell_turn
from arena.parameters import Value, read_parameters

LOG: Final = "log"
FORMS: Final = (LOG, "inputlog")
"""The files that a battle can be had as."""


class Battle:
    """One battle in the driver, in the position after its actions."""

    # Teams and dice follow from the game seed: nothing is played before the first decision.
    opening: Sequence[int] = ()

    def __init__(self, spec: GameSpec, driver: Driver, game_seed: int) -> None:
        """Begin it."""
        self._spec, self._driver = spec, driver
        self.actions: list[int] = []
        self._episode = driver.number_episode()
        self._now = self._ask("start", seed=game_seed)
        weakref.finalize(self, driver.forget, self._episode)

    def _ask(self, kind: str, **more: object) -> dict[str, Any]:
        self.__dict__.pop("shown", None)
        return self._driver.ask({"kind": kind, "episode": self._episode, **more})

    @cached_property
    def shown(self) -> dict[str, Any]:
        """The names of the legal actions, and by view (all, then each seat) what show.js says."""
        return self._driver.ask({"kind": "show", "episode": self._episode})

    def to_move(self) -> int:
        """Return the seat that chooses next: seat 0 first where both choose at the same time."""
        return int(self._now["seat"])

    def legal_actions(self) -> Sequence[int]:
        """Return the legal actions of the seat to move, ascending; empty when over."""
        return list(self._now.get("legal", ()))

    def legal_mask(self) -> NDArray[np.bool_]:
        """Return bool [A], True where legal for the seat to move."""
        mask = np.zeros(self._spec.n_actions, np.bool_)
        mask[self.legal_actions()] = True
        return mask

    def observation(self, seat: int) -> NDArray[np.generic]:
        """Return float32 [N], as layout.json has it, of what a seat knows."""
        if seat == self.to_move():
            return np.array(self._now["numbers"])
        answer = self._driver.ask({"kind": "observe", "episode": self._episode, "seat": seat})
        return np.array(answer["observation"], np.float32)

    def apply(self, action: int) -> None:
        """Choose for the seat to move."""
        legal = self.legal_actions()
        if type(action) is not int or action not in legal:
            raise IllegalActionError(f"{self._spec.id}: {action!r:.80} is not in {legal}")
        self._now = self._ask("act", step=len(self.actions), action=action)
        self.actions.append(action)

    def returns(self) -> Sequence[float]:
        """Return 1 for the winner, -1 for the loser, 0 for a tie and while it is not over."""
        return [float(value) for value in self._now.get("returns", (0, 0))]

    def describe(self, seat: int | None = None) -> str:
        """Return what has just happened and how both teams stand."""
        return tell_battle(self.shown["views"][0 if seat is None else seat + 1])

    def action_name(self, action: int) -> str:
        """Return what players call a legal action."""
        return str(self.shown["names"][self.legal_actions().index(action)])

    def tell_events(self, seat: int | None = None) -> list[str]:
        """Return what has happened since the last choice, a sentence each."""
        return tell_turn(self.shown["views"][0 if seat is None else seat + 1])

    def write_file(self, form: str, players: Sequence[str]) -> str:
        """Return one of FORMS: the log that the package's viewer reads, or what it plays again."""
        log, choices = self.write_log(players)
        return "\n".join((*(log if form == LOG else choices), ""))

    def write_log(self, players: Sequence[str] = ()) -> tuple[list[str], list[str]]:
        """Return the log and the input log, with player names in place of seats."""
        answer = self._driver.ask({"kind": "log", "episode": self._episode})
        log, choices = answer["log"], answer["choices"]
        # What is between lines and fields of a log is in no name.
        names = [" ".join(player.replace("|", " ").split()) for player in players]
        # At once: an agent may be called as a seat is.
        wins = {f"|win|Seat {seat}": f"|win|{name}" for seat, name in enumerate(names)}
        log = [wins.get(line, line) for line in log]
        for seat, name in enumerate(names):
            own, begins = f"Seat {seat}", f"|player|p{seat + 1}|Seat {seat}|"
            log = [line.replace(begins, begins.replace(own, name)) for line in log]
            start = f">player p{seat + 1} "
            choices = [
                start + json.dumps({**json.loads(line.removeprefix(start)), "name": name})
                if line.startswith(start)
                else line
                for line in choices
            ]
        return log, choices


class Rules:
    """The rules of one format."""

    file_forms = FORMS
    # Said here: a battle takes a simulator, which not every machine has.
    sides: tuple[Side, ...] = ()

    def __init__(self, spec: GameSpec, command: Sequence[str]) -> None:
        """command: starts the driver; nothing is started before a battle begins."""
        self._spec, self._command = spec, command
        self._driver: Driver | None = None
        self._starting = threading.Lock()

    @property
    def spec(self) -> GameSpec:
        """What is fixed about the game."""
        return self._spec

    @property
    def parameters(self) -> Mapping[str, Value]:
        """No format has any."""
        return {}

    def configured(self, parameters: Mapping[str, object]) -> "Rules":
        """Return the same rules. Raises ParameterError for any parameter."""
        read_parameters(self._spec.id, (), parameters)
        return self

    def start(self, game_seed: int, *, opening_plies: int) -> State:
        """Return a new battle.

        Raises ParameterError for an opening, UnsupportedGameError where it cannot be played here.
        """
        if opening_plies != 0:
            rule = f"must be 0, as teams and dice differ by seed, got {opening_plies}"
            raise ParameterError(self._spec.id, "opening_plies", rule)
        # Threads that show battles at the same time share one.
        with self._starting:
            if self._driver is None or not self._driver.is_running:
                self._driver = Driver(self._spec.id, self._command)
            driver = self._driver
        return Battle(self._spec, driver, game_seed)

    def picture(self, state: State, seat: int | None) -> Picture:
        """Draw both teams as a seat sees them, None: as they are."""
        assert isinstance(state, Battle)
        return draw_battle(state.shown["views"][0 if seat is None else seat + 1])
