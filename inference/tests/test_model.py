"""Networks from files: what is loaded, what is refused, and that weights follow from the seed."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from arena.checkpoints import Seal, inspect_file, write_sealed
from arena.errors import CheckpointFileError
from arena.parameters import Parameter, Value
from inference.model import fresh, load, save_sealed, skeleton

SEAL = Seal("mlp", {"hidden": "8,8"}, "tic_tac_toe", (3, 3, 3), 9)
GRU = Seal("gru", {"width": 4, "layers": 2}, "tic_tac_toe", (3, 3, 3), 9)
Tensors = dict[str, Tensor]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save_sealed(fresh(SEAL, seed=1), tmp_path / "model", SEAL)
    return tmp_path / "model"


def sealed(path: Path, tensors: Tensors, seal: Seal = SEAL) -> Path:
    plain, target = path.with_suffix(".plain"), path.with_suffix(".sealed")
    save_file(tensors, plain)
    write_sealed(plain, target, seal)
    return target


def changed(path: Path, **tensors: Tensor | None) -> Path:
    """Return the file with other tensors; None drops one."""
    merge_rows = {**load_file(path), **tensors}
    return sealed(path, {name: value for name, value in merge_rows.items() if value is not None})


def test_a_network_is_loaded_ready_to_answer(path: Path) -> None:
    model = load(path)
    logits, values, states = model.module(torch.ones(2, 3, 3, 3), torch.zeros(2, 0))
    assert (logits.shape, values.shape, states.shape) == ((2, 9), (2,), (2, 0))
    assert not logits.requires_grad
    assert not model.module.training
    assert model.seal == SEAL
    assert model.n_parameters == 27 * 8 + 8 + 8 * 8 + 8 + 8 * 9 + 9 + 8 + 1
    assert model.n_bytes == 4 * model.n_parameters
    assert model.state_size == 0


def test_one_form_has_equal_parameters_however_it_is_spelled(tmp_path: Path) -> None:
    spelled: list[dict[str, Value]] = [{"width": "4"}, {"width": 4, "layers": 1}]
    loaded = []
    for parameters in spelled:
        seal = replace(GRU, parameters=parameters)
        save_sealed(fresh(seal, seed=1), tmp_path / "model", seal)
        loaded.append(load(tmp_path / "model").parameters)
    assert loaded == [{"width": 4, "layers": 1}] * 2


def test_it_answers_as_the_network_that_was_saved(path: Path) -> None:
    rows = torch.randn(5, 3, 3, 3)
    saved, loaded = fresh(SEAL, seed=1), load(path).module
    for one, other in zip(saved(rows, rows[:, :0]), loaded(rows, rows[:, :0]), strict=True):
        assert torch.equal(one, other)


def test_a_recurrent_network_says_how_much_it_remembers(tmp_path: Path) -> None:
    save_sealed(fresh(GRU, seed=1), tmp_path / "model", GRU)
    assert load(tmp_path / "model").state_size == 8


def test_the_same_weights_are_the_same_checkpoint(tmp_path: Path) -> None:
    one = save_sealed(fresh(SEAL, seed=1), tmp_path / "a", SEAL)
    same = save_sealed(fresh(SEAL, seed=1), tmp_path / "b", SEAL)
    other = save_sealed(fresh(SEAL, seed=2), tmp_path / "c", SEAL)
    assert one == same != other
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a", "b", "c"]


def test_fresh_weights_leave_the_global_generator_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    fresh(SEAL, seed=1)
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_half_weights_are_taken_and_given(path: Path, dtype: torch.dtype) -> None:
    halved = sealed(path, {name: value.to(dtype) for name, value in load_file(path).items()})
    assert {w.dtype for w in load(halved).module.parameters()} == {torch.float32}
    model = load(halved, dtype=torch.bfloat16)
    assert {w.dtype for w in model.module.parameters()} == {torch.bfloat16}
    assert model.n_bytes == 2 * model.n_parameters


def test_the_file_may_go_while_the_network_lives(path: Path) -> None:
    model = load(path)
    before = [weight.clone() for weight in model.module.parameters()]
    os.truncate(path, 0)
    path.unlink()
    after = model.module.parameters()
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_a_file_that_is_not_sealed_is_refused(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(1)}, tmp_path / "plain")
    with pytest.raises(CheckpointFileError, match="not sealed"):
        load(tmp_path / "plain")


def test_a_pickle_is_refused_unread(tmp_path: Path) -> None:
    torch.save(fresh(SEAL, seed=1).state_dict(), tmp_path / "model.pt")
    with pytest.raises(CheckpointFileError, match=r"a pickle inside a zip \(torch.save\)"):
        load(tmp_path / "model.pt")


def test_missing_unexpected_and_misshapen_weights_are_named(path: Path) -> None:
    broken = changed(
        path, **{"body.0.bias": None, "policy.bias": torch.zeros(3), "head.bias": torch.zeros(2, 1)}
    )
    with pytest.raises(CheckpointFileError) as refused:
        load(broken)
    assert str(refused.value) == (
        "the tensors do not fit the architecture: missing: body.0.bias [8]; "
        "unexpected: head.bias [2, 1]; of another shape: policy.bias is [3], not [9]"
    )


def test_only_the_first_few_are_named(path: Path) -> None:
    broken = changed(path, **{f"extra.{i}": torch.zeros(1) for i in range(50)})
    with pytest.raises(CheckpointFileError, match="and 46 more") as refused:
        load(broken)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.uint8])
def test_weights_of_another_type_are_refused(path: Path, dtype: torch.dtype) -> None:
    with pytest.raises(CheckpointFileError, match=r"policy.bias is .*: weights must be F32"):
        load(changed(path, **{"policy.bias": torch.zeros(9, dtype=dtype)}))


@pytest.mark.parametrize(
    ("value", "word"), [("nan", "NaN"), ("inf", "infinity"), ("-inf", "infinity")]
)
def test_weights_that_are_not_finite_are_refused(path: Path, value: str, word: str) -> None:
    weights = torch.zeros(9)
    weights[4] = float(value)
    with pytest.raises(CheckpointFileError, match=rf"weights of 'policy.bias' hold {word}"):
        load(changed(path, **{"policy.bias": weights}))


def test_weights_too_large_for_half_precision_are_refused_there(path: Path) -> None:
    large = changed(path, **{"policy.bias": torch.full((9,), 1e6)})
    assert load(large)
    with pytest.raises(CheckpointFileError, match=r"'policy.bias' do not fit torch.float16"):
        load(large, dtype=torch.float16)


@pytest.mark.parametrize(
    ("seal", "reason"),
    [
        (
            replace(SEAL, architecture="net"),
            "unknown architecture 'net': choose one of gru, lines, mlp",
        ),
        (replace(SEAL, parameters={"depth": 3}), "'depth' is unknown: mlp takes hidden"),
        (replace(SEAL, parameters={"hidden": 3.5}), "must be str, got 3.5"),
        (Seal("rescnn", {}, "kuhn_poker", (7,), 2), r"must be \[planes, rows, columns\]"),
        (Seal("gru", {"width": 0}, "kuhn_poker", (7,), 2), r"must be 1..4096, got 0"),
        (replace(SEAL, n_actions=0), "n_actions is 0"),
        (replace(SEAL, parameters={"hidden": ",".join(["8192"] * 32)}), "at most 50000000"),
        (replace(SEAL, observation_shape=(10**7,)), "has 80000170 weights: at most 50000000"),
    ],
)
def test_a_seal_that_names_no_network_is_refused(path: Path, seal: Seal, reason: str) -> None:
    with pytest.raises(CheckpointFileError, match=reason):
        skeleton(seal)
    with pytest.raises(CheckpointFileError, match=reason):
        fresh(seal, seed=1)


def test_a_seal_that_does_not_describe_the_network_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointFileError, match=r"of another shape: body.0.weight is \[8, 27\]"):
        save_sealed(fresh(SEAL, seed=1), tmp_path / "a", replace(SEAL, observation_shape=(3, 3)))
    assert list(tmp_path.iterdir()) == []


class Hiding:
    """An architecture with a constant that its file does not hold."""

    id, title = "hiding", "Hiding"
    parameters: tuple[Parameter, ...] = ()

    def refusal(self, observation_shape: tuple[int, ...]) -> None:
        return None

    def state_size(self, parameters: object) -> int:
        return 0

    def build(self, observation_shape: object, n_actions: int, parameters: object) -> nn.Module:
        module = nn.Linear(1, 1)
        module.register_buffer("scale", torch.ones(1), persistent=False)
        return module


def test_a_constant_outside_the_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference.model.registry.get", lambda name: Hiding())
    save_sealed(fresh(SEAL, seed=1), tmp_path / "model", SEAL)
    with pytest.raises(CheckpointFileError, match="mlp keeps scale outside its weights"):
        load(tmp_path / "model")


def test_what_is_saved_needs_no_contiguous_weights(tmp_path: Path) -> None:
    module = fresh(SEAL, seed=1)
    weight = module.get_parameter("body.0.weight")
    weight.data = weight.data.t().contiguous().t()
    save_sealed(module, tmp_path / "a", SEAL)
    assert torch.equal(load_file(tmp_path / "a")["body.0.weight"], weight)
    assert inspect_file(tmp_path / "a").seal == SEAL
