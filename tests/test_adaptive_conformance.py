"""Every adaptive pairing passes every check; a broken one fails the check of its mistake."""

from collections.abc import Callable
from itertools import count

import numpy as np
import pytest

from arena.conformance import adaptive_pairings as checks
from arena.conformance.base import ConformanceError
from arena.pairing import registry
from arena.pairing.adaptive import Adaptive
from arena.pairing.base import AdaptivePairing, Lineup, Standing
from tests.catalogs import assert_named, each, each_check

RIGHT = registry.get_adaptive("order_information")


@each_check(checks.CHECKS)
@each(registry.adaptive_names())
def test_the_pairing_keeps_to(name: str, check: Callable[[AdaptivePairing], None]) -> None:
    check(registry.get_adaptive(name))


@each(registry.adaptive_names())
def test_the_id_is_the_name_of_the_file(name: str) -> None:
    assert_named(registry.get_adaptive(name), name)


Choose = Callable[[Standing, int, int], list[Lineup]]
_calls = count()


class Broken(Adaptive):
    """Lineups by order information with something done to them."""

    id = title = "broken"

    def __init__(self, choose: Choose) -> None:
        super().__init__()
        self._choose = choose

    def choose(self, standing: Standing, n_blocks: int, *, seed: int) -> list[Lineup]:
        return self._choose(standing, n_blocks, seed)

    def configured(self, parameters: object) -> "Broken":
        return self


def _right(standing: Standing, n_blocks: int, seed: int) -> list[Lineup]:
    return RIGHT.choose(standing, n_blocks, seed=seed)


def _plays_itself(standing: Standing, n_blocks: int, seed: int) -> list[Lineup]:
    right = _right(standing, n_blocks, seed)
    return [lineup[:1] * standing.field.n_seats for lineup in right]


def _one_too_many(standing: Standing, n_blocks: int, seed: int) -> list[Lineup]:
    return _right(standing, n_blocks + 1, seed)


def _one_too_few(standing: Standing, n_blocks: int, seed: int) -> list[Lineup]:
    return _right(standing, n_blocks, seed)[1:]


def _waits_for_results(standing: Standing, n_blocks: int, seed: int) -> list[Lineup]:
    return _right(standing, n_blocks if standing.counts.n_results else 0, seed)


def _draws_anew(standing: Standing, n_blocks: int, seed: int) -> list[Lineup]:
    right = _right(standing, n_blocks, seed)
    return right[::-1] if next(_calls) % 2 else right


def _sorts_in_place(standing: Standing, n_blocks: int, seed: int) -> list[Lineup]:
    standing.mu.sort()
    return _right(standing, n_blocks, seed)


def _forgets_what_is_in_flight(standing: Standing, n_blocks: int, seed: int) -> list[Lineup]:
    order = np.argsort(standing.mu).tolist()
    n_seats = standing.field.n_seats
    return [tuple(order[:n_seats])] * n_blocks


@pytest.mark.parametrize(
    ("choose", "check"),
    [
        (_plays_itself, checks.lineups_have_distinct_agents_of_the_field),
        (_one_too_many, checks.there_are_never_more_blocks_than_asked_for),
        (_one_too_few, checks.there_are_never_more_blocks_than_asked_for),
        (_waits_for_results, checks.it_begins_before_the_first_result),
        (_draws_anew, checks.the_same_seed_gives_the_same_lineups),
        (_sorts_in_place, checks.nothing_is_changed),
        (_forgets_what_is_in_flight, checks.matches_in_flight_are_known),
        (_forgets_what_is_in_flight, checks.every_agent_plays),
    ],
)
def test_a_broken_pairing_fails(choose: Choose, check: Callable[[AdaptivePairing], None]) -> None:
    check(Broken(_right))
    with pytest.raises(ConformanceError):
        check(Broken(choose))


def test_a_pairing_that_takes_any_parameter_fails() -> None:
    with pytest.raises(ConformanceError):
        checks.its_parameters_are_checked(Broken(_right))


def test_a_pairing_that_accepts_anything_fails() -> None:
    def accept(standing: Standing, n_blocks: int, seed: int) -> list[Lineup]:
        return _right(standing, max(n_blocks, 0), seed) if standing.field.n_seats > 1 else []

    for check in (
        checks.a_negative_number_of_blocks_is_refused,
        checks.a_field_without_pairs_is_refused,
    ):
        with pytest.raises(ConformanceError):
            check(Broken(accept))


def test_the_two_kinds_are_told_apart() -> None:
    assert set(registry.names()).isdisjoint(registry.adaptive_names())
