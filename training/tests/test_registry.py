"""Trainers here and what control knows of them."""

import pytest

from arena.trainers import registry as specs
from training import registry
from training.tests.cart_pole import TASK


def test_each_has_its_title_and_parameters_under_the_same_id() -> None:
    assert registry.names() == specs.names()


@pytest.mark.parametrize("name", registry.names())
def test_it_begins_with_every_parameter_that_can_be_ordered(name: str) -> None:
    chosen = {parameter.name: parameter.default for parameter in specs.get(name).parameters}
    assert registry.get(name).begin(TASK, chosen, seed=0).n_steps == 0
