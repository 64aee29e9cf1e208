"""What adaptive pairings share: parameters, refusals, and a standing that must fit together."""

from dataclasses import replace

import numpy as np
import pytest

from arena.conformance.standings import standing
from arena.errors import ParameterError, UnknownNameError
from arena.pairing import registry
from arena.pairing.adaptive import Adaptive
from arena.pairing.base import Field, PairingError


def test_an_adaptive_pairing_is_no_static_one() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown pairing 'swiss'.*random"):
        registry.get("swiss")
    with pytest.raises(UnknownNameError, match=r"unknown pairing 'random'.*swiss"):
        registry.get_adaptive("random")


def test_parameters_are_read_from_text_too() -> None:
    pairing = registry.get_adaptive("swiss").configured({"rounds": "1"})
    assert not pairing.is_over(standing(Field(4, 2)))
    with pytest.raises(ParameterError, match=r"swiss: parameter 'rounds' must be 0..1000"):
        pairing.configured({"rounds": -1})


@pytest.mark.parametrize("name", ["swiss", "knockout"])
def test_matches_of_three_seats_are_refused_where_two_meet(name: str) -> None:
    with pytest.raises(PairingError, match="its matches have 2 seats, and these have 3"):
        registry.get_adaptive(name).choose(standing(Field(5, 3)), 1, seed=0)


def test_one_without_lineups_says_so() -> None:
    class Nothing(Adaptive):
        id = title = "nothing"

    with pytest.raises(NotImplementedError):
        Nothing().choose(standing(Field(3, 2)), 1, seed=0)
    assert Nothing().warning(standing(Field(3, 2))) is None
    assert not Nothing().is_over(standing(Field(3, 2)))
    assert Nothing().least_blocks(Field(3, 2)) == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mu": np.zeros(3)}, "mu and sd must be of 4 agents, got 3"),
        ({"sd": np.zeros(5)}, "mu and sd must be of 4 agents"),
        ({"covariance": np.zeros((3, 3))}, r"covariance must be 4 x 4, got \(3, 3\)"),
        ({"seeding": (0, 1, 1, 2)}, "seeding must name each of the 4 agents once"),
    ],
)
def test_a_standing_of_another_field_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(PairingError, match=words):
        replace(standing(Field(4, 2)), **change)  # type: ignore[arg-type]
