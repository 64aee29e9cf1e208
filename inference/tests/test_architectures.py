"""What is particular to an architecture; tests/test_architecture_conformance.py has the rest."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from arena.errors import ParameterError
from inference.architectures import registry
from inference.architectures.catalog.gru import Cell
from inference.architectures.catalog.mlp import Mlp
from inference.architectures.catalog.rescnn import Block
from inference.architectures.catalog.transformer import EncoderLayer

BOARD = (3, 4, 5)
ROWS = torch.linspace(-1, 1, 2 * 60).reshape(2, *BOARD)
NO_STATE = torch.zeros(2, 0)


def mlp(**parameters: object) -> Mlp:
    module = registry.get("mlp").build(BOARD, 7, parameters)
    assert isinstance(module, Mlp)
    return module


def shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(weight.shape) for name, weight in module.named_parameters()}


def test_the_layers_of_an_mlp_have_the_sizes_asked_for() -> None:
    assert shapes(mlp(hidden="8,9")) == {
        "body.0.weight": (8, 60),
        "body.0.bias": (8,),
        "body.2.weight": (9, 8),
        "body.2.bias": (9,),
        "policy.weight": (7, 9),
        "policy.bias": (7,),
        "value.weight": (1, 9),
        "value.bias": (1,),
    }


def test_an_mlp_may_be_linear() -> None:
    module = mlp(hidden="", bounded_value=False)
    logits, values, _ = module(ROWS, NO_STATE)
    assert torch.equal(logits, module.policy(ROWS.flatten(1)))
    assert torch.equal(values, module.value(ROWS.flatten(1)).squeeze(-1))


def test_the_value_may_have_layers_of_its_own() -> None:
    module = mlp(hidden="8", value_hidden="5,6")
    assert shapes(module)["value.weight"] == (1, 6)
    with torch.no_grad():
        before = module(ROWS, NO_STATE)
        module.get_parameter("body.0.weight").zero_()
        after = module(ROWS, NO_STATE)
    assert not torch.equal(before[0], after[0])
    assert torch.equal(before[1], after[1])


def test_layers_of_its_own_may_be_none_at_all() -> None:
    assert shapes(mlp(hidden="8", value_hidden=""))["value.weight"] == (1, 60)


def test_the_value_is_bounded_unless_asked_otherwise() -> None:
    free, bounded = mlp(bounded_value=False), mlp()
    bounded.load_state_dict(free.state_dict())
    assert torch.equal(bounded(ROWS, NO_STATE)[1], free(ROWS, NO_STATE)[1].tanh())


def test_a_whole_number_is_the_size_of_one_layer() -> None:
    assert shapes(mlp(hidden=8)) == shapes(mlp(hidden="8"))


@pytest.mark.parametrize("value", [True, 8.0, None, ["8"]])
def test_nothing_else_stands_for_a_text(value: object) -> None:
    with pytest.raises(ParameterError, match="'hidden' must be str"):
        mlp(hidden=value)


def test_the_activation_may_be_tanh() -> None:
    module = mlp(hidden="8", activation="tanh")
    hidden = torch.tanh(module.body[:1](ROWS.flatten(1)))
    assert torch.equal(module(ROWS, NO_STATE)[0], module.policy(hidden))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hidden", "8,"),
        ("hidden", "0"),
        ("hidden", "-8"),
        ("hidden", "8;8"),
        ("hidden", "9999"),
        ("hidden", "9" * 200),
        ("hidden", "²"),
        ("hidden", ",".join(["8"] * 33)),
        ("hidden", "shared"),
        ("value_hidden", "8,x"),
    ],
)
def test_sizes_that_cannot_be_are_refused(name: str, text: str) -> None:
    with pytest.raises(ParameterError, match=rf"{name}.*must be up to 32 sizes of 1..8192"):
        mlp(**{name: text})


def test_an_unknown_activation_is_refused() -> None:
    with pytest.raises(ParameterError, match="must be relu or tanh, got 'gelu'"):
        mlp(activation="gelu")


def test_the_recurrent_cell_is_that_of_torch() -> None:
    ours, theirs = Cell(6), nn.GRUCell(6, 6)
    ours.load_state_dict(theirs.state_dict())
    inputs, state = torch.randn(4, 6), torch.randn(4, 6)
    torch.testing.assert_close(ours(inputs, state), theirs(inputs, state))


def test_each_recurrent_layer_keeps_its_part_of_the_state() -> None:
    architecture = registry.get("gru")
    parameters = {"width": 4, "layers": 3}
    module = architecture.build(BOARD, 7, parameters)
    state = torch.zeros(2, architecture.state_size(parameters))
    _, _, first = module(ROWS, state)
    changed = first.clone()
    changed[:, 8:] = 0  # the last layer forgets; the two below do not see it
    _, _, one = module(ROWS, first)
    _, _, other = module(ROWS, changed)
    assert state.shape == (2, 12)
    assert torch.equal(one[:, :8], other[:, :8])
    assert not torch.equal(one[:, 8:], other[:, 8:])


def test_a_residual_block_begins_as_the_identity() -> None:
    planes = torch.rand(2, 8, 4, 5)
    assert torch.equal(Block(8)(planes), planes)


def test_a_convolution_takes_boards_only() -> None:
    with pytest.raises(ParameterError, match=r"must be \[planes, rows, columns\], got \[7\]"):
        registry.get("rescnn").build((7,), 2, {})


def test_a_transformer_sees_a_cell_as_one_token() -> None:
    module = registry.get("transformer").build(BOARD, 7, {})
    assert shapes(module)["places"] == (20, 64)
    assert shapes(module)["stem.weight"] == (64, 3)


def test_a_transformer_cuts_any_other_observation_into_chunks() -> None:
    module = registry.get("transformer").build((50,), 7, {"chunk": 16})
    assert shapes(module)["places"] == (4, 64)
    flat = torch.arange(50.0).reshape(1, 50)
    padded = torch.cat([flat, torch.zeros(1, 14)], 1).reshape(1, 4, 16)
    assert torch.equal(module._split_tokens(flat), padded)  # type: ignore[operator]


def test_the_attention_is_that_of_torch() -> None:
    layer, tokens = EncoderLayer(8, 2), torch.randn(2, 20, 8)
    theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    theirs.in_proj_weight.data, theirs.in_proj_bias.data = layer.mix.weight, layer.mix.bias
    theirs.out_proj.weight, theirs.out_proj.bias = layer.out.weight, layer.out.bias
    expected, _ = theirs(tokens, tokens, tokens)
    torch.testing.assert_close(layer.out(layer._mix_tokens(layer.mix(tokens))), expected)


@pytest.mark.parametrize(
    ("shape", "parameters", "reason"),
    [
        ((3, 40, 40), {}, "has 1600 cells: at most 1024"),
        ((50_000,), {}, "must be at least 49"),
        ((50,), {"heads": 5}, "must be a multiple of heads 5"),
    ],
)
def test_a_transformer_refuses_too_many_tokens_and_crooked_heads(
    shape: tuple[int, ...], parameters: dict[str, object], reason: str
) -> None:
    with pytest.raises(ParameterError, match=reason):
        registry.get("transformer").build(shape, 7, parameters)


@pytest.mark.slow
def test_a_folder_of_plug_ins_adds_an_architecture(tmp_path: Path) -> None:
    """In a process of its own: catalogs are read once."""
    folder = tmp_path / "architectures"
    folder.mkdir()
    (folder / "mine.py").write_text(
        "from inference.architectures.catalog.mlp import ARCHITECTURE\n"
        "ARCHITECTURE.title = 'mine'\n"
    )
    program = (
        "from inference.architectures import registry as r; print(r.names(), r.get('mine').title)"
    )
    answered = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "EVALSITE_PLUGINS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (
        answered.stdout.strip() == "('gru', 'lines', 'mine', 'mlp', 'rescnn', 'transformer') mine"
    )
