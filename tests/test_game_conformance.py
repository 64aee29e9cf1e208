"""Every game of the catalog passes every check; a broken game fails the check of its mistake."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from arena.conformance import game_looks
from arena.conformance import games as game_checks
from arena.conformance.base import run_check
from arena.conformance.games import CHECKS
from arena.games import registry
from arena.games.base import OVER, Game, GameSpec, State
from arena.games.pictures import Circle, Picture, Side
from tests.catalogs import each_check, each_game

Check = Callable[[Game], None]


@each_check(CHECKS)
@each_game(registry.names())
def test_the_game_keeps_to(name: str, check: Check) -> None:
    check(registry.get(name))


@each_game(registry.names())
def test_the_id_is_the_name_of_the_file(name: str) -> None:
    assert registry.get(name).spec.id == name


@each_game(registry.names())
def test_every_game_of_the_catalog_is_drawn(name: str) -> None:
    game = registry.get(name)
    assert game_looks.draw_state(game, game.start(1, opening_plies=0), None) is not None


def test_the_checks_are_all_listed() -> None:
    modules = (game_checks, game_looks)
    public = {
        name for module in modules for name, value in vars(module).items() if _is_check(value)
    }
    assert public == {check.__name__ for check in CHECKS}


def _is_check(value: object) -> bool:
    annotations = {"game": Game, "return": None}
    return getattr(value, "__annotations__", None) == annotations


class BrokenState:
    """A state that is right in all that a subclass does not break."""

    def __init__(self, state: State) -> None:
        self._state = state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)


class BrokenGame:
    """Tic-tac-toe with one mistake: another declaration, another state or another method."""

    state: type[BrokenState] = BrokenState
    declared: Mapping[str, object] = {}

    def __init__(self) -> None:
        self._game = registry.get("tic_tac_toe")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)

    @property
    def spec(self) -> GameSpec:
        return GameSpec(**{**vars(self._game.spec), **self.declared})

    def configured(self, parameters: Mapping[str, object]) -> "BrokenGame":
        self._game.configured(parameters)
        return type(self)()

    def start(self, game_seed: int, *, opening_plies: int) -> State:
        return cast(State, self.state(self._game.start(game_seed, opening_plies=opening_plies)))


def with_state(broken: type[BrokenState]) -> Game:
    return cast(Game, type("Game", (BrokenGame,), {"state": broken})())


def with_spec(**declared: object) -> Game:
    return cast(Game, type("Game", (BrokenGame,), {"declared": declared})())


def shifted(state: State, seat: int, shift: int) -> NDArray[np.generic]:
    observation: NDArray[np.generic] = np.add(state.observation(seat), shift, dtype=np.float32)
    return observation


class IntReturns(BrokenState):
    def returns(self) -> list[int]:
        return [int(value) for value in self._state.returns()]


class MaskOfTheOthers(BrokenState):
    def legal_mask(self) -> NDArray[np.bool_]:
        return ~self._state.legal_mask()


class Unsorted(BrokenState):
    def legal_actions(self) -> Sequence[int]:
        return self._state.legal_actions()[::-1]


class DoubleObservation(BrokenState):
    def observation(self, seat: int) -> NDArray[np.generic]:
        return self._state.observation(seat).astype(np.float64)


class SharedObservation(BrokenState):
    def observation(self, seat: int) -> NDArray[np.generic]:
        self._kept: list[NDArray[np.generic]]
        if "_kept" not in vars(self):
            self._kept = [self._state.observation(0), self._state.observation(1)]
        return self._kept[seat]


class OneBuffer(BrokenState):
    """Fill the same array anew each time: right until somebody keeps two."""

    def observation(self, seat: int) -> NDArray[np.generic]:
        observation = self._state.observation(seat)
        buffer: NDArray[np.generic] = vars(self).setdefault("_buffer", observation)
        buffer[:] = observation
        return buffer


class TakesAnything(BrokenState):
    def apply(self, action: int) -> None:
        legal = self._state.legal_actions()
        if action in legal or legal:
            self._state.apply(action if action in legal else legal[0])


class RefusesTooLate(BrokenState):
    n_refused = 0

    def apply(self, action: int) -> None:
        if action not in self._state.legal_actions():
            self.n_refused += 1
        self._state.apply(action)

    def observation(self, seat: int) -> NDArray[np.generic]:
        return shifted(self._state, seat, self.n_refused)


class CountsLooks(BrokenState):
    n_looks = 0

    def observation(self, seat: int) -> NDArray[np.generic]:
        self.n_looks += 1
        return shifted(self._state, seat, self.n_looks)


class Unrepeatable(BrokenState):
    n_made = 0

    def __init__(self, state: State) -> None:
        super().__init__(state)
        Unrepeatable.n_made += 1
        self._shift = Unrepeatable.n_made

    def observation(self, seat: int) -> NDArray[np.generic]:
        return shifted(self._state, seat, self._shift)


class EndsAtOnce(BrokenState):
    def to_move(self) -> int:
        return OVER


class OpeningAmongActions(BrokenState):
    @property
    def actions(self) -> Sequence[int]:
        return [*self._state.opening, *self._state.actions]


class EngineDump(BrokenState):
    def describe(self, seat: int | None = None) -> str:
        del seat
        return str(self._state.native)  # type: ignore[attr-defined]


class NumbersForNames(BrokenState):
    def action_name(self, action: int) -> str:
        return str(action)


class TellsAll(BrokenState):
    """Tell a seat what the state of another episode is, which it cannot see."""

    n_made = 0

    def __init__(self, state: State) -> None:
        super().__init__(state)
        TellsAll.n_made += 1
        self._card = TellsAll.n_made

    def describe(self, seat: int | None = None) -> str:
        return f"{self._state.describe(seat)} The other card is {self._card}."


class DrawsMarkup(BrokenGame):
    def picture(self, state: State, seat: int | None = None) -> Picture:
        del state, seat
        return Picture(10, 10, (Circle(5, 5, 5, '"/><script>'),))


class NamesOneSide(BrokenGame):
    sides = (Side("x", "blue"),)


class NamesSidesPlainly(BrokenGame):
    sides = ("x", "o")


class HiddenTellsAll(BrokenGame):
    state = TellsAll
    declared = {"has_hidden_information": True}


class AnyParameters(BrokenGame):
    def configured(self, parameters: Mapping[str, object]) -> BrokenGame:
        return self


class OneOpening(BrokenGame):
    def start(self, game_seed: int, *, opening_plies: int) -> State:
        return super().start(1, opening_plies=opening_plies)


class AlwaysOpens(BrokenGame):
    def start(self, game_seed: int, *, opening_plies: int) -> State:
        return super().start(game_seed, opening_plies=max(opening_plies, 1))


class AnyOpening(BrokenGame):
    def start(self, game_seed: int, *, opening_plies: int) -> State:
        return super().start(game_seed, opening_plies=min(max(opening_plies, 0), 2))


BROKEN: tuple[tuple[Check, Game], ...] = (
    (game_checks.declares_what_it_is, with_spec(title="")),
    (game_checks.declares_what_it_is, with_spec(has_chance=True)),
    (game_checks.declares_what_it_is, with_spec(observation_dtype="single")),
    (game_checks.ends_with_valid_returns, with_spec(max_steps=4)),
    (game_checks.ends_with_valid_returns, with_spec(n_seats=3)),
    (game_checks.ends_with_valid_returns, with_state(IntReturns)),
    (game_checks.ends_with_valid_returns, with_spec(score_range=(-0.5, 0.5))),
    (game_checks.masks_match_the_legal_actions, with_state(MaskOfTheOthers)),
    (game_checks.masks_match_the_legal_actions, with_state(Unsorted)),
    (game_checks.observes_in_the_declared_form, with_state(DoubleObservation)),
    (game_checks.observes_in_the_declared_form, with_state(SharedObservation)),
    (game_checks.observes_in_the_declared_form, with_state(OneBuffer)),
    (game_checks.observes_in_the_declared_form, with_spec(observation_shape=(27,))),
    (game_checks.replays_from_seed_and_actions, with_state(Unrepeatable)),
    (game_checks.is_not_changed_by_looking, with_state(CountsLooks)),
    (game_checks.refuses_illegal_actions_unchanged, with_state(TakesAnything)),
    (game_checks.refuses_illegal_actions_unchanged, with_state(RefusesTooLate)),
    (game_checks.opens_by_the_seed_alone, with_state(EndsAtOnce)),
    (game_checks.opens_by_the_seed_alone, with_state(OpeningAmongActions)),
    (game_checks.opens_by_the_seed_alone, cast(Game, OneOpening())),
    (game_checks.starts_without_an_opening, cast(Game, AlwaysOpens())),
    (game_checks.chance_follows_the_seed, with_spec(has_chance=True)),
    (game_checks.chance_follows_the_seed, with_state(Unrepeatable)),
    (game_checks.refuses_unknown_parameters, cast(Game, AnyParameters())),
    (game_checks.refuses_impossible_openings, cast(Game, AnyOpening())),
    (game_looks.describes_every_position_in_words, with_state(EngineDump)),
    (game_looks.names_every_action, with_state(NumbersForNames)),
    (game_looks.draws_what_can_be_shown, cast(Game, DrawsMarkup())),
    (game_looks.names_none_or_all_of_its_sides, cast(Game, NamesOneSide())),
    (game_looks.names_none_or_all_of_its_sides, cast(Game, NamesSidesPlainly())),
    (game_looks.tells_a_seat_no_more_than_it_sees, cast(Game, HiddenTellsAll())),
)


@pytest.mark.parametrize(("check", "game"), BROKEN)
def test_the_check_finds_the_broken_game(check: Check, game: Game) -> None:
    assert run_check(check, game)


def test_every_check_has_a_game_that_fails_it() -> None:
    assert {check for check, _ in BROKEN} == set(CHECKS)


@each_check(CHECKS)
def test_the_wrapper_alone_breaks_nothing(check: Check) -> None:
    check(with_state(BrokenState))
