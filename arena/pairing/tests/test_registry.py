"""Which pairing suits a question: one that exists and takes its parameters."""

import pytest

from arena.pairing import registry as pairings
from arena.pairing.registry import choose_pairing
from arena.parameters import read_parameters
from arena.verdicts import registry as questions


@pytest.mark.parametrize("question", questions.names())
def test_each_question_has_a_pairing_that_takes_its_parameters(question: str) -> None:
    asked = read_parameters(question, questions.get(question).parameters, {})
    name, parameters = choose_pairing(question, asked)
    assert pairings.get_adaptive(name).configured(parameters).id == name


def test_a_top_k_is_paired_at_its_edge() -> None:
    assert choose_pairing("top_k", {"k": 7}) == ("posterior_sample", {"edge": 7})


def test_the_order_of_many_goes_by_the_information() -> None:
    assert choose_pairing("rank_all", {}) == ("order_information", {})
