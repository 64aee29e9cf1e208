"""Flags of the options of a plan."""

from argparse import ArgumentParser, Namespace
from typing import Any

import pytest

from evalsite_client.cli.flags import PLANS, add_plan_flags, flags_from_plan, plan_from_flags
from evalsite_client.plan_option import Option


def _parse_words(words: str, plan: str = "tournament", **options: Any) -> Namespace:
    add_plan_flags(parser := ArgumentParser(allow_abbrev=False), plan, **options)
    return parser.parse_args(words.split())


def test_what_was_not_given_is_left_to_the_server() -> None:
    options = _parse_words("--name final -n 40")
    assert plan_from_flags(options) == {"name": "final", "n_matches": 40}


def test_a_flag_of_what_is_so_by_default_takes_it_away() -> None:
    plan_values = plan_from_flags(_parse_words("--name a -n 2 --unrated --replay"))
    assert (plan_values["is_rated"], plan_values["replays"]) == (False, True)


def test_names_and_values_are_an_object_and_hours_are_seconds() -> None:
    words = "--max-matches 9 -p k=2 -p a=x --max-core-hours 2"
    values = plan_from_flags(_parse_words(words, "campaign"), "campaign")
    assert values == {"max_matches": 9, "parameters": {"k": 2, "a": "x"}, "max_core_s": 7_200.0}


def test_what_is_given_in_hours_is_not_explained_in_seconds() -> None:
    add_plan_flags(parser := ArgumentParser(), "campaign")
    explained = parser.format_help().rpartition("--max-core-hours MAX_CORE_HOURS")[2]
    text = " ".join(explained.split("  --")[0].split())
    assert text == "the most core time it may use; empty: no limit"


def test_help_shows_names_and_values_as_a_command_line_takes_them() -> None:
    add_plan_flags(parser := ArgumentParser(), "campaign")
    text = " ".join(parser.format_help().split())
    assert "what the question needs, such as k=3; agents by name" in text
    assert "of the pairing, such as best_of=5" in text


OTHER: dict[str, Any] = {
    "text": "an other",
    "whole": 3,
    "real": 0.75,
    "pairs": {"best_of": 5, "name": "a b", "deep": {"x": [1]}, "is": True, "text": "5"},
    "json": {"a": [1, None]},
}


def test_a_whole_number_is_written_to_its_last_digit() -> None:
    assert flags_from_plan({"seed": 2**63 - 1}) == ["--seed", "9223372036854775807"]


WRITTEN = [
    (plan, option) for plan in ("tournament", "campaign", "schedule") for option in PLANS[plan]
]


@pytest.mark.parametrize(
    ("plan", "option"), [pytest.param(*one, id=f"{one[0]}-{one[1].name}") for one in WRITTEN]
)
def test_every_option_of_a_plan_is_written_as_it_is_read(plan: str, option: Option) -> None:
    value = not option.default if option.kind == "truth" else OTHER[option.kind]
    value = (
        option.fixed[-1] if option.fixed else value * option.scale if option.scale > 1 else value
    )
    required = {one.name: OTHER[one.kind] for one in PLANS[plan] if one.is_required}
    values = {one.name: one.default for one in PLANS[plan]} | required | {option.name: value}
    words = flags_from_plan(values, plan)
    add_plan_flags(parser := ArgumentParser(allow_abbrev=False), plan)
    plan_values = plan_from_flags(parser.parse_args(words), plan)
    assert plan_values == required | ({option.name: value} if option.flags else {})


def test_a_command_may_have_defaults_and_spellings_of_its_own() -> None:
    options = _parse_words(
        "--num-matches 7",
        leave_out=("name",),
        defaults={"n_matches": 1_000, "pairing": "random"},
        spelled={"n_matches": ("--num-matches",)},
    )
    assert plan_from_flags(options) == {"n_matches": 7, "pairing": "random"}


def test_faults_without_a_rate_are_none() -> None:
    assert plan_from_flags(_parse_words("--hang-s 3", "faults"), "faults") == {}
    assert plan_from_flags(_parse_words("--hang-rate 1", "faults"), "faults") == {"hang_rate": 1.0}


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ("-n 0", "argument -n/--matches: must be 1..100000000, got 0"),
        ("-n x", "argument -n/--matches: must be a whole number, got 'x'"),
        ("--move-s nan", "argument --move-s: must be 0.01..86400, got nan"),
        ("--seed -1", "argument --seed: must be 0 or more, got -1"),
        ("--pairing-parameter x", "must be NAME=VALUE, got 'x'"),
        ("--name a", "the following arguments are required: -n/--matches"),
    ],
)
def test_it_refuses_what_is_out_of_the_limits_of_the_plan(
    words: str, refusal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        _parse_words(words)
    assert ended.value.code == 2
    assert refusal in capsys.readouterr().err


def test_one_margin_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        _parse_words("--max-matches 9 --margin 1 --margin-elo 20", "campaign")
    assert "not allowed with argument --margin" in capsys.readouterr().err
