"""The randomness of a decision, and what build accepts."""

from collections import Counter

import pytest

from arena.errors import ParameterError, UnsupportedGameError
from arena.games import registry as games
from arena.policies import registry
from arena.policies.base import Row, accepted
from arena.policies.tests.positions import row_after

GAME = games.get("connect_four")


def test_a_decision_has_its_own_seed() -> None:
    """Another match, seat or step is another decision; the same one, replayed, is not."""
    row = row_after(GAME, [3, 3])
    others = [row_after(GAME, [3, 3], game_seed=2), row_after(GAME, [3, 3, 3, 3])]
    others += [Row(row.state, 1 - row.seat, row.game_seed)]
    seeds = {one.seed() for one in (row, *others)}
    assert len(seeds) == 4
    assert row_after(GAME, [3, 3]).seed() == row.seed()
    assert row.rng().random() == row_after(GAME, [3, 3]).rng().random()


def test_a_pick_is_uniform() -> None:
    rows = [row_after(GAME, [], game_seed=seed) for seed in range(3500)]
    picked = Counter(row.pick(range(7)) for row in rows)
    assert set(picked) == set(range(7))
    assert all(400 < n < 600 for n in picked.values())  # 500 wanted, 4.8 standard deviations


def test_a_refused_game_is_named_with_the_reason() -> None:
    refusal = "policy 'mcts' cannot play 'kuhn_poker': it looks ahead, which would reveal"
    with pytest.raises(UnsupportedGameError, match=refusal):
        accepted(registry.get("mcts"), games.get("kuhn_poker"), {})


def test_kinds_that_can_play_a_game_are_listed() -> None:
    able = registry.list_able(games.get("kuhn_poker").spec)
    assert "random" in able
    assert not {"mcts", "level"} & set(able)


def test_a_kind_whose_code_raises_cannot_play(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("sizes")

    monkeypatch.setattr(type(registry.get("greedy")), "refusal", fail)
    assert registry.find_refusal("greedy", GAME.spec) == "its refusal() raises KeyError: 'sizes'"
    assert "greedy" not in registry.list_able(GAME.spec)


def test_parameters_are_checked_and_completed() -> None:
    assert accepted(registry.get("mcts"), GAME, {"simulations": "7"}) == {
        "simulations": 7,
        "exploration": 2.0,
    }
    with pytest.raises(ParameterError, match="'depth' is unknown: mcts takes simulations"):
        accepted(registry.get("mcts"), GAME, {"depth": 7})
