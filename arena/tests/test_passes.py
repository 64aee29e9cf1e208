"""A pass lets in whom it names, until it ends, and nobody who changed a byte of it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arena.passes import PassError, check_pass, make_pass

KEY, NOW = "key", 1_000.0
names = st.text(min_size=1, max_size=30)


@given(subject=names, until=st.integers(1_000, 2**33))
def test_a_pass_lets_its_subject_in(subject: str, until: int) -> None:
    check_pass(KEY, make_pass(KEY, subject, until=until), subject, now=NOW)


@given(subject=names, other=names)
def test_a_pass_for_another_is_refused_with_both_names(subject: str, other: str) -> None:
    if subject != other:
        with pytest.raises(PassError, match="not for"):
            check_pass(KEY, make_pass(KEY, subject, until=2_000), other, now=NOW)


def test_a_pass_that_ended_is_refused() -> None:
    with pytest.raises(PassError, match="ended 1 s ago"):
        check_pass(KEY, make_pass(KEY, "sim", until=999), "sim", now=NOW)


@given(place=st.integers(0, 70), letter=st.characters())
@example(place=0, letter="\ud800")
@example(place=70, letter="\ud800")
def test_a_changed_pass_is_refused(place: int, letter: str) -> None:
    text = make_pass(KEY, "sim-1", until=2_000)
    place = min(place, len(text) - 1)
    changed = text[:place] + letter + text[place + 1 :]
    if changed != text:
        with pytest.raises(PassError):
            check_pass(KEY, changed, "sim-1", now=NOW)


@pytest.mark.parametrize("text", ["", "sim", "sim.x.y", "..", "sim.2000.", "sim.-1.00"])
def test_what_is_no_pass_is_refused(text: str) -> None:
    with pytest.raises(PassError):
        check_pass(KEY, text, "sim", now=NOW)


def test_another_key_makes_other_passes() -> None:
    with pytest.raises(PassError, match="another key"):
        check_pass("other", make_pass(KEY, "sim", until=2_000), "sim", now=NOW)
