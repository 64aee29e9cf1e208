"""What every architecture must keep to, on every game: each check fails where it does not."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from arena.checkpoints import Seal
from arena.errors import CheckpointFileError, ParameterError
from arena.games.base import Game, GameSpec
from inference.architectures.base import Architecture
from inference.model import fresh, load, save_sealed, skeleton

N_ROWS = 5
CLOSE = 1e-5
Answer = tuple[Tensor, Tensor, Tensor]


def says_what_it_is(architecture: Architecture, game: Game) -> None:
    assert architecture.title
    names = [parameter.name for parameter in architecture.parameters]
    assert len(set(names)) == len(names)
    for parameter in architecture.parameters:
        assert parameter.read_value(architecture.id, parameter.default) == parameter.default
        assert parameter.help


def refuses_with_its_reason(architecture: Architecture, game: Game) -> None:
    reason = architecture.refusal(game.spec.observation_shape)
    if reason is None:
        assert built(architecture, game.spec)
        return
    with pytest.raises(ParameterError) as caught:
        built(architecture, game.spec)
    assert reason, "an empty reason"
    assert all(word in str(caught.value) for word in (reason, architecture.id))


def refuses_unknown_parameters(architecture: Architecture, game: Game) -> None:
    if not takes(architecture, game):
        return
    refused: list[dict[str, object]] = [{"no_such_parameter": 1}]
    refused += [{parameter.name: object()} for parameter in architecture.parameters]
    for parameters in refused:
        with pytest.raises(ParameterError) as caught:
            architecture.build(game.spec.observation_shape, game.spec.n_actions, parameters)
        assert caught.value.name in parameters, "the message names the parameter"


def answers_finite_floats_of_its_shapes(architecture: Architecture, game: Game) -> None:
    if takes(architecture, game):
        size = architecture.state_size({})
        logits, values, states = answer(built(architecture, game.spec), rows(game, size))
        assert logits.shape == (N_ROWS, game.spec.n_actions)
        assert values.shape == (N_ROWS,)
        assert states.shape == (N_ROWS, size)
        for part in (logits, values, states):
            assert part.dtype == torch.float32
            assert torch.isfinite(part).all()
        assert (values.abs() <= 1).all(), "by default a value is in -1..1"


def answers_each_row_on_its_own(architecture: Architecture, game: Game) -> None:
    if takes(architecture, game):
        asked = rows(game, architecture.state_size({}))
        module = built(architecture, game.spec)
        alone = [answer(module, (asked[0][i : i + 1], asked[1][i : i + 1])) for i in range(N_ROWS)]
        together = answer(module, asked)
        assert_close([torch.cat(parts) for parts in zip(*alone, strict=True)], together)


def leaves_weights_and_rows_alone(architecture: Architecture, game: Game) -> None:
    """Check that it can be asked again: also not a mode or a cache may change."""
    if takes(architecture, game):
        asked = rows(game, architecture.state_size({}))
        module = built(architecture, game.spec)
        before = [tensor.clone() for tensor in (*asked, *module.state_dict().values())]
        first, second = answer(module, asked), answer(module, asked)
        after = (*asked, *module.state_dict().values())
        assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
        assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def can_be_stacked(architecture: Architecture, game: Game) -> None:
    """Check that siblings in one forward answer as each of them alone."""
    if not takes(architecture, game):
        return
    asked = rows(game, architecture.state_size({}))
    siblings = [built(architecture, game.spec, seed=seed).requires_grad_(False) for seed in (1, 2)]
    weights, buffers = stack_module_state(siblings)

    def ask(state: dict[str, Tensor], observations: Tensor, states: Tensor) -> Answer:
        answered: Answer = functional_call(siblings[0], state, (observations, states))
        return answered

    stacked = vmap(ask)({**weights, **buffers}, *(torch.stack([part, part]) for part in asked))
    for place, sibling in enumerate(siblings):
        assert_close([part[place] for part in stacked], answer(sibling, asked))


def draws_its_weights_from_the_seed(architecture: Architecture, game: Game) -> None:
    if takes(architecture, game):
        one, same, other = (
            built(architecture, game.spec, seed=seed).state_dict() for seed in (1, 1, 2)
        )
        assert all(torch.equal(one[name], same[name]) for name in one)
        assert any(not torch.equal(one[name], other[name]) for name in one)


def trains_every_weight(architecture: Architecture, game: Game) -> None:
    if takes(architecture, game):
        module = built(architecture, game.spec).train()
        logits, values, _ = module(*rows(game, architecture.state_size({})))
        (logits.square().mean() + values.square().mean()).backward()
        assert [name for name, weight in module.named_parameters() if weight.grad is None] == []


def survives_its_file(architecture: Architecture, game: Game) -> None:
    if not takes(architecture, game):
        return
    asked, seal = rows(game, architecture.state_size({})), seal_of(architecture, game.spec)
    module = fresh(seal, seed=3).eval()
    with TemporaryDirectory() as folder:
        save_sealed(module, Path(folder) / "file", seal)
        loaded = load(Path(folder) / "file")
    assert loaded.state_size == architecture.state_size({})
    assert_equal(answer(loaded.module, asked), answer(module, asked))


def answers_in_half_precision(architecture: Architecture, game: Game) -> None:
    if takes(architecture, game):
        module = built(architecture, game.spec).to(torch.bfloat16)
        asked = rows(game, architecture.state_size({}))
        halved = answer(module, (asked[0].bfloat16(), asked[1].bfloat16()))
        assert all(part.dtype == torch.bfloat16 for part in halved)


def tells_what_it_remembers(architecture: Architecture, game: Game) -> None:
    """Check that recurrent state changes what is answered, and that there is none without."""
    size = architecture.state_size({})
    if takes(architecture, game) and size:
        module = built(architecture, game.spec)
        observations, _ = rows(game, size)
        first = answer(module, (observations, torch.zeros(N_ROWS, size)))
        later = answer(module, (observations, first[2]))
        assert not torch.allclose(first[0], later[0])


def bounds_what_can_be_asked_for(architecture: Architecture, game: Game) -> None:
    """Check that nobody gets a network of terabytes, nor waits for its refusal."""
    if not takes(architecture, game):
        return
    largest = {p.name: p.maximum for p in architecture.parameters if p.maximum is not None}
    for name, value in largest.items():
        seal = replace(seal_of(architecture, game.spec), parameters={name: int(value)})
        began = process_time()
        with suppress(CheckpointFileError):
            skeleton(seal)
        assert process_time() - began < 2, f"{name} {value} takes long"


def takes(architecture: Architecture, game: Game) -> bool:
    return architecture.refusal(game.spec.observation_shape) is None


def built(architecture: Architecture, spec: GameSpec, *, seed: int = 1) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return architecture.build(spec.observation_shape, spec.n_actions, {}).eval()


def seal_of(architecture: Architecture, spec: GameSpec) -> Seal:
    return Seal(architecture.id, {}, spec.id, spec.observation_shape, spec.n_actions)


def rows(game: Game, state_size: int) -> tuple[Tensor, Tensor]:
    """Return observations of the game among noise, and states of noise."""
    rng = np.random.default_rng(5)
    observations = rng.standard_normal((N_ROWS, *game.spec.observation_shape)).astype(np.float32)
    observations[0] = game.start(1, opening_plies=0).observation(0)
    states = rng.standard_normal((N_ROWS, state_size)).astype(np.float32)
    return torch.from_numpy(observations), torch.from_numpy(states)


@torch.no_grad()
def answer(module: nn.Module, asked: tuple[Tensor, Tensor]) -> Answer:
    answered: Answer = module(*asked)
    return answered


def assert_close(found: Sequence[Tensor], wanted: Sequence[Tensor]) -> None:
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=CLOSE, rtol=CLOSE)


def assert_equal(found: Sequence[Tensor], wanted: Sequence[Tensor]) -> None:
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))


CHECKS: tuple[Callable[[Architecture, Game], None], ...] = (
    says_what_it_is,
    refuses_with_its_reason,
    refuses_unknown_parameters,
    answers_finite_floats_of_its_shapes,
    answers_each_row_on_its_own,
    leaves_weights_and_rows_alone,
    can_be_stacked,
    draws_its_weights_from_the_seed,
    trains_every_weight,
    survives_its_file,
    answers_in_half_precision,
    tells_what_it_remembers,
    bounds_what_can_be_asked_for,
)
