"""What every game offers: the Game and State protocols, and the checks that results must pass."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from arena import teams as sides
from arena.errors import InvalidReturnsError, UnsupportedGameError
from arena.games.observations import Parts, check_parts
from arena.machine import SPOT
from arena.needs import CPU, refuse_capability
from arena.parameters import Parameter, Value
from arena.teams import NO_TEAMS, Teams

# What State.to_move returns once the episode has ended.
OVER = -1
# Where a game is played that is no Python object: by a child process of its player, or by game
# servers that control names in the order.
CHILD, SERVER = "child", "server"
_WORD = re.compile(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*")


@dataclass(frozen=True)
class GameSpec:
    """What is fixed about a game: its seats, actions, observation tensor and kind."""

    id: str
    title: str
    n_seats: int
    n_actions: int
    observation_shape: tuple[int, ...]
    observation_dtype: str
    has_chance: bool
    has_hidden_information: bool
    # Seeded random plies before the first decision, by default; 0 for a game with chance.
    opening_plies: int
    # More steps than this in one episode are a fault of the game.
    max_steps: int
    # Of a shipped game: counted up when the rules change. A plug-in goes by its file's hash.
    rules_version: int = 1
    parameters: tuple[Parameter, ...] = ()
    is_zero_sum: bool = False
    # Whose states its states hold; search policies need OpenSpiel's.
    engine: str = ""
    # The team of each seat, from 0; empty: each for itself. Team mates share their returns.
    teams: Teams = NO_TEAMS
    # What lies along the first axis of an observation; and whose view it is, and the other axes.
    observation_parts: Parts = ()
    observation_note: str = ""
    # Whether game seed and actions give the same episode again. Where they do not, a match that is
    # interrupted starts again, none is known before it is played, and pages show its moves alone.
    is_replayable: bool = True
    # Least and most return of a seat, where that is known: tests that look on while episodes come
    # in need it. And how far two scores of one-seat episodes may lie apart that count as equal.
    score_range: tuple[float, float] | None = None
    score_margin: float = 0.0
    # What a node must have to play it (arena.needs): cpu, torch, or a name of one's own.
    capability: str = CPU
    # Empty: its states are objects of the player. Else CHILD or SERVER (arena.games.served).
    served: str = ""
    # Of one seat alone: the name of the suite whose games, its tasks, have a page together.
    suite: str = ""

    def __post_init__(self) -> None:
        """Refuse teams that are not alike, undrawable openings, odd scores, capabilities, suites.

        Raises UnsupportedGameError.
        """
        sides.check_teams(self.id, self.teams, self.n_seats)
        check_parts(self.id, self.observation_parts, self.observation_shape)
        if self.opening_plies and not self.is_replayable:
            raise UnsupportedGameError(
                f"{self.id}: opening_plies must be 0 where is_replayable is False, "
                f"is {self.opening_plies}"
            )
        refusal = refuse_capability(self.capability)
        if self.capability == SPOT:
            # A node drops it where its operator gives it: no match would ever be sent.
            refusal = "what a node has, and spot is a label of its machine"
        if refusal:
            raise UnsupportedGameError(
                f"{self.id}: capability is {self.capability!r:.80}: must be {refusal}"
            )
        low, high = self.score_range or (0.0, 1.0)
        if not (isfinite(low) and isfinite(high) and low < high):
            raise UnsupportedGameError(
                f"{self.id}: score_range must be two finite floats, the lower first, "
                f"is {self.score_range!r}"
            )
        if not (isfinite(self.score_margin) and self.score_margin >= 0):
            raise UnsupportedGameError(
                f"{self.id}: score_margin must be 0 or more, is {self.score_margin!r}"
            )
        if self.suite and not (self.is_scored and _WORD.fullmatch(self.suite)):
            raise UnsupportedGameError(
                f"{self.id}: suite must be a word of letters, digits and hyphens, of a game of one "
                f"seat: is {self.suite!r:.80}, of a game of {self.n_seats}"
            )

    @property
    def is_scored(self) -> bool:
        """Whether nobody plays against anybody: episodes on equal seeds are compared by score."""
        return self.n_seats == 1

    @property
    def team_size(self) -> int:
        """The seats of a team; 1 where each plays for itself."""
        return sides.team_size(self.teams)

    @property
    def n_sides(self) -> int:
        """How many sides are ranked: teams, or seats where each plays for itself."""
        return sides.n_teams(self.teams, self.n_seats)

    @property
    def has_draws(self) -> bool:
        """Whether a shared rank means a draw: of three or more sides the losers may share one."""
        return self.n_sides <= 2  # noqa: PLR2004 - two sides

    @property
    def n_opposed(self) -> int:
        """How many pairs of seats play against each other in a match."""
        return sides.n_opposed(self.teams, self.n_seats)


class State(Protocol):
    """One episode in progress. Chance is resolved inside, from the game seed.

    It may also have `tell_events(seat)`: what has happened since the last action, a list of
    sentences, and `write_file(form, players)`, for a game with `file_forms`.
    """

    @property
    def opening(self) -> Sequence[int]:
        """The seeded random actions that were applied before the first decision."""
        ...

    @property
    def actions(self) -> Sequence[int]:
        """The actions applied so far, without the opening: with the game seed they replay it."""
        ...

    def to_move(self) -> int:
        """Return the seat that decides next, or OVER."""
        ...

    def legal_actions(self) -> Sequence[int]:
        """Return the legal actions of the seat to move, ascending; empty when over."""
        ...

    def legal_mask(self) -> NDArray[np.bool_]:
        """Return bool [A], True where legal for the seat to move."""
        ...

    def observation(self, seat: int) -> NDArray[np.generic]:
        """Return what the seat sees: a new array of the declared shape and dtype."""
        ...

    def apply(self, action: int) -> None:
        """Play one action of the seat to move. Raises IllegalActionError and changes nothing."""
        ...

    def returns(self) -> Sequence[float]:
        """Return one finite float per seat; only meaningful when over."""
        ...

    def describe(self, seat: int | None = None) -> str:
        """Return the position in plain words: all of it, or only what one seat knows."""
        ...

    def action_name(self, action: int) -> str:
        """Return what players call a legal action, never its bare number."""
        ...


class Game(Protocol):
    """The rules of one game under fixed parameters.

    It may also have `picture(state, seat)`, which draws a position as a Grid or a Picture of
    arena.games.pictures: with all that is hidden for seat None, else as that seat sees it. And
    `sides`: what each seat plays, as pictures have it, for a game that costs much to start. And
    `file_forms`: the names of files that a state writes of its episode, such as those of viewers.
    """

    @property
    def spec(self) -> GameSpec:
        """What is fixed about the game."""
        ...

    def configured(self, parameters: Mapping[str, object]) -> "Game":
        """Return the same game under other parameters. Raises ParameterError."""
        ...

    @property
    def parameters(self) -> Mapping[str, Value]:
        """The parameters in force, defaults included."""
        ...

    def start(self, game_seed: int, *, opening_plies: int) -> State:
        """Return a new episode; all chance and the opening follow from the game seed."""
        ...


def ranks(returns: object, n_seats: int, teams: Teams = NO_TEAMS) -> list[int]:
    """Return a rank per seat, 0 the best, equal returns sharing the better rank.

    Raises InvalidReturnsError unless returns is a list or tuple of n_seats finite floats (ints
    and bools are refused: a result that only looks like one must not be counted), those of team
    mates equal.
    """
    if not isinstance(returns, (list, tuple)):
        raise InvalidReturnsError(f"returns must be a list or tuple of floats, got {returns!r}")
    # type() and not isinstance(): a bool is an int, and numpy's float64 a float, to Python.
    is_sound = all(type(value) is float and isfinite(value) for value in returns)
    if len(returns) != n_seats or not is_sound:
        raise InvalidReturnsError(f"returns must be {n_seats} finite floats, got {returns!r}")
    for team, shared in enumerate(sides.group_by_team(teams, returns)) if teams else ():
        if len(set(shared)) > 1:
            raise InvalidReturnsError(
                f"team mates must have equal returns, those of team {team} have {shared}"
            )
    ordered = sorted(returns, reverse=True)
    # The first place of a value: those with equal returns share the better rank.
    return [ordered.index(value) for value in returns]


def forfeit_ranks(guilty: int, n_seats: int, teams: Teams = NO_TEAMS) -> list[int]:
    """Return the ranks when one seat forfeits: its team is last, the others share first place."""
    # A seat falls with its team, or mates would be rated apart for one result.
    n_last = sides.team_size(teams)
    return [
        n_seats - n_last if seat == guilty or sides.are_mates(teams, guilty, seat) else 0
        for seat in range(n_seats)
    ]


def replay(game: Game, game_seed: int, actions: Sequence[int], *, opening_plies: int) -> State:
    """Return the state after the actions. Raises IllegalActionError where they do not fit."""
    state = game.start(game_seed, opening_plies=opening_plies)
    for action in actions:
        state.apply(action)
    return state
