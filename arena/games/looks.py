"""How a game of an engine is drawn and told: functions of the engine's state, one set per game."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from arena.games.base import OVER, GameSpec
from arena.games.pictures import Grid, Picture

Draw = Callable[[Any, int | None], Grid | Picture]
Describe = Callable[[Any, int | None], str]
NameAction = Callable[[Any, int, int], str]


@dataclass(frozen=True)
class Look:
    """The words and the drawing of a game.

    draw and describe take the engine's state and a seat, None: all that is hidden, too. name_action
    takes the state, the seat to move and the action. Without describe the pieces of the drawn grid
    are listed; without name_action the engine's own name of an action is taken.
    """

    draw: Draw | None = None
    describe: Describe | None = None
    name_action: NameAction | None = None

    def describe_position(self, native: Any, seat: int | None, to_move: int, spec: GameSpec) -> str:
        """Return whose turn it is or who has won, and then what stands or lies where."""
        picture = self.draw(native, seat) if self.draw else None
        names = [side.name for side in picture.sides] if picture else []
        seats = names or [f"seat {n}" for n in range(spec.n_seats)]
        returns = native.returns() if to_move == OVER else ()
        parts = [tell_turn(to_move, returns, seats)]
        if self.describe:
            parts.append(self.describe(native, seat))
        elif isinstance(picture, Grid):
            parts.append(picture.list_pieces())
        else:
            parts.append(f"{len(native.history())} moves were made, those of chance included.")
        return " ".join(part for part in parts if part)

    def name_legal_action(self, native: Any, to_move: int, action: int) -> str:
        """Return what players call an action."""
        if self.name_action:
            return self.name_action(native, to_move, action)
        name = str(native.action_to_string(to_move, action)).strip()
        if not name.strip("0123456789 -"):
            return f"action {name or action}"
        return name


PLAIN: Final = Look()


def tell_turn(to_move: int, returns: Sequence[float], seats: Sequence[str]) -> str:
    """Return whose turn it is, or how the game ended; seats: what each seat is called."""
    if to_move != OVER:
        return f"{seats[to_move].capitalize()} is to move."
    best = max(returns)
    winners = [name for name, won in zip(seats, returns, strict=True) if won == best]
    if len(winners) == len(seats):
        return "The game is over: a draw."
    verb = "has" if len(winners) == 1 else "have"
    return f"The game is over: {' and '.join(winners)} {verb} won."
