"""Replays: the positions of a match, played again from its seed, its opening and its moves.

What was recorded came from a play node: what does not fit the rules ends the replay in words.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from arena.errors import ArenaError, UnsupportedGameError
from arena.games import registry as games
from arena.games.base import OVER, Game, State
from arena.games.pictures import Grid, Side, check_picture
from arena.games.served import can_replay
from arena.parameters import parse_number
from matches.store.formats import hide_folders
from pages import drawings

log = logging.getLogger(__name__)

MAX_STEPS = 2_000
"""Moves that are played again for a page, so that none takes long; the API has all of them."""

MAX_ERROR, MAX_NAME, MAX_WORDS = 200, 200, 4_000
"""Characters of what a plug-in says: its error, the name of an action, a position."""


class RecordedMatch(NamedTuple):
    """What a match is replayed from; actions as they are stored, separated by spaces.

    opening_plies: None for the game's own number. rules_version: as it was played, None: not known.
    """

    game: str
    parameters: Mapping[str, object]
    opening_plies: int | None
    game_seed: int
    actions: str
    rules_version: int | None = None


class Move(NamedTuple):
    """One move: its number, who made it, what it is and how it is called; number 0: the opening."""

    number: int
    seat: int
    name: str
    action: int


class View(NamedTuple):
    """A position as somebody sees it: in words, and drawn where its game draws itself.

    events: what has happened since the move before, of games that tell it.
    """

    words: str
    box: str
    shapes: list[str]
    events: list[str] = []


class Frame(NamedTuple):
    """A position as it is, and after that as each seat sees it where something is hidden."""

    to_move: int
    views: list[View]


class Replay(NamedTuple):
    """The moves of a match, the positions that were asked for, and why there are not more.

    last_step: the last step there is. sides: what each seat plays, empty if the same.
    """

    game: str
    opening: list[Move]
    moves: list[Move]
    frames: dict[int, Frame]
    problem: str
    last_step: int = -1
    sides: tuple[Side, ...] = ()
    returns: tuple[float, ...] = ()
    parameters: Mapping[str, object] = {}
    last_state: State | None = None
    has_events: bool = False


def replay_match(recorded: RecordedMatch, *, steps: Collection[int] | None = None) -> Replay:
    """Return the replay with the positions at these steps, None: at all of them.

    Where nothing can be shown it has no last step and says why. The position at the last step is
    always there.
    """
    replay = _try_again(recorded, steps)
    # For every reader: who operates sees on the page of the game where its program should lie.
    return replay._replace(problem=hide_folders(replay.problem))


def _try_again(recorded: RecordedMatch, steps: Collection[int] | None) -> Replay:
    empty = Replay(recorded.game, [], [], {}, "")
    if recorded.game not in games.names():
        return empty._replace(problem=f"the game {recorded.game} is not installed here")
    try:
        return _play_again(recorded, empty, steps)
    except UnsupportedGameError as error:
        return empty._replace(problem=f"{error}; the moves were: {_list_actions(recorded)}")
    except ArenaError as error:
        return empty._replace(problem=str(error))
    # Whatever else the code of a plug-in raises: the page of its match still stands.
    except Exception as error:
        log.exception("a match of %s cannot be played again", recorded.game)
        error_text = f"{type(error).__name__}: {error}"[:MAX_ERROR]
        return empty._replace(
            problem=f"the plug-in of the game {recorded.game} failed: {error_text}"
        )


def _play_again(recorded: RecordedMatch, empty: Replay, steps: Collection[int] | None) -> Replay:
    game = games.get(recorded.game).configured(recorded.parameters)
    if not can_replay(game):
        why = "this game cannot be played again from its seed and moves, which were"
        return empty._replace(problem=f"{why}: {_list_actions(recorded)}")
    plies = recorded.opening_plies
    plies = game.spec.opening_plies if plies is None else plies
    state = game.start(recorded.game_seed, opening_plies=plies)
    teller = Teller(recorded.game)
    frame_maker = FrameMaker(game, steps, teller)
    frame_maker.add_frame(state)
    moves, problem = _play_moves(state, recorded.actions, frame_maker)
    return empty._replace(
        opening=_name_opening(game, recorded.game_seed, state.opening, teller),
        moves=moves,
        problem=problem or teller.problem or frame_maker.problem or _tell_version(recorded, game),
        frames=frame_maker.frames | {len(moves): frame_maker.make_last(state)},
        last_step=len(moves),
        sides=frame_maker.sides,
        parameters=game.parameters,
        returns=tuple(state.returns()) if state.to_move() == OVER else (),
        last_state=state,
        has_events=hasattr(state, "tell_events"),
    )


def _list_actions(recorded: RecordedMatch) -> str:
    return recorded.actions.replace(" ", ", ")[:MAX_WORDS] or "none"


def _tell_version(recorded: RecordedMatch, game: Game) -> str:
    own_version = game.spec.rules_version
    if recorded.rules_version in (None, own_version):
        return ""
    return (
        f"it was played by version {recorded.rules_version} of the rules, which have version "
        f"{own_version} here, so that it may have gone otherwise than is shown"
    )


class Teller:
    """Asks a game for its words. Whatever the code of a plug-in raises is said once, by its name.

    Its actions are then shown as they are, and its positions by the number of their moves.
    """

    def __init__(self, game: str) -> None:
        self._game = game
        self.problem = ""

    def name_action(self, state: State, action: int) -> str:
        """Return what players call an action; plug-ins of before it was asked for have no name."""
        try:
            if action in state.legal_actions() and hasattr(state, "action_name"):
                return str(state.action_name(action))[:MAX_NAME]
        except Exception as error:
            self._note("action_name", error)
        return f"action {action}"

    def describe_state(self, state: State, seat: int | None) -> str:
        """Return a position in words, also of a plug-in of before it was asked for them."""
        try:
            if hasattr(state, "describe"):
                return str(state.describe(seat))[:MAX_WORDS]
        except Exception as error:
            self._note("describe", error)
        return f"{len(state.actions)} moves were made."

    def tell_events(self, state: State, seat: int | None) -> list[str]:
        """Return what has happened since the last action, of a game that tells it."""
        try:
            if hasattr(state, "tell_events"):
                return [str(event)[:MAX_NAME] for event in state.tell_events(seat)]
        except Exception as error:
            self._note("tell_events", error)
        return []

    def _note(self, method: str, error: Exception) -> None:
        if not self.problem:
            error_text = f"{type(error).__name__}: {error}"[:MAX_ERROR]
            self.problem = (
                f"the plug-in of the game {self._game} failed in {method}(): {error_text}"
            )


class FrameMaker:
    """Makes the frames of a game as it is played, each with what is new since the one before."""

    def __init__(self, game: Game, steps: Collection[int] | None, teller: Teller) -> None:
        self.teller = teller
        self._draw = getattr(game, "picture", None)
        hidden_from = range(game.spec.n_seats) if game.spec.has_hidden_information else ()
        self._seats: list[int | None] = [None, *hidden_from]
        self._steps = steps
        self._before: dict[int | None, Grid] = {}
        self._step = -1
        self.frames: dict[int, Frame] = {}
        self.sides: tuple[Side, ...] = ()
        self.problem = ""

    def add_frame(self, state: State) -> None:
        """Make the frame of the next step, if it was asked for."""
        self._step += 1
        if self._steps is None or self._step in self._steps:
            self.frames[self._step] = self._make_frame(state)

    def make_last(self, state: State) -> Frame:
        """Return the frame after all moves."""
        return self.frames.get(self._step) or self._make_frame(state)

    def _make_frame(self, state: State) -> Frame:
        views = []
        for seat in self._seats:
            box, shapes = self._draw_view(state, seat)
            words, events = (
                self.teller.describe_state(state, seat),
                self.teller.tell_events(state, seat),
            )
            views.append(View(words, box, shapes, events))
        return Frame(state.to_move(), views)

    def _draw_view(self, state: State, seat: int | None) -> tuple[str, list[str]]:
        """Return box and elements of what the game draws; what cannot be shown is said once."""
        try:
            drawn = self._draw(state, seat) if self._draw else None
            if isinstance(drawn, Grid):
                before, self._before[seat] = self._before.get(seat), drawn
                drawn = drawn.draw_cells(before)
            if drawn is None:
                return "", []
            picture = check_picture(drawn)
            shapes = [drawings.draw_shape(shape) for shape in picture.shapes]
        # Whatever the code of a plug-in raises: its match is still told in words.
        except Exception as error:
            self.problem = f"its game cannot draw it: {error}"
            return "", []
        self.sides = picture.sides
        return drawings.box_of(picture), shapes


def _play_moves(state: State, actions: str, frame_maker: FrameMaker) -> tuple[list[Move], str]:
    """Play the moves; return them and what kept the rest of them from being played."""
    texts = actions.split()
    moves: list[Move] = []
    for number, text in enumerate(texts[:MAX_STEPS], 1):
        if (action := parse_number(text)) is None:
            return moves, f"move {number} is no number: {text[:20]!r}"
        # Named before it is made: games name actions by the position that they are made in.
        move = Move(number, state.to_move(), frame_maker.teller.name_action(state, action), action)
        try:
            state.apply(action)
        except UnsupportedGameError as error:
            return moves, f"move {number} could not be played again, reload the page: {error}"
        except ArenaError as error:
            return moves, f"move {number} does not fit the rules: {error}"
        moves.append(move)
        frame_maker.add_frame(state)
    n_left = len(texts) - MAX_STEPS
    return moves, f"{n_left:,} more moves are not shown: the API has them" if n_left > 0 else ""


def _name_opening(game: Game, game_seed: int, actions: Sequence[int], teller: Teller) -> list[Move]:
    """Return the opening, named by playing it from the start."""
    state = game.start(game_seed, opening_plies=0)
    moves = []
    for action in actions:
        moves.append(Move(0, state.to_move(), teller.name_action(state, action), action))
        state.apply(action)
    return moves
