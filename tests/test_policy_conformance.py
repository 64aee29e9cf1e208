"""Every policy kind passes every check on every game; a broken one fails where it is broken."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from arena.conformance import policies as policy_checks
from arena.conformance.base import run_check
from arena.conformance.policies import CHECKS
from arena.games import registry as games
from arena.games.base import Game, GameSpec
from arena.parameters import Parameter
from arena.policies import registry as policies
from arena.policies.base import Policy, PolicyKind, Row
from tests.catalogs import each, each_check

Check = Callable[[PolicyKind, Game], None]


@each_check(CHECKS)
@pytest.mark.parametrize("game", games.names())
@each(policies.names())
def test_the_policy_keeps_to(name: str, game: str, check: Check) -> None:
    check(policies.get(name), games.get(game))


@each(policies.names())
def test_the_id_is_the_name_of_the_file(name: str) -> None:
    assert policies.get(name).id == name


@each(policies.names())
def test_it_plays_at_least_one_game(name: str) -> None:
    specs = [games.get(game).spec for game in games.names()]
    assert any(policies.get(name).refusal(spec) is None for spec in specs)


class BrokenKind:
    """Right in all that a subclass does not break."""

    id = "broken"
    title = "Broken"
    is_batched = True
    parameters: tuple[Parameter, ...] = (Parameter("size", 1, "nothing", 0, 9),)

    def refusal(self, spec: GameSpec) -> str | None:
        return None

    def build(self, game: Game, parameters: Mapping[str, object]) -> Policy:
        return self

    def act(self, rows: Sequence[Row]) -> Sequence[int]:
        return [row.pick(row.state.legal_actions()) for row in rows]


class Untitled(BrokenKind):
    title = ""


class DefaultOutOfRange(BrokenKind):
    parameters = (Parameter("size", 10, "nothing", 0, 9),)


class BuildsWhatItRefuses(BrokenKind):
    def refusal(self, spec: GameSpec) -> str | None:
        return "no"


class PlaysTheFirstSquare(BrokenKind):
    def act(self, rows: Sequence[Row]) -> Sequence[int]:
        return [0 for _ in rows]


class PlaysFloats(BrokenKind):
    def act(self, rows: Sequence[Row]) -> Sequence[int]:
        return [float(row.pick(row.state.legal_actions())) for row in rows]  # type: ignore[misc]


class DropsARow(BrokenKind):
    def act(self, rows: Sequence[Row]) -> Sequence[int]:
        return list(super().act(rows))[:-1]


class PlaysItself(BrokenKind):
    def act(self, rows: Sequence[Row]) -> Sequence[int]:
        actions = super().act(rows)
        for row, action in zip(rows, actions, strict=True):
            row.state.apply(action)
        return actions


class MindsTheBlock(BrokenKind):
    def act(self, rows: Sequence[Row]) -> Sequence[int]:
        legal = [row.state.legal_actions() for row in rows]
        return [some[len(rows) % len(some)] for some in legal]


class MindsTheOrder(BrokenKind):
    def act(self, rows: Sequence[Row]) -> Sequence[int]:
        legal = [row.state.legal_actions() for row in rows]
        return [some[place % len(some)] for place, some in enumerate(legal)]


class Remembers(BrokenKind):
    n_answers = 0

    def act(self, rows: Sequence[Row]) -> Sequence[int]:
        self.n_answers += 1
        legal = [row.state.legal_actions() for row in rows]
        return [some[self.n_answers % len(some)] for some in legal]


class LooksAtTheClass(BrokenKind):
    def act(self, rows: Sequence[Row]) -> Sequence[int]:
        places = [0 if type(row.state).__name__ == "OpenSpielState" else -1 for row in rows]
        legal = [row.state.legal_actions() for row in rows]
        return [some[place] for some, place in zip(legal, places, strict=True)]


class ValuesNoRow(BrokenKind):
    last_values = (0.5,)


class ValuesInWholeNumbers(BrokenKind):
    def act(self, rows: Sequence[Row]) -> Sequence[int]:
        self.last_values = [1 for _ in rows]
        return super().act(rows)


BROKEN: tuple[tuple[Check, PolicyKind], ...] = (
    (policy_checks.says_what_it_is, Untitled()),
    (policy_checks.says_what_it_is, DefaultOutOfRange()),
    (policy_checks.refuses_with_its_reason, BuildsWhatItRefuses()),
    (policy_checks.refuses_unknown_parameters, BrokenKind()),
    (policy_checks.plays_legal_actions, PlaysTheFirstSquare()),
    (policy_checks.plays_legal_actions, PlaysFloats()),
    (policy_checks.plays_legal_actions, DropsARow()),
    (policy_checks.leaves_the_states_alone, PlaysItself()),
    (policy_checks.answers_each_row_on_its_own, MindsTheBlock()),
    (policy_checks.answers_each_row_on_its_own, MindsTheOrder()),
    (policy_checks.plays_a_match_again, Remembers()),
    (policy_checks.cannot_tell_a_struck_state, LooksAtTheClass()),
    (policy_checks.says_values_of_its_rows_or_none, ValuesNoRow()),
    (policy_checks.says_values_of_its_rows_or_none, ValuesInWholeNumbers()),
)


@pytest.mark.parametrize(("check", "kind"), BROKEN)
def test_the_check_finds_the_broken_policy(check: Check, kind: PolicyKind) -> None:
    assert run_check(check, kind, games.get("tic_tac_toe"))


def test_every_check_has_a_policy_that_fails_it() -> None:
    assert {check for check, _ in BROKEN} == set(CHECKS)
