"""What the rules of every game must keep to: each check takes a game and raises where it fails."""

from collections.abc import Callable
from time import perf_counter
from typing import cast

import numpy as np

from arena.conformance.base import expect_error, require
from arena.conformance.game_looks import LOOKS
from arena.conformance.playthroughs import (
    MANY_SEEDS,
    SEEDS,
    play_steps,
    play_to_the_end,
    require_same,
    show_state,
)
from arena.errors import IllegalActionError, ParameterError
from arena.games.base import OVER, Game, State, ranks, replay

# What is no action of any game.
NO_ACTIONS: tuple[object, ...] = (-1, 10**6, True, 0.0, 0.5, "", None, float("nan"))
N_REFUSED = 5
# Written into an observation, to see that no other one shares its memory.
SPOILT = -7


def declares_what_it_is(game: Game) -> None:
    """Check that the spec has a title, counts above 0, a shape of ints and a full dtype."""
    spec = game.spec
    require(spec.title, "give the spec a title")
    for name in ("n_seats", "n_actions", "max_steps", "rules_version"):
        count = getattr(spec, name)
        require(count >= 1, f"{name} of the spec must be 1 or more, is {count}")
    is_shape = all(type(n) is int and n > 0 for n in spec.observation_shape)
    require(is_shape, f"observation_shape must be ints above 0, is {spec.observation_shape}")
    dtype = np.dtype(spec.observation_dtype).name
    require(
        dtype == spec.observation_dtype,
        f"observation_dtype must be {dtype!r}, is {spec.observation_dtype!r}",
    )
    plies = spec.opening_plies
    if spec.has_chance or not spec.is_replayable:
        require(plies == 0, f"opening_plies must be 0 with chance, is {plies}")
    else:
        require(
            plies >= 1, "opening_plies must be 1 or more: without chance all games would be one"
        )


def ends_with_valid_returns(game: Game) -> None:
    """Check that episodes end within max_steps with a finite float per seat, and all seats move."""
    moved = set()
    for seed in SEEDS:
        for state in play_steps(game, seed):
            moved.add(state.to_move())
        _check_range(game, state)
        require(
            min(ranks(state.returns(), game.spec.n_seats, game.spec.teams)) == 0,
            "some seat must be first",
        )
    idle = {*range(game.spec.n_seats), OVER} - moved
    require(not idle, f"a seat never moves: {sorted(idle)}")
    strange = moved - {*range(game.spec.n_seats), OVER}
    require(not strange, f"to_move() returns {sorted(strange)}: no seat of the spec, nor OVER")


def _check_range(game: Game, state: State) -> None:
    """Check that returns lie in the declared range, which tests of scores rely on."""
    if game.spec.score_range is not None:
        low, high = game.spec.score_range
        returns = list(state.returns())
        is_within = all(low <= value <= high for value in returns)
        require(is_within, f"returns must lie in score_range {low:g} to {high:g}, are {returns}")


def masks_match_the_legal_actions(game: Game) -> None:
    """Check that legal_actions() is ascending and legal_mask() says the same."""
    for state in (state for seed in SEEDS for state in play_steps(game, seed)):
        legal, mask = state.legal_actions(), state.legal_mask()
        is_over = state.to_move() == OVER
        require(bool(legal) != is_over, "legal_actions() must be empty exactly when it is over")
        require(all(type(action) is int for action in legal), "legal actions must be Python ints")
        require(list(legal) == sorted(set(legal)), "legal_actions() must be ascending")
        require(mask.dtype.name == "bool", f"legal_mask() must be of bool, is {mask.dtype}")
        shape = (game.spec.n_actions,)
        require(mask.shape == shape, f"legal_mask() must have shape {shape}, has {mask.shape}")
        is_same = np.flatnonzero(mask).tolist() == list(legal)
        require(is_same, "legal_mask() must be True exactly at the legal actions")


def observes_in_the_declared_form(game: Game) -> None:
    """Check that an observation is a new, finite array of the declared shape and dtype."""
    spec = game.spec
    for state in (state for seed in SEEDS for state in play_steps(game, seed)):
        for seat in range(spec.n_seats):
            first = state.observation(seat)
            actual = (first.shape, first.dtype.name)
            declared = (spec.observation_shape, spec.observation_dtype)
            require(actual == declared, f"an observation must be {declared}, is {actual}")
            require(np.isfinite(first.astype(np.float64)).all(), "an observation must be finite")
            copied = first.copy()
            first.fill(SPOILT)
            is_fresh = np.array_equal(state.observation(seat), copied)
            is_new = is_fresh and (first == SPOILT).all()
            require(is_new, "observation() must return a new array each time: copy it")


def replays_from_seed_and_actions(game: Game) -> None:
    """Check that the game seed and the actions give the same episode again."""
    for seed in SEEDS:
        plies = game.spec.opening_plies
        played = play_to_the_end(game, seed, opening_plies=plies)
        for configured_game in (game, game.configured(game.parameters)):
            state = replay(configured_game, seed, played.actions, opening_plies=plies)
            change = "a replay differs: draw all chance from the game seed (or is_replayable=False)"
            require(list(state.opening) == list(played.opening), f"{change}: opening")
            require_same(show_state(game, state), show_state(game, played), change)
            require(list(state.returns()) == list(played.returns()), f"{change}: returns")


def is_not_changed_by_looking(game: Game) -> None:
    """Check that no method but apply() changes what a state shows, or what follows."""
    for seed in SEEDS:
        quiet, looked_at = play_to_the_end(game, seed), game.start(seed, opening_plies=0)
        for action in quiet.actions:
            before = show_state(game, looked_at)
            looked_at.returns()
            _look_ahead(looked_at, seed)
            require_same(before, show_state(game, looked_at), "looking changes the state")
            looked_at.apply(action)
        change = "looking changes what follows"
        require_same(show_state(game, quiet), show_state(game, looked_at), change)
        require(list(quiet.returns()) == list(looked_at.returns()), change)


def _look_ahead(state: State, seed: int) -> None:
    """Look ahead by a step, and through chance by a wrong guess, as a search policy would."""
    if native := getattr(state, "native", None):
        copy = native.child(state.legal_actions()[-1])
        while copy.is_chance_node():
            copy = copy.child(copy.chance_outcomes()[seed % len(copy.chance_outcomes())][0])


def refuses_illegal_actions_unchanged(game: Game) -> None:
    """Check that apply() raises IllegalActionError for what is not legal, and changes nothing."""
    for seed in SEEDS:
        length = len(play_to_the_end(game, seed).actions)
        for state in play_steps(game, seed):
            if len(state.actions) in (0, length // 2, length):
                _require_refusals(game, state)


def _require_refusals(game: Game, state: State) -> None:
    before = show_state(game, state)
    illegal = np.flatnonzero(~state.legal_mask()).tolist()[:N_REFUSED]
    for action in (*illegal, game.spec.n_actions, *NO_ACTIONS):
        with expect_error(IllegalActionError, f"apply({action!r}) must raise IllegalActionError"):
            state.apply(cast(int, action))
        change = f"a refused apply({action!r}) must change nothing"
        require_same(before, show_state(game, state), change)


def opens_by_the_seed_alone(game: Game) -> None:
    """Check that an opening follows from the seed, is of opening_plies and ends no game."""
    plies = game.spec.opening_plies
    openings = set()
    for seed in MANY_SEEDS:
        state, second = (game.start(seed, opening_plies=plies) for _ in range(2))
        is_same = list(state.opening) == list(second.opening)
        require(is_same, f"two starts of game seed {seed} must have one opening")
        n_played = len(state.opening)
        require(n_played == plies, f"the opening must be of {plies} actions, is of {n_played}")
        require(list(state.actions) == [], "the opening is no part of the actions")
        require(state.to_move() != OVER, f"the opening of seed {seed} must not end the game")
        openings.add(tuple(state.opening))
    require(len(openings) > 1 or not plies, "every seed has the same opening: draw it by the seed")


def starts_without_an_opening(game: Game) -> None:
    """Check that opening_plies=0 plays nothing, and that without chance starts are alike."""
    starts = [game.start(seed, opening_plies=0) for seed in SEEDS]
    require(all(list(s.opening) == [] for s in starts), "opening_plies=0 must play no opening")
    if not game.spec.has_chance:
        for state in starts:
            change = "starts differ by their seed: declare has_chance"
            require_same(show_state(game, starts[0]), show_state(game, state), change)


def chance_follows_the_seed(game: Game) -> None:
    """Check that the same choices end differently under other seeds exactly if there is chance."""
    ends: set[tuple[float, ...]] = set()
    for seed in MANY_SEEDS:
        numbers: list[float] = []
        for state in play_steps(game, seed, choice_seed=0):
            numbers += state.observation(0).ravel().tolist()
        ends.add((*numbers, *state.returns()))
        if len(ends) > 1:
            break
    has_chance, how = (True, "otherwise") if len(ends) > 1 else (False, "alike")
    is_declared = game.spec.has_chance == has_chance
    require(is_declared, f"has_chance must be {has_chance}: under other seeds it ends {how}")


def refuses_unknown_parameters(game: Game) -> None:
    """Check that configured() knows the declared parameters and refuses others by name."""
    declared = [parameter.name for parameter in game.spec.parameters]
    change = f"parameters must be those that its GameSpec declares: {declared}"
    require(list(game.parameters) == declared, change)
    defaults = {p.name: p.default for p in game.spec.parameters}
    is_default = game.configured({}).parameters == defaults
    require(is_default, f"configured({{}}) must have the defaults {defaults}")
    refused: list[dict[str, object]] = [{"no_such_parameter": 1}]
    refused += [{p.name: object()} for p in game.spec.parameters]
    for parameters in refused:
        (name,) = parameters
        with expect_error(ParameterError, f"configured() must refuse {name!r}", name=name):
            game.configured(parameters)


def refuses_impossible_openings(game: Game) -> None:
    """Check that start() refuses negative and too long openings, and any where there is chance."""
    for plies in (-1, game.spec.max_steps + 1, *([1] if game.spec.has_chance else [])):
        change = f"start() must refuse opening_plies={plies} with a ParameterError"
        with expect_error(ParameterError, change, name="opening_plies"):
            game.start(1, opening_plies=plies)


# What only a game keeps to that can be played again from its seed and actions.
REPLAYED = frozenset((
    replays_from_seed_and_actions,
    is_not_changed_by_looking,
    opens_by_the_seed_alone,
    starts_without_an_opening,
    chance_follows_the_seed,
))  # fmt: skip

# What can be checked of a game that is played elsewhere.
DECLARED: tuple[Callable[[Game], None], ...] = (declares_what_it_is, refuses_unknown_parameters)

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
    *LOOKS,
)


def measure_speed(game: Game, seconds: float = 0.5) -> str:
    """Return how many random steps a second it plays, with an observation each."""
    n_steps, seed, start = 0, 0, perf_counter()
    while perf_counter() - start < seconds:
        for state in play_steps(game, seed):
            if (seat := state.to_move()) != OVER:
                state.observation(seat)
                n_steps += 1
        seed += 1
    return f"{n_steps / (perf_counter() - start):,.0f} random steps a second, with observations"
