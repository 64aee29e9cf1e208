"""Replays: the positions of a match, played again from its seed, its opening and its moves.

What was recorded came from a play node: what does not fit the rules ends the replay in words.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from arena.errors import ArenaError
from arena.games import registry as games
from arena.games.base import OVER, Game, State
from pages import drawings
from pages.drawings import Board

MAX_STEPS = 2_000
"""Moves that are played again for a page, so that none takes long; the API has all of them."""


class Recorded(NamedTuple):
    """What a match is replayed from; actions as they are stored, separated by commas.

    opening_plies: None for the game's own number.
    """

    game: str
    parameters: Mapping[str, object]
    opening_plies: int | None
    game_seed: int
    actions: str


class Move(NamedTuple):
    """One move: its number, who made it, and what it is called; 0 and -1 in the opening."""

    number: int
    seat: int
    name: str


class Frame(NamedTuple):
    """A position: its text, and what each seat saw where that is not the same for all."""

    text: str
    views: list[str]
    to_move: int


class Replay(NamedTuple):
    """The moves of a match, the position after each, and why there are not more."""

    game: str
    opening: list[Move]
    moves: list[Move]
    frames: list[Frame]
    problem: str

    @property
    def last(self) -> int:
        """Return the number of the last step that can be shown."""
        return len(self.frames) - 1

    def board(self, step: int) -> Board | None:
        """Return the position after so many moves to be drawn, None where it is shown as text."""
        before = self.frames[step - 1].text if step else None
        return drawings.board(self.game, self.frames[step].text, before)


def replayed(recorded: Recorded) -> Replay:
    """Return the replay; where nothing can be shown it has no frames and says why."""
    empty = Replay(recorded.game, [], [], [], "")
    if recorded.game not in games.names():
        return empty._replace(problem=f"the game {recorded.game} is not installed here")
    try:
        game = games.get(recorded.game).configured(recorded.parameters)
        plies = recorded.opening_plies
        plies = game.spec.opening_plies if plies is None else plies
        state = game.start(recorded.game_seed, opening_plies=plies)
    except ArenaError as error:
        return empty._replace(problem=str(error))
    opening = _opening(game, recorded.game_seed, state.opening)
    replay = empty._replace(opening=opening, frames=[_frame(game, state)])
    return replay._replace(problem=_play(game, state, recorded.actions, replay))


def _play(game: Game, state: State, actions: str, replay: Replay) -> str:
    """Play the moves into the replay; return what kept the rest of them from being played."""
    texts = actions.split()
    for number, text in enumerate(texts[:MAX_STEPS], 1):
        if not (text.isascii() and text.isdigit()):
            return f"move {number} is no number: {text[:20]!r}"
        seat, name = state.to_move(), _name(state, state.to_move(), int(text))
        try:
            state.apply(int(text))
        except ArenaError as error:
            return f"move {number} does not fit the rules: {error}"
        replay.moves.append(Move(number, seat, name))
        replay.frames.append(_frame(game, state))
    left = len(texts) - MAX_STEPS
    return f"{left:,} more moves are not shown: the API has them" if left > 0 else ""


def _opening(game: Game, game_seed: int, actions: Sequence[int]) -> list[Move]:
    """Return the opening, named by playing it from the start."""
    state = game.start(game_seed, opening_plies=0)
    moves = []
    for action in actions:
        moves.append(Move(0, state.to_move(), _name(state, state.to_move(), action)))
        state.apply(action)
    return moves


def _name(state: State, seat: int, action: int) -> str:
    """Return what the engine calls an action; its number where it has no name for it."""
    native: Any = getattr(state, "native", None)
    if native is None or seat == OVER or action not in state.legal_actions():
        return str(action)
    return str(native.action_to_string(seat, action))


def _frame(game: Game, state: State) -> Frame:
    return Frame(_text(state), _views(game, state), state.to_move())


def _text(state: State) -> str:
    native: Any = getattr(state, "native", None)
    if native is not None:
        return str(native).rstrip()
    if type(state).__str__ is not object.__str__:
        return str(state)
    return f"moves so far: {_joined(state.actions)}"


def _joined(actions: Sequence[int]) -> str:
    return ", ".join(map(str, actions)) or "none"


def _views(game: Game, state: State) -> list[str]:
    """Return what each seat knows, in games that hide something from it."""
    native: Any = getattr(state, "native", None)
    if native is None or not game.spec.has_hidden_information:
        return []
    kind = native.get_game().get_type()
    if kind.provides_information_state_string:
        return [native.information_state_string(seat) for seat in range(game.spec.n_seats)]
    if kind.provides_observation_string:
        return [native.observation_string(seat) for seat in range(game.spec.n_seats)]
    return []
