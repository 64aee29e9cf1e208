"""What every game must say and may draw of itself, for people who look at a replay."""

from collections.abc import Callable, Iterator

from arena.conformance.base import require
from arena.conformance.playthroughs import MANY_SEEDS, SEEDS, play_steps
from arena.games.base import OVER, Game, State
from arena.games.pictures import Grid, Picture, Side, check_picture, list_sides

LEAST_WORDS, LONGEST_NAME, N_LOOKED_AT = 3, 40, 8


def describes_every_position_in_words(game: Game) -> None:
    """Check that describe() says a position in sentences, the same each time."""
    for state, seats in shown_states(game):
        for seat in seats:
            words = state.describe(seat)
            actual = f"is {words!r:.80}"
            require(
                words.endswith("."), f"describe() must be sentences that end with '.', {actual}"
            )
            require(
                "\n" not in words, f"describe() must be one line, no board of letters, {actual}"
            )
            require("_" not in words, f"describe() must be words of people, no engine's, {actual}")
            require(len(words.split()) >= LEAST_WORDS, f"describe() must be a sentence, {actual}")
            require(words == state.describe(seat), "describe() must say the same twice")


def names_every_action(game: Game) -> None:
    """Check that action_name() says what players call an action."""
    for state, _ in shown_states(game):
        for action in state.legal_actions():
            name = state.action_name(action)
            change = f"action_name({action}) is {name!r:.60}: it must be"
            require(0 < len(name) <= LONGEST_NAME, f"{change} of 1 to {LONGEST_NAME} characters")
            require(name == " ".join(name.split()), f"{change} one line without spaces around it")
            require(name.strip("0123456789 -"), f"{change} a name, not the bare number")


def draws_what_can_be_shown(game: Game) -> None:
    """Check that picture(), where there is one, draws the same each time, and nothing unsafe."""
    for state, seats in shown_states(game):
        for seat in seats:
            drawn = draw_state(game, state, seat)
            is_same = drawn == draw_state(game, state, seat)
            require(is_same, "picture() must draw the same position alike")
            if drawn is not None:
                picture = check_picture(drawn.draw_cells() if isinstance(drawn, Grid) else drawn)
                n_sides = len(picture.sides)
                is_sound = n_sides in (0, game.spec.n_seats)
                require(is_sound, f"a picture must have no sides or one a seat, has {n_sides}")


def names_none_or_all_of_its_sides(game: Game) -> None:
    """Check that what the seats play, by `sides` or the first picture, can be told by their names.

    Results from elsewhere are seated by it, such as those of White and Black.
    """
    sides = list_sides(game)
    is_named = all(isinstance(side, Side) and isinstance(side.name, str) for side in sides)
    require(is_named, f"sides must be Sides with names, are {sides!r:.80}")
    is_whole = len(sides) in (0, game.spec.n_seats)
    require(is_whole, f"there must be no sides or one a seat, are {len(sides)}")


def draw_state(game: Game, state: State, seat: int | None) -> Grid | Picture | None:
    """Return what a game draws; it need not draw itself."""
    own: Callable[[State, int | None], Grid | Picture | None] | None
    own = getattr(game, "picture", None)
    return own(state, seat) if own else None


def tells_a_seat_no_more_than_it_sees(game: Game) -> None:
    """Check that what a seat is told is one thing wherever it has seen and done the same."""
    words_by_sight: dict[object, object] = {}
    seats = range(game.spec.n_seats) if game.spec.has_hidden_information else ()
    for seed in MANY_SEEDS if seats else ():
        sights: dict[int, tuple[object, ...]] = {seat: (seat,) for seat in seats}
        mover = OVER
        for state in play_steps(game, seed):
            before, mover = mover, state.to_move()
            # Cards may lie open once it is over.
            for seat in seats if mover != OVER else ():
                own = state.actions[-1:] if before == seat else ()
                sights[seat] += (mover, *own, state.observation(seat).tobytes())
                words = state.describe(seat), draw_state(game, state, seat)
                is_same = words_by_sight.setdefault(sights[seat], words) == words
                require(is_same, f"describe() or picture() tells seat {seat} what it cannot see")


def shown_states(game: Game) -> Iterator[tuple[State, list[int | None]]]:
    """Yield positions of some playthroughs with the seats that look at them, None: all."""
    hidden_from = range(game.spec.n_seats) if game.spec.has_hidden_information else ()
    for state in (state for seed in SEEDS for state in play_steps(game, seed)):
        n = len(state.actions)
        if n < N_LOOKED_AT or n % N_LOOKED_AT == 0 or state.to_move() == OVER:
            yield state, [None, *hidden_from]


LOOKS: tuple[Callable[[Game], None], ...] = (
    describes_every_position_in_words,
    names_every_action,
    draws_what_can_be_shown,
    names_none_or_all_of_its_sides,
    tells_a_seat_no_more_than_it_sees,
)
