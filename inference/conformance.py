"""What every architecture must keep to, on every game whose observations it takes."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from arena.checkpoints import Seal
from arena.conformance.base import NamedCheck, bind_checks, expect_error, require
from arena.conformance.families import GAMES, name_check
from arena.conformance.reporting import main
from arena.errors import CheckpointFileError, ParameterError
from arena.games import registry as games
from arena.games.base import Game, GameSpec
from inference.architectures import registry
from inference.architectures.base import Architecture
from inference.model import fresh, load, save_sealed, skeleton

N_ROWS = 5
CLOSE = 1e-5
MAX_SECONDS = 2
PARTS = ("logits", "values", "states")
Answer = tuple[Tensor, Tensor, Tensor]


def says_what_it_is(architecture: Architecture, game: Game) -> None:
    """Check that it has a title, and parameters with distinct names, sound defaults and help."""
    del game
    require(architecture.title, "give it a title")
    names = [parameter.name for parameter in architecture.parameters]
    require(len(set(names)) == len(names), f"parameters must have distinct names, are {names}")
    for parameter in architecture.parameters:
        value = parameter.read_value(architecture.id, parameter.default)
        require(value == parameter.default, f"the default of {parameter.name!r} is not its own")
        require(parameter.help, f"give the parameter {parameter.name!r} a help text")


def refuses_with_its_reason(architecture: Architecture, game: Game) -> None:
    """Check that build() raises ParameterError where refusal() says why, and builds elsewhere."""
    reason = architecture.refusal(game.spec.observation_shape)
    if reason is None:
        require(built(architecture, game.spec) is not None, "build() must return a module")
        return
    require(reason, "refusal() must be None or say why: it is empty")
    with expect_error(ParameterError, f"build() must refuse {game.spec.id} as refusal() does"):
        built(architecture, game.spec)


def refuses_unknown_parameters(architecture: Architecture, game: Game) -> None:
    """Check that build() refuses what is not declared, or of another type, and names it."""
    if not takes(architecture, game):
        return
    refused: list[dict[str, object]] = [{"no_such_parameter": 1}]
    refused += [{parameter.name: object()} for parameter in architecture.parameters]
    for parameters in refused:
        (name,) = parameters
        with expect_error(ParameterError, f"build() must refuse {name!r}", name=name):
            architecture.build(game.spec.observation_shape, game.spec.n_actions, parameters)


def answers_finite_floats_of_its_shapes(architecture: Architecture, game: Game) -> None:
    """Check that logits, values and states have the declared shapes and are finite float32."""
    if takes(architecture, game):
        size = architecture.state_size({})
        logits, values, states = answer(built(architecture, game.spec), rows(game, size))
        shapes = ((N_ROWS, game.spec.n_actions), (N_ROWS,), (N_ROWS, size))
        for part, name, shape in zip((logits, values, states), PARTS, shapes, strict=True):
            require(part.shape == shape, f"{name} must have shape {shape}, have {part.shape}")
            require(part.dtype == torch.float32, f"{name} must be float32, are {part.dtype}")
            require(torch.isfinite(part).all(), f"{name} must be finite")
        require((values.abs() <= 1).all(), "by default a value is in -1..1")


def answers_each_row_on_its_own(architecture: Architecture, game: Game) -> None:
    """Check that no row of a batch changes what is answered for another."""
    if takes(architecture, game):
        questions = rows(game, architecture.state_size({}))
        module = built(architecture, game.spec)
        row_by_row = [
            answer(module, (questions[0][i : i + 1], questions[1][i : i + 1]))
            for i in range(N_ROWS)
        ]
        together = answer(module, questions)
        change = "a row must be answered on its own: no statistics over the batch"
        require_close(
            [torch.cat(parts) for parts in zip(*row_by_row, strict=True)], together, change
        )


def leaves_weights_and_rows_alone(architecture: Architecture, game: Game) -> None:
    """Check that it can be asked again: also not a mode or a cache may change."""
    if takes(architecture, game):
        questions = rows(game, architecture.state_size({}))
        module = built(architecture, game.spec)
        before = [tensor.clone() for tensor in (*questions, *module.state_dict().values())]
        first, second = answer(module, questions), answer(module, questions)
        after = (*questions, *module.state_dict().values())
        require_equal(before, after, "forward() must change neither rows nor weights nor buffers")
        require_equal(first, second, "forward() must answer the same twice in eval()")


def can_be_stacked(architecture: Architecture, game: Game) -> None:
    """Check that networks answer in one stacked forward as each does alone."""
    if not takes(architecture, game):
        return
    questions = rows(game, architecture.state_size({}))
    siblings = [built(architecture, game.spec, seed=seed).requires_grad_(False) for seed in (1, 2)]
    weights, buffers = stack_module_state(siblings)

    def ask(state: dict[str, Tensor], observations: Tensor, states: Tensor) -> Answer:
        answered: Answer = functional_call(siblings[0], state, (observations, states))
        return answered

    stacked = vmap(ask)({**weights, **buffers}, *(torch.stack([part, part]) for part in questions))
    for place, sibling in enumerate(siblings):
        change = "siblings in one forward (torch.func.vmap) must answer as each of them alone"
        require_close([part[place] for part in stacked], answer(sibling, questions), change)


def draws_its_weights_from_the_seed(architecture: Architecture, game: Game) -> None:
    """Check that fresh weights follow from the seed of torch."""
    if takes(architecture, game):
        weights, same, other = (
            built(architecture, game.spec, seed=seed).state_dict() for seed in (1, 1, 2)
        )
        is_same = all(torch.equal(weights[name], same[name]) for name in weights)
        require(is_same, "one seed must give the same weights: draw them from torch alone")
        is_other = any(not torch.equal(weights[name], other[name]) for name in weights)
        require(is_other, "another seed must give other weights")


def trains_every_weight(architecture: Architecture, game: Game) -> None:
    """Check that a gradient reaches every weight."""
    if takes(architecture, game):
        module = built(architecture, game.spec).train()
        logits, values, _ = module(*rows(game, architecture.state_size({})))
        (logits.square().mean() + values.square().mean()).backward()
        idle = [name for name, weight in module.named_parameters() if weight.grad is None]
        require(not idle, f"no gradient reaches {idle}: use these weights or drop them")


def survives_its_file(architecture: Architecture, game: Game) -> None:
    """Check that what is saved and loaded answers alike."""
    if not takes(architecture, game):
        return
    questions, seal = rows(game, architecture.state_size({})), seal_of(architecture, game.spec)
    module = fresh(seal, seed=3).eval()
    with TemporaryDirectory() as folder:
        save_sealed(module, Path(folder) / "file", seal)
        loaded = load(Path(folder) / "file")
    is_same = loaded.state_size == architecture.state_size({})
    require(is_same, "state_size() must be the same for a loaded file")
    change = "a saved and loaded network must answer alike: keep all it needs as weights or buffers"
    require_equal(answer(loaded.module, questions), answer(module, questions), change)


def answers_in_half_precision(architecture: Architecture, game: Game) -> None:
    """Check that it can be asked in bfloat16."""
    if takes(architecture, game):
        module = built(architecture, game.spec).to(torch.bfloat16)
        questions = rows(game, architecture.state_size({}))
        halved = answer(module, (questions[0].bfloat16(), questions[1].bfloat16()))
        is_half = all(part.dtype == torch.bfloat16 for part in halved)
        require(is_half, "in bfloat16 it must answer in bfloat16: name no dtype in forward()")


def tells_what_it_remembers(architecture: Architecture, game: Game) -> None:
    """Check that recurrent state changes what is answered, and that there is none without."""
    size = architecture.state_size({})
    if takes(architecture, game) and size:
        module = built(architecture, game.spec)
        observations, _ = rows(game, size)
        first = answer(module, (observations, torch.zeros(N_ROWS, size)))
        next_answer = answer(module, (observations, first[2]))
        is_used = not torch.allclose(first[0], next_answer[0])
        require(is_used, "the recurrent state must change what is answered")


def bounds_what_can_be_asked_for(architecture: Architecture, game: Game) -> None:
    """Check that nobody gets a network of terabytes, nor waits for its refusal."""
    if not takes(architecture, game):
        return
    # Once before: what torch loads with its first module takes a second of its own.
    skeleton(seal_of(architecture, game.spec))
    largest = {p.name: p.maximum for p in architecture.parameters if p.maximum is not None}
    for name, value in largest.items():
        seal = replace(seal_of(architecture, game.spec), parameters={name: int(value)})
        began = process_time()
        with suppress(CheckpointFileError):
            skeleton(seal)
        is_quick = process_time() - began < MAX_SECONDS
        require(is_quick, f"{name}={value} must be built, or refused, within {MAX_SECONDS} s")


def takes(architecture: Architecture, game: Game) -> bool:
    """Say whether it takes the observations of a game."""
    return architecture.refusal(game.spec.observation_shape) is None


def built(architecture: Architecture, spec: GameSpec, *, seed: int = 1) -> nn.Module:
    """Return a module with default parameters, its weights drawn from the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return architecture.build(spec.observation_shape, spec.n_actions, {}).eval()


def seal_of(architecture: Architecture, spec: GameSpec) -> Seal:
    """Return the seal of a checkpoint of this architecture for a game."""
    return Seal(architecture.id, {}, spec.id, spec.observation_shape, spec.n_actions)


def rows(game: Game, state_size: int) -> tuple[Tensor, Tensor]:
    """Return observations of the game among noise, and states of noise."""
    rng = np.random.default_rng(5)
    observations = rng.standard_normal((N_ROWS, *game.spec.observation_shape)).astype(np.float32)
    observations[0] = game.start(1, opening_plies=0).observation(0)
    states = rng.standard_normal((N_ROWS, state_size)).astype(np.float32)
    return torch.from_numpy(observations), torch.from_numpy(states)


@torch.no_grad()
def answer(module: nn.Module, questions: tuple[Tensor, Tensor]) -> Answer:
    """Return what a module answers, without gradients."""
    answered: Answer = module(*questions)
    return answered


def require_close(first: Sequence[Tensor], second: Sequence[Tensor], change: str) -> None:
    """Raise ConformanceError unless the tensors are the same up to rounding."""
    pairs = zip(first, second, strict=True)
    require(all(torch.allclose(a, b, atol=CLOSE, rtol=CLOSE) for a, b in pairs), change)


def require_equal(first: Sequence[Tensor], second: Sequence[Tensor], change: str) -> None:
    """Raise ConformanceError unless the tensors are the same to the bit."""
    require(all(torch.equal(a, b) for a, b in zip(first, second, strict=True)), change)


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


def list_checks(name: str, on_games: Sequence[str]) -> list[NamedCheck]:
    """Return all checks of an architecture on the observations of these games, or of three.

    Raises UnknownNameError, CatalogError, and ConformanceError where it takes none of them.
    """
    architecture = registry.get(name)
    chosen = {game: games.get(game) for game in on_games or GAMES}
    is_taken = any(takes(architecture, game) for game in chosen.values())
    require(is_taken, f"name games that it takes with --game: it takes none of {list(chosen)}")
    checks = (bind_checks(CHECKS, architecture, chosen[game], under=game) for game in chosen)
    return [name_check(architecture.id, name), *chain.from_iterable(checks)]


if __name__ == "__main__":
    main({"architecture": list_checks})
