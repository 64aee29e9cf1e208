"""A small game and agents that misbehave where they are told to, for tests of players."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from arena.errors import IllegalActionError, UnknownNameError
from arena.games.base import OVER, Game, GameSpec, State
from arena.parameters import Parameter, Value, read_parameters
from arena.policies.base import Policy, PolicyKind, Row, accepted
from arena.policies.catalog.network import POLICY as NETWORK
from arena.seeding import derive
from workers.order_setup import Catalogs

N_ACTIONS = 10
WHERE = (
    Parameter("what", "nothing", "how it misbehaves"),
    Parameter("every", 1, "in matches whose seed is a multiple of this", 1),
    Parameter("at", 0, "when so many actions have been played", 0),
)


ANSWERS: Mapping[str, object] = {
    "hoard": 0,
    "detach": 0,
    "child": 0,
    "illegal": 7,
    "huge": 10**30,
    "float": 0.0,
    "bool": True,
    "numpy": np.int64(3),
}


def misbehave(what: str) -> object:
    """Do what a name says; return what an agent then answers."""
    if what == "raise":
        raise RuntimeError("out of\nluck")
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "sleep":
        time.sleep(60)
    while what == "spin":
        sum(range(1000))
    if what == "hoard":
        bytearray(512 << 20)
    if what == "detach":
        detach()
    if what == "child":
        subprocess.Popen(left_behind(os.getppid()), start_new_session=True)
    return ANSWERS[what]


def left_behind(parent: int) -> list[str]:
    """Return the command of what an agent starts in a player of this parent."""
    return ["sleep", f"97.{parent}"]


def detach() -> None:
    """Leave a process behind as a daemon does: with a session of its own and no parent."""
    command = left_behind(os.getppid())
    middle = os.fork()
    if middle:
        os.waitpid(middle, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.execvp(command[0], command)


class SumState:
    """Seats add digits in turn; 7 is never legal."""

    def __init__(self, game: "SumGame", game_seed: int, opening_plies: int) -> None:
        self.game, self.game_seed = game, game_seed
        self.opening: Sequence[int] = tuple(range(opening_plies))
        self.actions: list[int] = []

    def to_move(self) -> int:
        n_played = len(self.actions)
        is_over = n_played >= cast(int, self.game.parameters["steps"])
        return OVER if is_over else n_played % self.game.spec.n_seats

    def legal_actions(self) -> Sequence[int]:
        return [] if self.to_move() == OVER else [a for a in range(N_ACTIONS) if a != 7]

    def legal_mask(self) -> NDArray[np.bool_]:
        return np.isin(np.arange(N_ACTIONS), self.legal_actions())

    def observation(self, seat: int) -> NDArray[np.generic]:
        return np.array([seat, sum(self.actions)], dtype=np.float32)

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise IllegalActionError(f"{action} is not legal")
        time.sleep(cast(float, self.game.parameters["step_s"]))
        self._strike()
        self.actions.append(action)

    def returns(self) -> Sequence[float]:
        if self.game.parameters["what"] == "returns":
            return [True, False]
        score = derive("sum", self.game_seed, *self.actions) % 3 - 1.0
        return [score, -score]

    def describe(self, seat: int | None = None) -> str:
        del seat
        return f"The sum is {sum(self.actions)}."

    def action_name(self, action: int) -> str:
        return f"add {action}"

    def _strike(self) -> None:
        parameters = self.game.parameters
        if parameters["what"] in ("nothing", "returns") or self.game_seed % cast(
            int, parameters["every"]
        ):
            return
        if len(self.actions) == parameters["at"]:
            misbehave(cast(str, parameters["what"]))


class SumGame:
    """The rules."""

    PARAMETERS = (
        *WHERE,
        Parameter("steps", 6, "actions until it is over", 1),
        Parameter("max_steps", 100, "what it declares", 1),
        Parameter("step_s", 0.0, "sleep per step", 0),
    )

    def __init__(self, parameters: Mapping[str, object] | None = None) -> None:
        self.parameters: Mapping[str, Value] = read_parameters(
            "sum", self.PARAMETERS, parameters or {}
        )

    @property
    def spec(self) -> GameSpec:
        return GameSpec(
            id="sum",
            title="Sum",
            n_seats=2,
            n_actions=N_ACTIONS,
            observation_shape=(2,),
            observation_dtype="float32",
            has_chance=False,
            has_hidden_information=False,
            opening_plies=0,
            max_steps=cast(int, self.parameters["max_steps"]),
            parameters=self.PARAMETERS,
        )

    def configured(self, parameters: Mapping[str, object]) -> "SumGame":
        return SumGame(parameters)

    def start(self, game_seed: int, *, opening_plies: int) -> State:
        return cast(State, SumState(self, game_seed, opening_plies))


class FakePolicy:
    """Answers by the row's seed, and misbehaves where it is told to."""

    def __init__(self, what: str, every: int, at: int) -> None:
        self.what, self.every, self.at = what, every, at

    def act(self, rows: Sequence[Row]) -> list[int]:
        answers = [cast(int, self._answer(row)) for row in rows]
        return answers * 2 if self.what == "double" else answers

    def _answer(self, row: Row) -> object:
        is_struck = row.game_seed % self.every == 0 and len(row.state.actions) == self.at
        if is_struck and self.what not in ("nothing", "double"):
            return misbehave(self.what)
        return row.seed() % 7


class FakeKind:
    """Builds fake policies."""

    title = "Fake"
    parameters = WHERE

    def __init__(self, id: str, *, is_batched: bool) -> None:
        self.id, self.is_batched = id, is_batched

    def refusal(self, spec: GameSpec) -> str | None:
        return None

    def build(self, game: Game, parameters: Mapping[str, object]) -> Policy:
        values = accepted(cast(PolicyKind, self), game, parameters)
        if str(values["what"]).endswith(" in build"):
            misbehave(str(values["what"]).removesuffix(" in build"))
        return FakePolicy(
            cast(str, values["what"]), cast(int, values["every"]), cast(int, values["at"])
        )


GAMES: Mapping[str, Game] = {"sum": cast(Game, SumGame())}
POLICIES: Mapping[str, PolicyKind] = {
    "fake": cast(PolicyKind, FakeKind("fake", is_batched=False)),
    "fake_batched": cast(PolicyKind, FakeKind("fake_batched", is_batched=True)),
    "network": NETWORK,
}


def _finder(family: str, matches: Mapping[str, object]) -> Callable[[str], object]:
    def find(name: str) -> object:
        if name not in matches:
            raise UnknownNameError(family, name, matches)
        return matches[name]

    return find


CATALOGS = Catalogs(
    game=cast(Callable[[str], Game], _finder("game", GAMES)),
    policy=cast(Callable[[str], PolicyKind], _finder("policy", POLICIES)),
    game_version=lambda _: "1",
    policy_version=lambda _: "1",
)
