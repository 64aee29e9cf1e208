"""Which pairing suits a question: one that exists and takes its parameters."""

import pytest

from arena.pairing import registry as pairings
from arena.pairing.registry import choose_pairing, is_about_two, is_checking
from arena.parameters import read_parameters
from arena.verdicts import registry as questions


@pytest.mark.parametrize("question", questions.names())
@pytest.mark.parametrize("n_agents", [2, 1_000])
def test_each_question_has_a_pairing_that_takes_its_parameters(
    question: str, n_agents: int
) -> None:
    question_parameters = read_parameters(question, questions.get(question).parameters, {})
    name, parameters = choose_pairing(question, question_parameters, n_agents=n_agents)
    assert pairings.get_adaptive(name).configured(parameters).id == name


def test_the_first_few_are_paired_by_who_may_be_among_them() -> None:
    assert choose_pairing("best", {}, n_agents=10) == ("order_information", {"edge": 1})
    assert choose_pairing("top_k", {"k": 7}, n_agents=10) == ("order_information", {"edge": 7})


def test_those_of_a_large_field_are_paired_by_samples() -> None:
    assert choose_pairing("best", {}, n_agents=201) == ("posterior_sample", {"top": 2})
    assert choose_pairing("top_k", {"k": 7}, n_agents=201) == ("posterior_sample", {"edge": 7})


def test_the_order_of_many_goes_by_the_information() -> None:
    assert choose_pairing("rank_pairs", {}, n_agents=10) == ("order_information", {})


def test_of_two_agents_those_meet_that_tell_about_these_two() -> None:
    asked = {"a": 3, "b": 1, "lead": 0.0}
    for n_agents, n_seats in ((10, 2), (500, 2), (10, 3)):
        chosen = choose_pairing("beats", asked, n_agents=n_agents, n_seats=n_seats)
        assert chosen == ("order_information", {"a": 3, "b": 1})
    assert choose_pairing("beats", {}, n_agents=10) == ("order_information", {"a": 0, "b": 1})
    assert choose_pairing("beats", asked, n_agents=10, n_seats=1)[0] == "common_seeds"


def test_a_pairing_is_about_two_where_it_is_told_two_of_its_field() -> None:
    names = "order_information", "posterior_sample"
    assert [is_about_two(name, {}, 10) for name in names] == [False, False]
    asked = {"a": 3, "b": 1}
    assert [is_about_two(names[0], asked, n_agents) for n_agents in (3, 10)] == [False, True]
    assert not is_about_two(names[0], asked | {"edge": 1}, 10)


def test_large_fields_are_not_checked() -> None:
    assert [is_checking("order_information", {"checks": 1}, n) for n in (64, 65)] == [True, False]


def test_an_edge_within_the_field_switches_checks_off() -> None:
    parameter_sets = [{"checks": 1, "edge": edge} for edge in (0, 1, 9, 10)]
    are_checked = [is_checking("order_information", both, 10) for both in parameter_sets]
    assert are_checked == [True, False, False, True]


def test_a_ranking_checks_all_pairs() -> None:
    for n_agents, of_its_own in ((2, {"checks": 1}), (64, {"checks": 1}), (65, {})):
        chosen = choose_pairing("rank_all", {}, n_agents=n_agents)
        assert chosen == ("order_information", of_its_own)
    assert choose_pairing("rank_all", {}, n_agents=10, n_seats=3) == ("order_information", {})
    assert choose_pairing("rank_all", {}, n_agents=10, n_seats=1)[0] == "common_seeds"
