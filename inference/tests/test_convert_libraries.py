"""Agents of CleanRL and Stable-Baselines3 become an mlp that answers the same, or are refused.

Neither library is needed: the files are built in the form that they document, name by name.
"""

import json
import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from arena.checkpoints import inspect_file
from inference.conversion import actorcritic
from inference.tests.converting import (
    N_ACTIONS,
    N_INPUTS,
    ROWS,
    Tensors,
    assert_answers_as,
    converted,
    saved,
)

Convert = Callable[..., int]


@pytest.fixture
def convert(tmp_path: Path) -> Convert:
    return lambda path, program, *more: converted(path, tmp_path / "out", program, *more)


def linear(n_inputs: int, n_outputs: int) -> nn.Linear:
    return nn.Linear(n_inputs, n_outputs)


class CleanRl(nn.Module):
    """The agent of CleanRL's ppo.py: names and layers as there."""

    def __init__(self) -> None:
        super().__init__()
        self.critic = nn.Sequential(
            linear(N_INPUTS, 64), nn.Tanh(), linear(64, 64), nn.Tanh(), linear(64, 1)
        )
        self.actor = nn.Sequential(
            linear(N_INPUTS, 64), nn.Tanh(), linear(64, 64), nn.Tanh(), linear(64, N_ACTIONS)
        )

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        return self.actor(rows), self.critic(rows).squeeze(-1)


def test_an_agent_of_cleanrl_answers_the_same(
    tmp_path: Path, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(5)
    agent = CleanRl()
    path = saved(tmp_path / "ppo_200.cleanrl_model", agent.state_dict())
    assert convert(path, "cleanrl") == 0
    output = capsys.readouterr().out
    assert "tanh, as in ppo.py: the file does not say" in output
    assert "answers as the original: differs by at most" in output
    target = tmp_path / "out" / "ppo_200.safetensors"
    assert_answers_as(target, *agent(ROWS.flatten(1)))
    seal = inspect_file(target).seal
    assert seal is not None
    assert seal.parameters == {
        "hidden": "64,64",
        "value_hidden": "64,64",
        "activation": "tanh",
        "bounded_value": False,
    }


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_other_precisions_are_compared_as_they_are(
    tmp_path: Path, convert: Convert, dtype: torch.dtype
) -> None:
    agent = CleanRl().to(dtype)
    assert convert(saved(tmp_path / "a.pt", agent.state_dict()), "cleanrl") == 0


@pytest.mark.parametrize(
    ("change", "words", "reason"),
    [
        ({"network.0.weight": torch.zeros(1)}, (), "no mlp (network.0.weight): its layers are"),
        ({"actor_logstd": torch.zeros(1)}, (), "its actions are continuous"),
        ({"lstm.weight": torch.zeros(1)}, (), "it keeps an LSTM"),
        ({"extra": torch.zeros(1)}, (), "1 tensors too many for an mlp"),
        ({"actor.2.bias": torch.zeros(63)}, (), "actor.2 is no linear layer with a bias"),
        ({}, ("--parameter", "hidden=32"), "--parameter hidden=32: the file says 64,64"),
        ({}, ("--parameter", "bounded_value=true"), "bounded_value=True: the file says False"),
        ({}, ("--architecture", "gru"), "give --architecture mlp"),
        ({}, ("--map", "actor.0=body.0"), "give --architecture mlp and no --map"),
        ({}, ("--game", "connect_four"), "of another shape: body.0.weight is [64, 27], not"),
    ],
)
def test_what_is_no_agent_of_ppo_is_refused(
    tmp_path: Path,
    convert: Convert,
    capsys: pytest.CaptureFixture[str],
    change: Tensors,
    words: tuple[str, ...],
    reason: str,
) -> None:
    path = saved(tmp_path / "a.pt", {**CleanRl().state_dict(), **change})
    assert convert(path, "cleanrl", *words) == 2
    assert reason in capsys.readouterr().err
    assert not list((tmp_path / "out").glob("*"))


def test_a_file_without_actor_and_critic_is_no_agent_of_ppo(
    tmp_path: Path, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    assert convert(saved(tmp_path / "a.pt", {"weight": torch.zeros(1)}), "cleanrl") == 2
    assert "not the agent of ppo.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("program", "start", "others"),
    [("cleanrl", "network.", ()), ("cleanrl", "actor.", ()), ("sb3", "q_net.q_net.", ("_target",))],
)
def test_a_network_without_a_value_head_answers_the_same(
    tmp_path: Path,
    convert: Convert,
    capsys: pytest.CaptureFixture[str],
    program: str,
    start: str,
    others: tuple[str, ...],
) -> None:
    torch.manual_seed(6)
    act = nn.Tanh if start == "actor." else nn.ReLU
    network = nn.Sequential(linear(N_INPUTS, 64), act(), linear(64, N_ACTIONS))
    starts = (start, *(start.replace("q_net.", f"q_net{other}.", 1) for other in others))
    tensors = {
        f"{one}{name}": tensor for one in starts for name, tensor in network.state_dict().items()
    }
    if program == "sb3":
        path = archived(tmp_path / "a.zip", tensors, {**FACTS, "policy_kwargs": {}})
    else:
        path = saved(tmp_path / "a.pt", tensors)
    assert convert(path, program) == 0
    assert "it has no value head" in capsys.readouterr().out
    rows = ROWS.flatten(1)
    target = tmp_path / "out" / "a.safetensors"
    assert_answers_as(target, network(rows), torch.zeros(len(rows)))


def test_answers_that_differ_are_refused(
    tmp_path: Path,
    convert: Convert,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(
        actorcritic.ACTIVATIONS,
        "tanh",
        torch.relu,
    )
    assert convert(saved(tmp_path / "a.pt", CleanRl().state_dict()), "cleanrl") == 2
    assert "answers differ from the original by" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []


class MlpExtractor(nn.Module):
    def __init__(self, shared: list[int], pi: list[int], vf: list[int], act: type[nn.Module]):
        super().__init__()
        self.shared_net = self._tower([N_INPUTS, *shared], act)
        last = [N_INPUTS, *shared][-1]
        self.policy_net = self._tower([last, *pi], act)
        self.value_net = self._tower([last, *vf], act)

    def _tower(self, sizes: list[int], act: type[nn.Module]) -> nn.Sequential:
        return nn.Sequential(*(step for i, o in pairwise(sizes) for step in (linear(i, o), act())))


class Sb3(nn.Module):
    """The ActorCriticPolicy of Stable-Baselines3: names and layers as there."""

    def __init__(
        self,
        shared: tuple[int, ...] = (),
        pi: tuple[int, ...] = (64, 64),
        vf: tuple[int, ...] = (64, 64),
        act: type[nn.Module] = nn.Tanh,
    ) -> None:
        super().__init__()
        self.mlp_extractor = MlpExtractor([*shared], [*pi], [*vf], act)
        self.action_net = linear([N_INPUTS, *shared, *pi][-1], N_ACTIONS)
        self.value_net = linear([N_INPUTS, *shared, *vf][-1], 1)

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        rows = self.mlp_extractor.shared_net(rows)
        values = self.value_net(self.mlp_extractor.value_net(rows)).squeeze(-1)
        return self.action_net(self.mlp_extractor.policy_net(rows)), values


BOX = {":type:": "<class 'gymnasium.spaces.box.Box'>", "dtype": "float32", "_shape": [3, 3, 3]}
DISCRETE = {":type:": "<class 'gymnasium.spaces.discrete.Discrete'>", "n": "9", "start": "0"}
FACTS: dict[str, Any] = {"policy_kwargs": {}, "observation_space": BOX, "action_space": DISCRETE}


def activation(name: str) -> dict[str, Any]:
    """Return what Stable-Baselines3 writes for policy_kwargs=dict(activation_fn=...)."""
    text = f"<class 'torch.nn.modules.activation.{name}'>"
    return {":type:": "<class 'dict'>", ":serialized:": "gASV", "activation_fn": text}


def archived(path: Path, weights: object, facts: object = FACTS) -> Path:
    saved(path.with_suffix(".policy"), weights)
    with zipfile.ZipFile(path, "w") as archive:
        if facts is not None:
            text = facts if isinstance(facts, str) else json.dumps(facts)
            archive.writestr("data", text)
        archive.write(path.with_suffix(".policy"), "policy.pth")
        archive.writestr("_stable_baselines3_version", "2.7.0")
    return path


@pytest.mark.parametrize(
    ("policy", "hidden", "value_hidden"),
    [
        (Sb3(), "64,64", "64,64"),
        (Sb3(pi=(32,), vf=(16, 8)), "32", "16,8"),
        (Sb3(pi=(), vf=()), "", ""),
        (Sb3(shared=(32,), pi=(16,), vf=()), "32,16", "32"),
    ],
)
def test_a_policy_of_stable_baselines_answers_the_same(
    tmp_path: Path,
    convert: Convert,
    capsys: pytest.CaptureFixture[str],
    policy: Sb3,
    hidden: str,
    value_hidden: str,
) -> None:
    path = archived(tmp_path / "rl_model_10000_steps.zip", policy.state_dict())
    assert convert(path, "sb3") == 0
    target = tmp_path / "out" / "rl_model_10000_steps.safetensors"
    assert_answers_as(target, *policy(ROWS.flatten(1)))
    seal = inspect_file(target).seal
    assert seal is not None
    assert (seal.parameters["hidden"], seal.parameters["value_hidden"]) == (hidden, value_hidden)
    output = capsys.readouterr().out
    assert "step 10000" in output
    assert "VecNormalize" in output
    assert "answers as the original" in output


def test_the_activation_is_read_from_the_archive(tmp_path: Path, convert: Convert) -> None:
    policy = Sb3(act=nn.ReLU)
    facts = {**FACTS, "policy_kwargs": activation("ReLU")}
    assert convert(archived(tmp_path / "a.zip", policy.state_dict(), facts), "sb3") == 0
    assert_answers_as(tmp_path / "out" / "a.safetensors", *policy(ROWS.flatten(1)))


def test_an_archive_that_does_not_say_the_activation_needs_it_told(
    tmp_path: Path, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    path = archived(tmp_path / "a.zip", Sb3(act=nn.ReLU).state_dict(), None)
    assert convert(path, "sb3") == 2
    assert "add --parameter activation=tanh or relu" in capsys.readouterr().err
    assert convert(path, "sb3", "--parameter", "activation=relu") == 0


@pytest.mark.parametrize(
    ("change", "facts", "reason"),
    [
        ({"q_net.features_extractor.cnn.0.weight": torch.zeros(1)}, {}, "(CnnPolicy)"),
        ({"features_extractor.cnn.0.weight": torch.zeros(1)}, {}, "(CnnPolicy)"),
        ({"lstm_actor.weight_ih_l0": torch.zeros(1)}, {}, "RecurrentPPO keeps an LSTM"),
        ({"log_std": torch.zeros(9)}, {}, "its actions are continuous"),
        ({"action_net.bias": torch.zeros(3)}, {}, "action_net is no linear layer with a bias"),
        ({"other": torch.zeros(3)}, {}, "1 tensors too many for an mlp"),
        ({}, {"policy_kwargs": activation("ELU")}, "activation elu: mlp has tanh and relu"),
        ({}, {"observation_space": {**BOX, "dtype": "uint8"}}, "divided by 255 first"),
        ({}, {"observation_space": DISCRETE}, "which is encoded first: must be a Box"),
        ({}, {"action_space": BOX}, "must be Discrete from 0"),
        ({}, {"action_space": {**DISCRETE, "start": "1"}}, "must be Discrete from 0"),
    ],
)
def test_what_no_mlp_answers_exactly_is_refused(
    tmp_path: Path,
    convert: Convert,
    capsys: pytest.CaptureFixture[str],
    change: Tensors,
    facts: dict[str, Any],
    reason: str,
) -> None:
    state = {**Sb3().state_dict(), **change}
    assert convert(archived(tmp_path / "a.zip", state, {**FACTS, **facts}), "sb3") == 2
    assert reason in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []


def test_a_told_activation_must_be_that_of_the_archive(
    tmp_path: Path, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    path = archived(tmp_path / "a.zip", Sb3().state_dict())
    assert convert(path, "sb3", "--parameter", "activation=relu") == 2
    assert "--parameter activation=relu: the file says tanh" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "reason"), [([], "no policy.pth in the archive"), (["policy.pth"], "refuses it")]
)
def test_another_zip_is_refused(
    tmp_path: Path,
    convert: Convert,
    capsys: pytest.CaptureFixture[str],
    names: list[str],
    reason: str,
) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in names:
            archive.writestr(name, "nonsense")
    assert convert(tmp_path / "a.zip", "sb3") == 2
    assert reason in capsys.readouterr().err


def test_an_archive_whose_data_are_broken_is_refused(
    tmp_path: Path, convert: Convert, capsys: pytest.CaptureFixture[str]
) -> None:
    assert convert(archived(tmp_path / "a.zip", Sb3().state_dict(), "{"), "sb3") == 2
    assert "`data` in the archive is no JSON" in capsys.readouterr().err
