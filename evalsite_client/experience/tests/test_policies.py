"""Networks in numpy: the same answers as those of torch, from the same file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import torch

from arena.checkpoints import Seal
from evalsite_client.errors import AnswerError
from evalsite_client.experience.policies import Mlp, build_policy, compute_log_probs
from evalsite_client.experience.tests.made import make_weights
from evalsite_client.experience.weights import Weights, read_weights
from inference.model import fresh, save_sealed


def _build(weights: Weights, **other: Any) -> Mlp:
    plays: dict[str, Any] = {"game": "cart_pole", "observation_shape": (4,), "n_actions": 2}
    return build_policy(weights, **{**plays, **other})


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"hidden": ""},
        {"hidden": "64"},
        {"hidden": "128,128", "value_hidden": "128,128", "bounded_value": False},
        {"hidden": "32,16,8", "value_hidden": "24", "activation": "tanh"},
        {"hidden": "", "value_hidden": "24", "bounded_value": True},
    ],
    ids=str,
)
@pytest.mark.parametrize(("shape", "n_actions"), [((4,), 2), ((3, 2), 5)], ids=str)
def test_numpy_answers_what_torch_answers(
    parameters: dict[str, Any], shape: tuple[int, ...], n_actions: int, tmp_path: Path
) -> None:
    seal = Seal("mlp", parameters, "cart_pole", shape, n_actions)
    module, path = fresh(seal, seed=3), tmp_path / "weights"
    save_sealed(module, path, seal)
    observations = np.random.default_rng(0).standard_normal((50, *shape), np.float32) * 3
    with torch.no_grad():
        logits, values, _ = module(torch.tensor(observations), torch.empty(50, 0))
    policy = _build(read_weights(path.read_bytes()), observation_shape=shape, n_actions=n_actions)
    rows = observations.reshape(50, -1)
    np.testing.assert_allclose(policy.compute_logits(rows), logits.numpy(), atol=1e-5)
    np.testing.assert_allclose(policy.compute_values(rows), values.numpy(), atol=1e-5)
    log_probs = compute_log_probs(policy.compute_logits(rows))
    assert log_probs.dtype == np.float32
    np.testing.assert_allclose(log_probs, logits.log_softmax(-1).numpy(), atol=1e-5)


def test_log_probabilities_are_at_most_0_however_large_logits_are() -> None:
    log_probs = compute_log_probs(np.array([[1e30, -1e30], [0, 0], [200, 200.00002]], np.float32))
    assert (log_probs <= 0).all()
    assert np.isfinite(log_probs).all()


@pytest.mark.parametrize(
    ("game", "refusal"), [("acrobot", "game 'cart_pole', not 'acrobot'"), ("", "not ''")]
)
def test_weights_of_another_game_are_refused(game: str, refusal: str, tmp_path: Path) -> None:
    with pytest.raises(AnswerError, match=refusal):
        _build(read_weights(make_weights(tmp_path)), game=game)


def test_weights_without_a_seal_are_refused() -> None:
    content = safetensors.numpy.save({"a": np.zeros(2, np.float32)})
    with pytest.raises(AnswerError, match="the weights have format None, not 'evalsite/1'"):
        _build(read_weights(content))


@pytest.mark.parametrize(
    ("parameters", "refusal"),
    [
        ({"width": 3}, "parameters that mlp has not"),
        ({"activation": "gelu"}, "parameters that mlp has not"),
        ({"bounded_value": 1}, "parameters that mlp has not"),
        ([], "parameters that mlp has not"),
        ({"hidden": "16,x"}, "sizes '16,x'"),
        ({"hidden": "16,"}, "sizes '16,'"),
        ({"hidden": "16,16"}, "lack the layer body.2"),
        ({"hidden": "17"}, r"body.0 are \(16, 4\), not \(17, 4\)"),
        ({"hidden": ""}, r"policy are \(2, 16\)"),
        ({"hidden": "16", "value_hidden": "16"}, "lack the layer value_body.0"),
    ],
    ids=str,
)
def test_weights_that_do_not_fit_their_parameters_are_refused(
    parameters: Any, refusal: str, tmp_path: Path
) -> None:
    sealed = read_weights(make_weights(tmp_path))
    metadata = {**sealed.metadata, "parameters": json.dumps(parameters)}
    with pytest.raises(AnswerError, match=refusal):
        _build(sealed._replace(metadata=metadata))


def test_tensors_that_no_layer_has_are_refused(tmp_path: Path) -> None:
    sealed = read_weights(make_weights(tmp_path))
    more = {**sealed.tensors, "other": np.zeros(1, np.float32)}
    with pytest.raises(AnswerError, match=r"more than mlp has: \['other'\]"):
        _build(sealed._replace(tensors=more))
