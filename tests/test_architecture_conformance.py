"""Every architecture passes every check on every game; a broken one fails where it is broken."""

from collections.abc import Callable, Iterator, Mapping
from math import prod

import pytest
import torch
from torch import Tensor, nn

from arena.conformance.base import run_check
from arena.games import registry as games
from arena.games.base import Game
from arena.parameters import Parameter, read_parameters
from inference import conformance as checks
from inference.architectures import registry as architectures
from inference.architectures.base import Architecture
from inference.conformance import CHECKS
from tests.catalogs import each, each_check

Check = Callable[[Architecture, Game], None]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@each_check(CHECKS)
@pytest.mark.parametrize("game", games.names())
@each(architectures.names())
def test_the_architecture_keeps_to(name: str, game: str, check: Check) -> None:
    check(architectures.get(name), games.get(game))


@each(architectures.names())
def test_the_id_is_the_name_of_the_file(name: str) -> None:
    assert architectures.get(name).id == name


@each(architectures.names())
def test_it_plays_at_least_one_game(name: str) -> None:
    specs = [games.get(game).spec for game in games.names()]
    refusal = architectures.get(name).refusal
    assert any(refusal(spec.observation_shape) is None for spec in specs)


def test_a_default_is_a_promise_to_every_stored_checkpoint() -> None:
    """Add a parameter rather than change one of these: a seal names only what it was given."""
    defaults = {
        name: {p.name: p.default for p in architectures.get(name).parameters}
        for name in ("gru", "lines", "mlp", "rescnn", "transformer")
    }
    assert defaults == {
        "gru": {"width": 128, "layers": 1},
        "lines": {"length": 4, "width": 128},
        "mlp": {
            "hidden": "256,256",
            "value_hidden": "shared",
            "activation": "relu",
            "bounded_value": True,
        },
        "rescnn": {"channels": 32, "blocks": 4, "value_width": 64},
        "transformer": {"width": 64, "depth": 2, "heads": 4, "chunk": 16},
    }


class Plain(nn.Module):
    """Right in all that a subclass does not break."""

    def __init__(self, shape: tuple[int, ...], n_actions: int) -> None:
        super().__init__()
        self.policy = nn.Linear(prod(shape), n_actions)
        self.value = nn.Linear(prod(shape), 1)

    def forward(self, observations: Tensor, states: Tensor) -> checks.Answer:
        flat = observations.flatten(1)
        return self.policy(flat), self.value(flat).squeeze(-1).tanh(), states


class Broken:
    """Right in all that a subclass does not break."""

    id = "broken"
    title = "Broken"
    parameters: tuple[Parameter, ...] = (Parameter("size", 1, "nothing", 0, 9),)
    module: Callable[[tuple[int, ...], int], nn.Module] = Plain

    def refusal(self, observation_shape: tuple[int, ...]) -> str | None:
        return None

    def state_size(self, parameters: Mapping[str, object]) -> int:
        return 0

    def build(
        self, observation_shape: tuple[int, ...], n_actions: int, parameters: Mapping[str, object]
    ) -> nn.Module:
        read_parameters(self.id, self.parameters, parameters)
        return type(self).module(observation_shape, n_actions)


def broken(module: type[nn.Module], **attributes: object) -> Architecture:
    made: Architecture = type("Made", (Broken,), {"module": module, **attributes})()
    return made


class MinesTheBatch(Plain):
    def forward(self, observations: Tensor, states: Tensor) -> checks.Answer:
        return super().forward(observations - observations.mean(0), states)


class Widens(Plain):
    def forward(self, observations: Tensor, states: Tensor) -> checks.Answer:
        logits, values, states = super().forward(observations, states)
        return logits, values.unsqueeze(-1), states


class Divides(Plain):
    def forward(self, observations: Tensor, states: Tensor) -> checks.Answer:
        logits, values, states = super().forward(observations, states)
        return logits / 0, values, states


class Unbounded(Plain):
    def forward(self, observations: Tensor, states: Tensor) -> checks.Answer:
        logits, values, states = super().forward(observations, states)
        return logits, values + 7, states


class WritesInPlace(Plain):
    def forward(self, observations: Tensor, states: Tensor) -> checks.Answer:
        return super().forward(observations.mul_(0.5), states)


class Branches(Plain):
    def forward(self, observations: Tensor, states: Tensor) -> checks.Answer:
        if self.policy.bias.sum() > 0:
            observations = -observations
        return super().forward(observations, states)


class IgnoresTheSeed(Plain):
    def __init__(self, shape: tuple[int, ...], n_actions: int) -> None:
        super().__init__(shape, n_actions)
        for weight in self.parameters():
            nn.init.constant_(weight, 0.1)


class HasAnIdleWeight(Plain):
    def __init__(self, shape: tuple[int, ...], n_actions: int) -> None:
        super().__init__(shape, n_actions)
        self.idle = nn.Linear(1, 1)


class HidesABuffer(Plain):
    def __init__(self, shape: tuple[int, ...], n_actions: int) -> None:
        super().__init__(shape, n_actions)
        self.register_buffer("scale", torch.ones(1), persistent=False)


class InsistsOnFloat32(Plain):
    def forward(self, observations: Tensor, states: Tensor) -> checks.Answer:
        logits, values, states = super().forward(observations, states)
        return logits.float(), values, states


class Forgets(Plain):
    def forward(self, observations: Tensor, states: Tensor) -> checks.Answer:
        return *super().forward(observations, states)[:2], torch.ones_like(states)


class TakesMemory(Plain):
    def __init__(self, shape: tuple[int, ...], n_actions: int) -> None:
        super().__init__(shape, n_actions)
        self.weight = nn.Parameter(torch.empty(2**60, device="cpu"))


class BuildsWhatItRefuses(Broken):
    def refusal(self, observation_shape: tuple[int, ...]) -> str | None:
        return "no"


class TakesAnything(Broken):
    def build(
        self, observation_shape: tuple[int, ...], n_actions: int, parameters: Mapping[str, object]
    ) -> nn.Module:
        return Plain(observation_shape, n_actions)


def four(self: object, parameters: Mapping[str, object]) -> int:
    return 4


BROKEN: tuple[tuple[Check, Architecture], ...] = (
    (checks.says_what_it_is, broken(Plain, title="")),
    (checks.says_what_it_is, broken(Plain, parameters=(Parameter("size", 10, "nothing", 0, 9),))),
    (checks.refuses_with_its_reason, BuildsWhatItRefuses()),
    (checks.refuses_unknown_parameters, TakesAnything()),
    (checks.answers_finite_floats_of_its_shapes, broken(Widens)),
    (checks.answers_finite_floats_of_its_shapes, broken(Divides)),
    (checks.answers_finite_floats_of_its_shapes, broken(Unbounded)),
    (checks.answers_each_row_on_its_own, broken(MinesTheBatch)),
    (checks.leaves_weights_and_rows_alone, broken(WritesInPlace)),
    (checks.can_be_stacked, broken(Branches)),
    (checks.draws_its_weights_from_the_seed, broken(IgnoresTheSeed)),
    (checks.trains_every_weight, broken(HasAnIdleWeight)),
    (checks.survives_its_file, broken(HidesABuffer)),
    (checks.answers_in_half_precision, broken(InsistsOnFloat32)),
    (checks.tells_what_it_remembers, broken(Forgets, state_size=four)),
    (checks.bounds_what_can_be_asked_for, broken(TakesMemory)),
)


@pytest.mark.parametrize(("check", "architecture"), BROKEN)
def test_the_check_finds_the_broken_architecture(
    check: Check, architecture: Architecture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference.model.registry.get", lambda name: architecture)
    assert run_check(check, architecture, games.get("tic_tac_toe"))


@each_check(CHECKS)
def test_the_check_passes_what_is_right(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inference.model.registry.get", lambda name: Broken())
    check(Broken(), games.get("tic_tac_toe"))


def test_every_check_has_an_architecture_that_fails_it() -> None:
    assert {check for check, _ in BROKEN} == set(CHECKS)
