"""Parameters: types, ranges, texts and the names that may be given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import ParameterError
from arena.parameters import HIGHEST_KEY, Parameter, Value, parse_number, read_parameters

DEPTH = Parameter("depth", 2, "plies", 1, 12)
SPEED = Parameter("speed", 1.5, "free")
IS_LOUD = Parameter("is_loud", False, "a switch")
COLOUR = Parameter("colour", "red", "a word")
DECLARED = (DEPTH, SPEED, IS_LOUD, COLOUR)


def test_everything_has_its_default_in_the_declared_order() -> None:
    read = read_parameters("toy", DECLARED, {})
    assert list(read.items()) == [
        ("depth", 2),
        ("speed", 1.5),
        ("is_loud", False),
        ("colour", "red"),
    ]


@pytest.mark.parametrize(
    ("parameter", "raw", "value"),
    [
        (DEPTH, 12, 12),
        (DEPTH, "7", 7),
        (SPEED, 3, 3.0),
        (SPEED, "-2.5e3", -2500.0),
        (SPEED, 0.25, 0.25),
        (IS_LOUD, True, True),
        (IS_LOUD, "true", True),
        (IS_LOUD, "False", False),
        (COLOUR, "blue", "blue"),
    ],
)
def test_a_value_or_its_text_is_read(parameter: Parameter, raw: object, value: Value) -> None:
    read = parameter.read_value("toy", raw)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("parameter", "raw", "refusal"),
    [
        (DEPTH, 0, "must be 1..12, got 0"),
        (DEPTH, 13, "must be 1..12, got 13"),
        (DEPTH, 2.0, "must be int, got 2.0"),
        (DEPTH, True, "must be int, got True"),
        (DEPTH, "2.0", "must be int, got '2.0'"),
        (DEPTH, None, "must be int, got None"),
        pytest.param(DEPTH, 10**5000, "must be 1..12, got an int of 16610 bits", id="huge"),
        (SPEED, "fast", "must be float, got 'fast'"),
        (SPEED, True, "must be float, got True"),
        (SPEED, float("nan"), "must be -inf..inf, got nan"),
        (SPEED, "inf", "must be -inf..inf, got inf"),
        pytest.param(SPEED, 10**400, "must be float, got an int of 1329 bits", id="huge float"),
        (IS_LOUD, 1, "must be bool, got 1"),
        (IS_LOUD, "yes", "must be bool, got 'yes'"),
        (COLOUR, 1, "must be str, got 1"),
        (COLOUR, ["x" * 1000], "must be str, got ['xxx"),
    ],
)
def test_anything_else_is_refused_by_name(parameter: Parameter, raw: object, refusal: str) -> None:
    with pytest.raises(ParameterError) as caught:
        parameter.read_value("toy", raw)
    assert str(caught.value).startswith(f"toy: parameter {parameter.name!r} {refusal}")
    assert (caught.value.owner, caught.value.name) == ("toy", parameter.name)
    assert len(str(caught.value)) < 200


def test_a_large_bound_is_shown_in_full() -> None:
    with pytest.raises(ParameterError, match=r"must be 1\.\.1000000, got 0"):
        Parameter("n", 5, "many", 1, 1_000_000).read_value("toy", 0)


def test_a_one_sided_range_holds_on_its_side() -> None:
    only_low = Parameter("n", 5, "many", minimum=3)
    assert only_low.read_value("toy", 10**30) == 10**30
    with pytest.raises(ParameterError, match=r"3\.\.inf"):
        only_low.read_value("toy", 2)


@pytest.mark.parametrize(("declared", "choices"), [(DECLARED, "depth, speed"), ((), "none")])
def test_an_unknown_name_is_refused_with_the_choices(
    declared: tuple[Parameter, ...], choices: str
) -> None:
    with pytest.raises(ParameterError, match=f"'size' is unknown: toy takes {choices}"):
        read_parameters("toy", declared, {"size": 1})


@given(st.integers(1, 12), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_the_text_of_a_value_is_read_as_the_value(depth: int, speed: float, is_loud: bool) -> None:
    values = {"depth": depth, "speed": speed, "is_loud": is_loud}
    texts = {name: str(value) for name, value in values.items()}
    declared = (DEPTH, SPEED, IS_LOUD)
    assert read_parameters("toy", declared, texts) == values
    assert read_parameters("toy", declared, values) == values


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_whatever_is_given_is_read_or_refused(raw: object) -> None:
    for parameter in DECLARED:
        try:
            read = parameter.read_value("toy", raw)
        except ParameterError:
            continue
        assert type(read) is type(parameter.default)


@given(st.integers(0, HIGHEST_KEY))
def test_a_whole_number_is_read_back(number: int) -> None:
    assert parse_number(str(number)) == number


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", " 7", "1_000", "1.0", "x", "\u0663", "\u00b2", "9" * 19, "9" * 5_000]
)
def test_any_other_text_is_no_whole_number(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize(("text", "number"), [("0", None), ("1", 1), ("09", 9), ("10", None)])
def test_a_number_out_of_range_is_none(text: str, number: int | None) -> None:
    assert parse_number(text, lowest=1, highest=9) == number
