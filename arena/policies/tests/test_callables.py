"""A function as a kind of policy."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from arena.conformance.base import run_check
from arena.conformance.policies import CHECKS
from arena.errors import UnsupportedGameError
from arena.games import registry as games
from arena.policies.callables import CallableKind


def choose_last(observation: Any, mask: Any, rng: Random) -> Any:
    del observation, rng
    return mask.nonzero()[0][-1]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("only", [(), ("kuhn_poker",)])
def test_it_keeps_to_what_every_policy_must(
    check: Callable[..., None], only: Sequence[str]
) -> None:
    kind = CallableKind("last", choose_last, games=only)
    for name in ("kuhn_poker", "tic_tac_toe"):
        assert run_check(check, kind, games.get(name)) == ""


def test_it_is_named_and_refuses_other_games_by_name() -> None:
    kind = CallableKind("always_last", choose_last, games=("leduc_poker", "kuhn_poker"))
    assert kind.title == "Always last"
    with pytest.raises(UnsupportedGameError, match="it plays kuhn_poker, leduc_poker"):
        kind.build(games.get("chess"), {})
