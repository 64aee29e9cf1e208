"""What every game must keep to: each check takes a game and fails where it does not."""

from collections.abc import Callable, Iterator
from random import Random
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from arena.errors import IllegalActionError, ParameterError
from arena.games.base import OVER, Game, State, ranks, replay
from arena.games.pictures import Grid, Picture, check_picture
from arena.ratings.base import MIN_SEATS

SEEDS = (1, 2, 3)
MANY_SEEDS = range(30)
LEAST_WORDS, LONGEST_NAME, N_LOOKED_AT = 3, 40, 8
NO_ACTIONS: tuple[object, ...] = (-1, 10**6, True, 0.0, 0.5, "", None, float("nan"))

Seen = tuple[int, tuple[int, ...], tuple[int, ...], list[bool], list[NDArray[np.generic]]]


def choose(state: State, rng: Random) -> int:
    legal = state.legal_actions()
    return legal[int(rng.random() * len(legal))]


def steps(game: Game, seed: int, *, opening_plies: int = 0) -> Iterator[State]:
    """Yield the states of a random playthrough, the last one over, or fail if it does not end."""
    state, rng = game.start(seed, opening_plies=opening_plies), Random(seed)
    for _ in range(game.spec.max_steps):
        yield state
        if state.to_move() == OVER:
            return
        state.apply(choose(state, rng))
    assert state.to_move() == OVER, f"not over after max_steps = {game.spec.max_steps}"
    yield state


def finished(game: Game, seed: int, *, opening_plies: int = 0) -> State:
    for last in steps(game, seed, opening_plies=opening_plies):
        state = last
    return state


def seen(game: Game, state: State) -> Seen:
    """Return all that a state shows, to compare it with another."""
    seats = range(game.spec.n_seats)
    return (
        state.to_move(),
        tuple(state.actions),
        tuple(state.legal_actions()),
        state.legal_mask().tolist(),
        [state.observation(seat) for seat in seats],
    )


def assert_same(one: Seen, other: Seen, what: str) -> None:
    assert one[:-1] == other[:-1], what
    assert all(map(np.array_equal, one[-1], other[-1])), f"{what}: observations"


def declares_what_it_is(game: Game) -> None:
    spec = game.spec
    assert spec.title
    assert min(spec.n_actions, spec.max_steps, spec.rules_version) >= 1
    assert spec.n_seats >= MIN_SEATS, "a rating compares two seats or more"
    assert all(type(n) is int and n > 0 for n in spec.observation_shape)
    assert np.dtype(spec.observation_dtype).name == spec.observation_dtype
    assert spec.opening_plies == 0 if spec.has_chance else spec.opening_plies >= 0


def ends_with_valid_returns(game: Game) -> None:
    moved = set()
    for seed in SEEDS:
        for state in steps(game, seed):
            moved.add(state.to_move())
        assert len(state.actions) <= game.spec.max_steps
        found = ranks(state.returns(), game.spec.n_seats, game.spec.teams)
        assert min(found) == 0
    assert moved == {*range(game.spec.n_seats), OVER}, "a seat that never moves"


def masks_match_the_legal_actions(game: Game) -> None:
    for state in (state for seed in SEEDS for state in steps(game, seed)):
        legal, mask = state.legal_actions(), state.legal_mask()
        assert bool(legal) == (state.to_move() != OVER), "legal actions exactly until it is over"
        assert all(type(action) is int for action in legal)
        assert list(legal) == sorted(set(legal)), "ascending"
        assert mask.dtype.name == "bool"
        assert mask.shape == (game.spec.n_actions,)
        assert np.flatnonzero(mask).tolist() == list(legal)


def observes_in_the_declared_form(game: Game) -> None:
    for state in (state for seed in SEEDS for state in steps(game, seed)):
        for seat in range(game.spec.n_seats):
            first = state.observation(seat)
            assert first.shape == game.spec.observation_shape
            assert first.dtype.name == game.spec.observation_dtype
            assert np.isfinite(first.astype(np.float64)).all()
            kept = first.copy()
            first.fill(-7)
            assert np.array_equal(state.observation(seat), kept), "a new array each time"
            assert (first == -7).all(), "a new array each time"


def replays_from_seed_and_actions(game: Game) -> None:
    for seed in SEEDS:
        plies = game.spec.opening_plies
        played = finished(game, seed, opening_plies=plies)
        for again in (game, game.configured(game.parameters)):
            state = replay(again, seed, played.actions, opening_plies=plies)
            assert list(state.opening) == list(played.opening)
            assert_same(seen(game, state), seen(game, played), "replay differs")
            assert list(state.returns()) == list(played.returns()), "replay differs: returns"


def is_not_changed_by_looking(game: Game) -> None:
    for seed in SEEDS:
        quiet, looked_at = finished(game, seed), game.start(seed, opening_plies=0)
        for action in quiet.actions:
            before = seen(game, looked_at)
            looked_at.returns()
            play_out_a_copy(looked_at, seed)
            assert_same(before, seen(game, looked_at), "looking changes the state")
            looked_at.apply(action)
        assert_same(seen(game, quiet), seen(game, looked_at), "looking changes what follows")
        assert list(quiet.returns()) == list(looked_at.returns())


def play_out_a_copy(state: State, seed: int) -> None:
    """Look ahead by a step, and through chance by a wrong guess, as a search policy would."""
    if native := getattr(state, "native", None):
        copy = native.child(state.legal_actions()[-1])
        while copy.is_chance_node():
            copy = copy.child(copy.chance_outcomes()[seed % len(copy.chance_outcomes())][0])


def refuses_illegal_actions_unchanged(game: Game) -> None:
    for seed in SEEDS:
        length = len(finished(game, seed).actions)
        for state in steps(game, seed):
            if len(state.actions) in (0, length // 2, length):
                assert_refuses_unchanged(game, state)


def assert_refuses_unchanged(game: Game, state: State) -> None:
    before = seen(game, state)
    illegal = np.flatnonzero(~state.legal_mask()).tolist()[:5]
    for action in (*illegal, game.spec.n_actions, *NO_ACTIONS):
        with pytest.raises(IllegalActionError):
            state.apply(cast(int, action))
        assert_same(before, seen(game, state), f"a refused {action!r} changes the state")


def opens_by_the_seed_alone(game: Game) -> None:
    plies = game.spec.opening_plies
    openings = set()
    for seed in MANY_SEEDS:
        state, again = (game.start(seed, opening_plies=plies) for _ in range(2))
        assert list(state.opening) == list(again.opening), "both seat orders share the opening"
        assert len(state.opening) == plies
        assert list(state.actions) == [], "the opening is no part of the actions"
        assert state.to_move() != OVER, "the opening must not end the game"
        openings.add(tuple(state.opening))
    assert len(openings) > 1 or not plies, "every seed has the same opening"


def starts_without_an_opening(game: Game) -> None:
    starts = [game.start(seed, opening_plies=0) for seed in SEEDS]
    assert all(list(state.opening) == [] for state in starts)
    if not game.spec.has_chance:
        for state in starts:
            assert_same(seen(game, starts[0]), seen(game, state), "without chance starts differ")


def chance_follows_the_seed(game: Game) -> None:
    """Check that the same choices end differently under other seeds exactly if there is chance."""
    ends: set[tuple[float, ...]] = set()
    for seed in MANY_SEEDS:
        state, rng = game.start(seed, opening_plies=0), Random(0)
        shown: list[float] = []
        while state.to_move() != OVER:
            state.apply(choose(state, rng))
            shown += state.observation(0).ravel().tolist()
        ends.add((*shown, *state.returns()))
    assert (len(ends) > 1) == game.spec.has_chance


def refuses_unknown_parameters(game: Game) -> None:
    assert list(game.parameters) == [parameter.name for parameter in game.spec.parameters]
    assert game.configured({}).parameters == {p.name: p.default for p in game.spec.parameters}
    refused: list[dict[str, object]] = [{"no_such_parameter": 1}]
    refused += [{p.name: object()} for p in game.spec.parameters]
    for parameters in refused:
        with pytest.raises(ParameterError) as caught:
            game.configured(parameters)
        assert caught.value.name in parameters, "the message names the parameter"


def refuses_impossible_openings(game: Game) -> None:
    for plies in (-1, game.spec.max_steps + 1, *([1] if game.spec.has_chance else [])):
        with pytest.raises(ParameterError, match="'opening_plies'"):
            game.start(1, opening_plies=plies)


def describes_every_position_in_words(game: Game) -> None:
    for state, seats in shown_states(game):
        for seat in seats:
            words = state.describe(seat)
            assert words.endswith("."), "sentences"
            assert "\n" not in words, "no board of letters"
            assert "_" not in words, "words of people, not of an engine"
            assert len(words.split()) >= LEAST_WORDS
            assert words == state.describe(seat), "the same position, the same words"


def names_every_action(game: Game) -> None:
    for state, _ in shown_states(game):
        for action in state.legal_actions():
            name = state.action_name(action)
            assert 0 < len(name) <= LONGEST_NAME
            assert name == " ".join(name.split()), "one line without spaces around it"
            assert name.strip("0123456789 -"), "never the bare number"


def draws_what_can_be_shown(game: Game) -> None:
    for state, seats in shown_states(game):
        for seat in seats:
            drawn = draw(game, state, seat)
            assert drawn == draw(game, state, seat), "the same position, the same picture"
            if drawn is not None:
                picture = check_picture(drawn.draw_cells() if isinstance(drawn, Grid) else drawn)
                assert len(picture.sides) in (0, game.spec.n_seats)


def draw(game: Game, state: State, seat: int | None) -> Grid | Picture | None:
    """Return what a game draws; it need not draw itself."""
    own: Callable[[State, int | None], Grid | Picture | None] | None
    own = getattr(game, "picture", None)
    return own(state, seat) if own else None


def tells_a_seat_no_more_than_it_sees(game: Game) -> None:
    """Check that what a seat is told is one thing wherever it has seen and done the same."""
    told: dict[object, object] = {}
    seats = range(game.spec.n_seats) if game.spec.has_hidden_information else ()
    for seed in MANY_SEEDS if seats else ():
        sights: dict[int, tuple[object, ...]] = {seat: (seat,) for seat in seats}
        mover = OVER
        for state in steps(game, seed):
            before, mover = mover, state.to_move()
            # Cards may lie open once it is over.
            for seat in seats if mover != OVER else ():
                own = state.actions[-1:] if before == seat else ()
                sights[seat] += (mover, *own, state.observation(seat).tobytes())
                words = state.describe(seat), draw(game, state, seat)
                assert told.setdefault(sights[seat], words) == words, "what the seat cannot see"


def shown_states(game: Game) -> Iterator[tuple[State, list[int | None]]]:
    """Yield positions of some playthroughs with the seats that look at them, None: all."""
    hidden_from = range(game.spec.n_seats) if game.spec.has_hidden_information else ()
    for state in (state for seed in SEEDS for state in steps(game, seed)):
        n = len(state.actions)
        if n < N_LOOKED_AT or n % N_LOOKED_AT == 0 or state.to_move() == OVER:
            yield state, [None, *hidden_from]


CHECKS: tuple[Callable[[Game], None], ...] = (
    declares_what_it_is,
    ends_with_valid_returns,
    masks_match_the_legal_actions,
    observes_in_the_declared_form,
    replays_from_seed_and_actions,
    is_not_changed_by_looking,
    refuses_illegal_actions_unchanged,
    opens_by_the_seed_alone,
    starts_without_an_opening,
    chance_follows_the_seed,
    refuses_unknown_parameters,
    refuses_impossible_openings,
    describes_every_position_in_words,
    names_every_action,
    draws_what_can_be_shown,
    tells_a_seat_no_more_than_it_sees,
)
