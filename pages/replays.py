"""Replays: the positions of a match, played again from its seed, its opening and its moves.

What was recorded came from a play node: what does not fit the rules ends the replay in words.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from arena.errors import ArenaError
from arena.games import registry as games
from arena.games.base import OVER, Game, State
from arena.parameters import parse_number
from pages.drawings import Board, draw_position

# Moves that are played again for a page, so that none takes long; the API has all of them.
MAX_STEPS = 2_000


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
    def last_step(self) -> int:
        """Return the number of the last step that can be shown."""
        return len(self.frames) - 1

    def draw_board(self, step: int) -> Board | None:
        """Return the position after so many moves to be drawn, None where it is shown as text."""
        before = self.frames[step - 1].text if step else None
        return draw_position(self.game, self.frames[step].text, before)


def replay_match(recorded: Recorded) -> Replay:
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
    opening = []
    # The opening is known as actions only: they get their names by playing them from the start.
    start = game.start(recorded.game_seed, opening_plies=0)
    for action in state.opening:
        opening.append(Move(0, start.to_move(), _name_action(start, action)))
        start.apply(action)
    replay = empty._replace(opening=opening, frames=[_show_position(game, state)])
    return replay._replace(problem=_play_moves(game, state, recorded.actions, replay))


def _play_moves(game: Game, state: State, actions: str, replay: Replay) -> str:
    """Play the moves into the replay; return what kept the rest of them from being played."""
    texts = actions.split()
    for number, text in enumerate(texts[:MAX_STEPS], 1):
        if (action := parse_number(text)) is None:
            return f"move {number} is no number: {text[:20]!r}"
        # Named before it is made: the engine names actions by the position that they are made in.
        move = Move(number, state.to_move(), _name_action(state, action))
        try:
            state.apply(action)
        except ArenaError as error:
            return f"move {number} does not fit the rules: {error}"
        replay.moves.append(move)
        replay.frames.append(_show_position(game, state))
    left = len(texts) - MAX_STEPS
    return f"{left:,} more moves are not shown: the API has them" if left > 0 else ""


def _name_action(state: State, action: int) -> str:
    """Return what the engine calls an action; its number where it has no name for it."""
    native: Any = getattr(state, "native", None)
    seat = state.to_move()
    # A report may hold any number, and engines name legal actions only.
    if native is None or seat == OVER or action not in state.legal_actions():
        return str(action)
    return str(native.action_to_string(seat, action))


def _show_position(game: Game, state: State) -> Frame:
    """Return a position as text, and what each seat sees in games that hide something from it."""
    native: Any = getattr(state, "native", None)
    if native is None:
        moves = ", ".join(map(str, state.actions)) or "none"
        has_text = type(state).__str__ is not object.__str__
        return Frame(str(state) if has_text else f"moves so far: {moves}", [], state.to_move())
    views: list[str] = []
    if game.spec.has_hidden_information:
        kind, seats = native.get_game().get_type(), range(game.spec.n_seats)
        # The information state also holds what the seat saw before; not every game offers it.
        if kind.provides_information_state_string:
            views = [native.information_state_string(seat) for seat in seats]
        elif kind.provides_observation_string:
            views = [native.observation_string(seat) for seat in seats]
    return Frame(str(native).rstrip(), views, state.to_move())
