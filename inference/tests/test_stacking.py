"""Siblings that share a forward answer what they answer alone."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from arena.games.catalog.connect_four import GAME
from arena.parameters import Value
from inference.batch_invariance import Forward, Outputs
from inference.model import Model
from inference.protocol import BlockRequest, CheckpointRef, Fault
from inference.stacking import BUCKETS, MOST_NETWORKS, Stacks
from inference.tests.engines import Bench, Tripwire, block_of, evaluated
from inference.tests.sealed import Folder

PATIENCE = 16

FORMS: list[tuple[str, dict[str, Value], int]] = [
    ("mlp", {"hidden": "32,32"}, 0),
    ("mlp", {"hidden": "37", "value_hidden": "16"}, 0),
    ("rescnn", {"channels": 16, "blocks": 1}, 0),
    ("gru", {"width": 32, "layers": 2}, 64),
    ("transformer", {"width": 16, "depth": 1}, 0),
]


def cheap() -> Callable[[], float]:
    """Return a clock under which what is timed first, the stacked forward, takes least."""
    ticks: Iterator[int] = count()
    return lambda: float(next(ticks) ** 3)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "cache")


def stacking(
    folder: Folder,
    *,
    is_deterministic: bool = True,
    clock: Callable[[], float],
    limit_bytes: int = 1 << 28,
    make: Callable[[Model], Forward] = Tripwire,
) -> tuple[Bench, Stacks]:
    """Return an engine that stacks, and what decides about it.

    Not deterministic where a test is about when, not about bits: on some processors the bits of
    small networks differ (MKL_CBWR=COMPATIBLE shows it).
    """
    bench = Bench(folder, is_deterministic=is_deterministic, make=make)
    stacks = Stacks(
        bench.models.find_loaded,
        must_be_equal=is_deterministic,
        limit_bytes=limit_bytes,
        patience=PATIENCE,
        clock=clock,
    )
    bench.engine.stacks = stacks
    return bench, stacks


def siblings(folder: Folder, n: int, architecture: str, **parameters: Value) -> list[CheckpointRef]:
    return [folder.add(architecture, parameters, seed=seed) for seed in range(n)]


def warm(bench: Bench, blocks: list[BlockRequest]) -> None:
    """Ask until weights are stacked, if they ever are."""
    for _ in range(PATIENCE // len(blocks) + 1):
        bench.ask(*blocks)


def positions(n: int) -> np.ndarray:
    """Return observations of a recorded game of connect four, played at random."""
    rng = np.random.default_rng(0)
    observations: list[np.ndarray] = []
    while len(observations) < n:
        state = GAME.start(len(observations), opening_plies=4)
        while (seat := state.to_move()) >= 0:
            observations.append(np.asarray(state.observation(seat), np.float32))
            state.apply(int(rng.choice(state.legal_actions())))
    return np.stack(observations[:n])


@pytest.mark.parametrize(("architecture", "parameters", "state_size"), FORMS)
def test_a_stacked_forward_has_the_bits_of_separate_ones(
    folder: Folder, architecture: str, parameters: dict[str, Value], state_size: int
) -> None:
    refs = siblings(folder, 5, architecture, **parameters)
    blocks = [
        block_of(ref, n, seed=n, state_size=state_size) for n, ref in enumerate(refs, start=1)
    ]
    alone = Bench(folder).ask(*blocks)
    bench, stacks = stacking(folder, clock=cheap())
    warm(bench, blocks)
    stacked = bench.engine.counts["stacked"]
    refused = any("bits differ" in trial.reason for trial in stacks.trials.values())
    assert bool(stacked) != refused, [trial.reason for trial in stacks.trials.values()]
    for ours, theirs in zip(bench.ask(*blocks), alone, strict=True):
        for part, expected in zip(evaluated(ours), evaluated(theirs), strict=True):
            np.testing.assert_array_equal(part, expected)
    assert bench.engine.counts["stacked"] == stacked + (not refused)


@pytest.mark.parametrize(("architecture", "parameters", "state_size"), FORMS)
def test_greedy_actions_are_those_of_batches_of_one(
    folder: Folder, architecture: str, parameters: dict[str, Value], state_size: int
) -> None:
    refs, observations = siblings(folder, 3, architecture, **parameters), positions(12)
    bench, _stacks = stacking(folder, is_deterministic=False, clock=cheap())
    alone = Bench(folder, is_deterministic=False, make=lambda model: model.module)

    def make_block(ref: CheckpointRef, rows: np.ndarray) -> BlockRequest:
        return BlockRequest(ref, rows, np.zeros((len(rows), state_size), np.float32))

    parts = np.split(observations, 3)
    warm(bench, [make_block(ref, parts[0]) for ref in refs])
    for rows in parts:
        answers = bench.ask(*(make_block(ref, rows) for ref in refs))
        for ref, answer in zip(refs, answers, strict=True):
            single = [evaluated(alone.ask(make_block(ref, row[None]))[0]).logits[0] for row in rows]
            logits = evaluated(answer).logits
            np.testing.assert_allclose(logits, single, rtol=1e-4, atol=1e-5)
            np.testing.assert_array_equal(logits.argmax(1), np.argmax(single, 1))
    assert bench.engine.counts["stacked"] >= len(parts)


def test_some_of_the_siblings_are_answered_by_the_stack_of_all(folder: Folder) -> None:
    refs = siblings(folder, 6, "mlp", hidden="16")
    bench, _stacks = stacking(folder, is_deterministic=False, clock=cheap())
    warm(bench, [block_of(ref, 2) for ref in refs])
    before = bench.engine.counts
    newcomer = folder.add("mlp", {"hidden": "16"}, seed=99)
    chosen_refs = [refs[4], newcomer, refs[1]]
    blocks = [block_of(ref, 3, seed=3) for ref in chosen_refs]
    for ours, theirs in zip(bench.ask(*blocks), Bench(folder).ask(*blocks), strict=True):
        np.testing.assert_allclose(
            evaluated(ours).logits, evaluated(theirs).logits, rtol=1e-4, atol=1e-5
        )
    gained = bench.engine.counts - before
    assert (gained["stacked"], gained["forwards"], gained["rows"]) == (1, 2, 9)


def test_a_network_that_answers_nan_fails_alone_among_its_siblings(folder: Folder) -> None:
    refs = siblings(folder, 3, "mlp", hidden="16")
    refs.insert(1, folder.add("mlp", {"hidden": "16"}, seed=9, scale=1e30))
    bench, _stacks = stacking(folder, is_deterministic=False, clock=cheap())
    warm(bench, [block_of(ref, 2) for ref in refs])
    answers = bench.ask(*(block_of(ref, 2) for ref in refs))
    assert [isinstance(answer, Fault) for answer in answers] == [False, True, False, False]
    assert bench.engine.counts["stacked"] > 0


def test_a_block_with_nan_fails_alone_among_its_siblings(folder: Folder) -> None:
    refs = siblings(folder, 4, "mlp", hidden="16")
    bench, _stacks = stacking(folder, clock=cheap())
    warm(bench, [block_of(ref, 2) for ref in refs])
    answers = bench.ask(*(block_of(ref, 2, mark=np.nan if ref == refs[2] else 0) for ref in refs))
    assert [isinstance(answer, Fault) for answer in answers] == [False, False, True, False]


class Unlike(Tripwire):
    """Rounds otherwise than its module does when it runs with its siblings."""

    def __call__(self, rows: Tensor, states: Tensor) -> Outputs:
        logits, values, after = super().__call__(rows, states)
        return logits * (1 + 1e-6), values, after


class Other(Tripwire):
    """Answers something else than its module."""

    def __call__(self, rows: Tensor, states: Tensor) -> Outputs:
        logits, values, after = super().__call__(rows, states)
        return logits + 1, values, after


@pytest.mark.parametrize(
    ("make", "is_deterministic", "reason"),
    [(Unlike, True, "bits differ"), (Unlike, False, ""), (Other, False, "something else")],
)
def test_siblings_run_alone_where_the_trial_says_so(
    folder: Folder, make: Callable[[Model], Tripwire], is_deterministic: bool, reason: str
) -> None:
    bench, stacks = stacking(folder, is_deterministic=is_deterministic, make=make, clock=cheap())
    refs = siblings(folder, 4, "mlp", hidden="16")
    warm(bench, [block_of(ref, 2) for ref in refs])
    (trial,) = stacks.trials.values()
    assert reason in trial.reason
    assert bool(bench.engine.counts["stacked"]) == (not reason)


def test_what_is_not_faster_together_runs_alone(folder: Folder) -> None:
    ticks = (float(-(n**3)) for n in count())  # the later is timed, the less it takes
    bench, stacks = stacking(folder, is_deterministic=False, clock=lambda: next(ticks))
    warm(bench, [block_of(ref, 2) for ref in siblings(folder, 4, "mlp", hidden="16")])
    (trial,) = stacks.trials.values()
    assert trial.program is not None
    assert bench.engine.counts["stacked"] == 0


def test_an_architecture_that_cannot_be_traced_runs_alone(folder: Folder) -> None:
    class Branching(torch.nn.Module):
        def __init__(self, inner: torch.nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, rows: Tensor, states: Tensor) -> Outputs:
            outputs: Outputs = self.inner(rows, states)
            return outputs if bool(rows.sum() > -1e9) else self.inner(-rows, states)

    def make(model: Model) -> Tripwire:
        object.__setattr__(model, "module", Branching(model.module))
        return Tripwire(model)

    bench, stacks = stacking(folder, make=make, clock=cheap())
    blocks = [block_of(ref, 2) for ref in siblings(folder, 4, "mlp", hidden="16")]
    warm(bench, blocks)
    (trial,) = stacks.trials.values()
    assert "Error" in trial.reason
    assert all(evaluated(answer) for answer in bench.ask(*blocks))


def test_large_batches_and_large_networks_run_alone(folder: Folder) -> None:
    bench, stacks = stacking(folder, clock=cheap())
    small = siblings(folder, 4, "mlp", hidden="16")
    warm(bench, [block_of(ref, BUCKETS[-1] + 1) for ref in small])
    for ref in siblings(folder, 2, "mlp", hidden="2048,1024"):
        loaded = bench.models.get(ref)
        assert not stacks.can_take(loaded, 1)
    assert stacks.trials == {}


def test_the_siblings_asked_last_are_stacked(folder: Folder) -> None:
    refs = siblings(folder, MOST_NETWORKS + 8, "mlp", hidden="16")
    bench, stacks = stacking(folder, is_deterministic=False, clock=cheap())
    warm(bench, [block_of(ref, 1) for ref in refs[:MOST_NETWORKS]])
    warm(bench, [block_of(ref, 1) for ref in refs[8:]])
    warm(bench, [block_of(ref, 1) for ref in refs[8:]])  # eight of them are missed each time
    (stack,) = stacks._stacks.values()
    assert set(stack.places) == {ref.checkpoint for ref in refs[8:]}
    assert [key[1:] for key in stacks.trials] == [(MOST_NETWORKS, 4)]


def test_when_memory_is_out_the_stacked_weights_go(folder: Folder) -> None:
    bench, stacks = stacking(folder, clock=cheap())
    refs = siblings(folder, 4, "mlp", hidden="16")
    warm(bench, [block_of(ref, 2) for ref in refs])
    bench.engine._make_room(refs[0].checkpoint)
    assert stacks._stacks == {}
    assert len(bench.models) == 1


def test_only_so_many_bytes_are_stacked(folder: Folder) -> None:
    bench, stacks = stacking(folder, is_deterministic=False, clock=cheap(), limit_bytes=50_000)
    first, second = (siblings(folder, 4, "mlp", hidden=hidden) for hidden in ("16", "17"))
    for refs in (first, second):
        warm(bench, [block_of(ref, 2) for ref in refs])
    assert len(stacks._stacks) == 1
    bench, stacks = stacking(folder, is_deterministic=False, clock=cheap(), limit_bytes=1)
    warm(bench, [block_of(ref, 2) for ref in first])
    assert stacks._stacks == {}
