"""A row's answer does not depend on the rows beside it, for every architecture of the catalog."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from arena.parameters import Value
from inference.batch_invariance import (
    CANDIDATES,
    FREE,
    POWERS,
    Outputs,
    RowRule,
    find_row_rule,
    make_batch_invariant,
)
from inference.tests.engines import Bench, block_of, evaluated
from inference.tests.sealed import BOARD, Folder

FORMS: list[tuple[str, dict[str, Value], int]] = [
    ("mlp", {}, 0),
    ("mlp", {"hidden": "37,100", "activation": "tanh"}, 0),
    ("rescnn", {"channels": 16, "blocks": 1}, 0),
    ("rescnn", {"channels": 24, "blocks": 1}, 0),
    ("gru", {"width": 33}, 33),
    ("transformer", {"width": 16, "depth": 1}, 0),
]
SIZES = (*range(1, 14), 15, 16, 17, 31, 33, 64, 101, 130)


@pytest.mark.parametrize(("architecture", "parameters", "state_size"), FORMS)
def test_a_row_has_the_same_bits_in_every_batch(
    tmp_path: Path, architecture: str, parameters: dict[str, Value], state_size: int
) -> None:
    folder = Folder(tmp_path / "cache")
    bench = Bench(folder)
    ref = folder.add(architecture, parameters, seed=0)
    whole = block_of(ref, max(SIZES), state_size=state_size)
    expected = evaluated(bench.ask(whole)[0])
    for size in SIZES:
        # From the end, so that every row stands in many places.
        part = whole._replace(observations=whole.observations[-size:], states=whole.states[-size:])
        outputs = evaluated(bench.ask(part)[0])
        for ours, theirs in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs[-size:], err_msg=f"{size} rows")
    (rule,) = bench.engine.forwards.rules.values()
    assert rule.is_proven


@pytest.mark.parametrize(("architecture", "parameters", "state_size"), FORMS)
def test_settled_layers_answer_the_same_but_for_rounding(
    tmp_path: Path, architecture: str, parameters: dict[str, Value], state_size: int
) -> None:
    folder = Folder(tmp_path / "cache")
    ref = folder.add(architecture, parameters, seed=0)
    block = block_of(ref, 17, state_size=state_size)
    settled = evaluated(Bench(folder).ask(block)[0])
    plain = Bench(folder, is_deterministic=False, make=lambda model: model.module)
    for ours, theirs in zip(settled, evaluated(plain.ask(block)[0]), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_sizes_follow_the_rule() -> None:
    assert [RowRule(4).pad_size(n) for n in (1, 4, 5)] == [4, 4, 8]
    assert [POWERS.pad_size(n) for n in (1, 2, 3, 9)] == [1, 2, 4, 16]
    assert RowRule(4).split_rows(13, limit=100) == [16]
    assert RowRule(4).split_rows(13, limit=8) == [8, 8]
    assert RowRule(4).split_rows(17, limit=11) == [8, 8, 4]
    assert RowRule(16).split_rows(3, limit=1) == [16]
    assert RowRule(64, most=64).split_rows(130, limit=4096) == [64, 64, 64]
    assert POWERS.split_rows(100, limit=48) == [48, 48, 4]
    assert FREE.split_rows(100, limit=48) == [48, 48, 4]


class Moody(nn.Module):
    """Adds rounding where a batch has not the rows that it likes, or by the place of a row."""

    def __init__(self, *, likes: int, has_places: bool = False) -> None:
        super().__init__()
        self.likes, self.has_places = likes, has_places

    def forward(self, rows: Tensor, states: Tensor) -> Outputs:
        error = 0.0 if len(rows) % self.likes == 0 else 1e-6
        places = torch.arange(len(rows)) * 1e-6 if self.has_places else torch.zeros(len(rows))
        values = rows.flatten(1).sum(1) + error + places
        return values[:, None], values, states


@pytest.mark.parametrize(("likes", "rule"), [(1, 0), (4, 0), (16, 1), (32, 2)])
def test_the_cheapest_rule_that_holds_is_found(likes: int, rule: int) -> None:
    row_rule = find_row_rule(Moody(likes=likes), torch.randn(5, *BOARD), torch.zeros(5, 0))
    assert row_rule == CANDIDATES[rule]._replace(is_proven=True)


def test_a_network_for_which_no_rule_holds_is_told() -> None:
    moody = Moody(likes=1, has_places=True)
    assert not find_row_rule(moody, torch.randn(5, *BOARD), torch.zeros(5, 0)).is_proven


def test_settling_keeps_the_names_of_the_weights() -> None:
    module = nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.Conv2d(16, 1, 1, bias=False), nn.Linear(5, 1, bias=False)
    )
    before = {name: value.shape for name, value in module.state_dict().items()}
    rows = torch.randn(2, 3, 6, 7)
    plain = module(rows)
    make_batch_invariant(module)
    assert {name: value.shape for name, value in module.state_dict().items()} == before
    torch.testing.assert_close(module(rows), plain)
    assert [type(layer) for layer in module] != [nn.Conv2d, nn.Conv2d, nn.Linear]
