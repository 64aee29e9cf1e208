"""Every pairing of the catalog passes every check; a broken one fails the check of its mistake."""

from collections.abc import Callable
from itertools import count

import pytest

from arena.conformance import pairings as checks
from arena.conformance.base import ConformanceError
from arena.pairing import registry
from arena.pairing.base import Field, Pairing
from arena.pairing.catalog.random import PAIRING
from tests.catalogs import assert_named, each, each_check

Lineups = list[tuple[int, ...]]
Pair = Callable[[Field, int, int], Lineups]


@each_check(checks.CHECKS)
@each(registry.names())
def test_the_pairing_keeps_to(name: str, check: Callable[[Pairing], None]) -> None:
    check(registry.get(name))


@each(registry.names())
def test_the_id_is_the_name_of_the_file(name: str) -> None:
    assert_named(registry.get(name), name)


class Broken:
    """Random lineups with something done to them."""

    id = title = "broken"

    def __init__(self, pair: Pair) -> None:
        self._pair = pair

    def pair(self, field: Field, n_blocks: int, *, seed: int) -> Lineups:
        return self._pair(field, n_blocks, seed)


_seeds = count()


def _right(field: Field, n_blocks: int, seed: int) -> Lineups:
    return PAIRING.pair(field, n_blocks, seed=seed)


def _plays_itself(field: Field, n_blocks: int, seed: int) -> Lineups:
    return [lineup[:1] * field.n_seats for lineup in _right(field, n_blocks, seed)]


def _plays_no_rest(field: Field, n_blocks: int, seed: int) -> Lineups:
    return _right(field, n_blocks - n_blocks % 2, seed)


def _draws_anew(field: Field, n_blocks: int, seed: int) -> Lineups:
    return _right(field, n_blocks, next(_seeds))


def _ignores_the_seed(field: Field, n_blocks: int, seed: int) -> Lineups:
    return _right(field, n_blocks, 0)


def _prefers_the_first(field: Field, n_blocks: int, seed: int) -> Lineups:
    return [tuple(range(field.n_seats))] * n_blocks


def _keeps_two_camps(field: Field, n_blocks: int, seed: int) -> Lineups:
    half = _right(Field(max(2, field.n_seats), field.n_seats), n_blocks, seed)
    return [
        tuple(agent + (i % 2) * field.n_seats for agent in lineup) for i, lineup in enumerate(half)
    ]


def _accepts_anything(field: Field, n_blocks: int, seed: int) -> Lineups:
    return _right(field, max(n_blocks, 0), seed)


@pytest.mark.parametrize(
    ("pair", "check"),
    [
        (_plays_itself, checks.lineups_have_distinct_agents_of_the_field),
        (_plays_no_rest, checks.there_are_as_many_blocks_as_asked_for),
        (_draws_anew, checks.the_same_seed_gives_the_same_lineups),
        (_ignores_the_seed, checks.another_seed_gives_other_lineups),
        (_prefers_the_first, checks.every_agent_plays_its_share),
        (_keeps_two_camps, checks.all_agents_are_compared_with_each_other),
    ],
)
def test_a_broken_pairing_fails(pair: Pair, check: Callable[[Pairing], None]) -> None:
    check(Broken(_right))
    with pytest.raises(ConformanceError):
        check(Broken(pair))


def test_a_pairing_that_accepts_anything_fails() -> None:
    with pytest.raises(ConformanceError):
        checks.a_negative_number_of_blocks_is_refused(Broken(_accepts_anything))
