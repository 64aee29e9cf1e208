"""The command-line spelling of policies."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import ArenaError, ParameterError, UnknownNameError
from arena.policies.spec import format_policy, is_spelled, parse_policy, split_policies


@pytest.mark.parametrize(
    ("text", "kind", "parameters"),
    [
        ("random", "random", {}),
        (" greedy ", "greedy", {}),
        ("alphabeta", "alphabeta", {"depth": 2}),
        ("alphabeta:4", "alphabeta", {"depth": 4}),
        ("alphabeta:depth=4", "alphabeta", {"depth": 4}),
        ("mcts:100", "mcts", {"simulations": 100, "exploration": 2.0}),
        ("mcts:50,exploration=1.4", "mcts", {"simulations": 50, "exploration": 1.4}),
        ("mcts: exploration = 1, simulations = 5", "mcts", {"simulations": 5, "exploration": 1.0}),
    ],
)
def test_a_text_names_a_kind_and_its_parameters(
    text: str, kind: str, parameters: dict[str, Any]
) -> None:
    assert parse_policy(text) == (kind, parameters)
    assert is_spelled(text)


def test_other_names_spell_nothing() -> None:
    assert not any(map(is_spelled, ("ppo@1000", "alphabeta:four", "alphabeta 4", "nobody", "")))


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("alphabeta:four", "alphabeta: parameter 'depth' must be int, got 'four'"),
        ("alphabeta:13", r"alphabeta: parameter 'depth' must be 1\.\.12, got 13"),
        ("alphabeta:-1", r"alphabeta: parameter 'depth' must be 1\.\.12, got -1"),
        ("alphabeta:", "alphabeta: parameter 'depth' must be int, got ''"),
        ("alphabeta:4,5", "alphabeta: parameter '5' is no name=value: alphabeta takes depth"),
        ("alphabeta:4,depth=5", "alphabeta: parameter 'depth' is given twice"),
        ("alphabeta:size=4", "alphabeta: parameter 'size' is unknown: alphabeta takes depth"),
        ("random:3", "random: parameter '3' is no name=value: random takes none"),
        ("random:", "random: parameter '' is no name=value: random takes none"),
        ("random:n=3", "random: parameter 'n' is unknown: random takes none"),
    ],
)
def test_a_parameter_that_does_not_fit_is_named(text: str, refusal: str) -> None:
    with pytest.raises(ParameterError, match=refusal):
        parse_policy(text)


@pytest.mark.parametrize("text", ["", ":4", "stockfish:4", "random,greedy", "../random"])
def test_an_unknown_kind_is_refused_with_the_choices(text: str) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown policy '.*': .*choose one of alphabeta, "):
        parse_policy(text)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("random", "random"),
        ("alphabeta", "alphabeta:2"),
        ("alphabeta:depth=4", "alphabeta:4"),
        ("mcts:exploration=2.0", "mcts:100"),
        ("mcts:exploration=1.4,simulations=50", "mcts:50,exploration=1.4"),
    ],
)
def test_a_policy_has_one_spelling(text: str, spelled: str) -> None:
    assert format_policy(*parse_policy(text)) == spelled
    assert parse_policy(spelled) == parse_policy(text)


def test_a_spelling_of_unknown_parameters_is_refused() -> None:
    with pytest.raises(ParameterError, match="'size' is unknown"):
        format_policy("random", {"size": 3})


@given(st.integers(1, 100_000), st.floats(0, 100))
def test_what_is_spelled_is_parsed_back(simulations: int, exploration: float) -> None:
    parameters = {"simulations": simulations, "exploration": exploration}
    assert parse_policy(format_policy("mcts", parameters)) == ("mcts", parameters)


@pytest.mark.parametrize(
    ("text", "policies"),
    [
        ("random", ["random"]),
        ("random,greedy, alphabeta:2", ["random", "greedy", "alphabeta:2"]),
        ("mcts:50,exploration=1.4,random", ["mcts:50,exploration=1.4", "random"]),
        ("mcts:simulations=5,mcts:exploration=1", ["mcts:simulations=5", "mcts:exploration=1"]),
        ("random,,greedy", ["random", "", "greedy"]),
        ("n=3", ["n=3"]),
    ],
)
def test_a_list_is_split_between_policies_only(text: str, policies: list[str]) -> None:
    assert split_policies(text) == policies


@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for start in ("", "random:", "mcts:"):
        try:
            kind, parameters = parse_policy(start + text)
        except ArenaError:
            continue
        assert parse_policy(format_policy(kind, parameters)) == (kind, parameters)
