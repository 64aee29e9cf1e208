"""Seeds and uniform numbers: stable for ever, spread, and different for different purposes."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arena.seeding import SEED_BITS, derive, derive_uniforms

PARTS = st.lists(st.integers() | st.text(st.characters(exclude_characters="\x1f")), max_size=4)


def test_a_seed_never_changes() -> None:
    """Pin the values: another one would make every stored match another game."""
    assert derive("decision", 7, 1, 3) == 6994328562650769453
    assert derive_uniforms(2, "skill_game", 7, 50, 49) == [0.6602486032976214, 0.5174724124768411]


@given(PARTS)
@example(["half a pair: \ud800"])
def test_a_seed_fits_a_signed_64_bit_column(parts: list[str | int]) -> None:
    assert 0 <= derive(*parts) < 2**SEED_BITS
    assert derive(*parts) == derive(*parts)


@given(PARTS, PARTS)
def test_other_parts_give_another_seed(one: list[str | int], other: list[str | int]) -> None:
    assert (derive(*one) == derive(*other)) == (one == other)
    assert (derive_uniforms(2, *one) == derive_uniforms(2, *other)) == (one == other)


def test_a_number_is_not_its_text() -> None:
    assert derive(1) != derive("1")


@given(st.integers(0, 8), PARTS)
def test_uniforms_lie_below_one(n: int, parts: list[str | int]) -> None:
    uniforms = derive_uniforms(n, *parts)
    assert len(uniforms) == n
    assert all(0 <= value < 1 for value in uniforms)


@pytest.mark.parametrize("n", [-1, 9])
def test_no_more_uniforms_than_a_digest_holds(n: int) -> None:
    with pytest.raises(ValueError, match=rf"n must be 0\.\.8, got {n}"):
        derive_uniforms(n, "x")


def test_uniforms_are_spread_evenly_and_independent() -> None:
    pairs = [derive_uniforms(2, "spread", i) for i in range(4000)]
    cells = [0] * 16
    for x, y in pairs:
        cells[int(x * 4) * 4 + int(y * 4)] += 1
    assert all(250 * 0.7 < n < 250 * 1.3 for n in cells)  # 4.8 standard deviations
