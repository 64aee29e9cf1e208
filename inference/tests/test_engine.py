"""The engine merges requests, and lets none of them suffer for another."""

from pathlib import Path

import numpy as np
import pytest
import torch

from inference.batch_invariance import FREE, Outputs
from inference.errors import NoArchitectureError
from inference.model import Model
from inference.protocol import Answer, BlockRequest, CheckpointRef, Fault, FaultKind, error_of
from inference.tests.engines import (
    ANSWERS_NAN,
    RAISES,
    Bench,
    Tripwire,
    block_of,
    evaluated,
)
from inference.tests.file_server import LINK
from inference.tests.sealed import N_ACTIONS, Folder, ref_of

SMALL = {"hidden": "16,16"}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "cache")


@pytest.fixture
def bench(folder: Folder) -> Bench:
    return Bench(folder)


def kinds(answers: list[Answer]) -> list[FaultKind | None]:
    return [answer.kind if isinstance(answer, Fault) else None for answer in answers]


def test_requests_of_one_checkpoint_share_a_forward(bench: Bench) -> None:
    ref = bench.folder.add("mlp", SMALL, seed=0)
    answers = bench.ask(*(block_of(ref, n, seed=n) for n in (1, 2, 5)))
    assert [evaluated(answer).logits.shape for answer in answers] == [
        (n, N_ACTIONS) for n in (1, 2, 5)
    ]
    assert [evaluated(answer).values.shape for answer in answers] == [(1,), (2,), (5,)]
    assert bench.engine.counts["forwards"] == 1
    assert bench.engine.counts["rows"] == 8
    assert bench.engine.counts["requests"] == 3


def test_each_request_gets_the_answer_of_its_own_rows(bench: Bench) -> None:
    first, second = (bench.folder.add("mlp", SMALL, seed=seed) for seed in (0, 1))
    blocks = [block_of(ref, 3, seed=seed) for seed in range(3) for ref in (first, second)]
    together = bench.ask(*blocks)
    for block, answer in zip(blocks, together, strict=True):
        (alone,) = bench.ask(block)
        np.testing.assert_array_equal(evaluated(answer).logits, evaluated(alone).logits)
        np.testing.assert_array_equal(evaluated(answer).values, evaluated(alone).values)


def test_recurrent_states_travel_with_their_rows(bench: Bench) -> None:
    ref = bench.folder.add("gru", {"width": 8}, seed=0)
    blocks = [block_of(ref, 2, seed=seed, state_size=8) for seed in range(2)]
    together = bench.ask(*blocks)
    for block, answer in zip(blocks, together, strict=True):
        (alone,) = bench.ask(block)
        assert evaluated(answer).states.shape == (2, 8)
        np.testing.assert_array_equal(evaluated(answer).states, evaluated(alone).states)


def test_read_only_arrays_are_taken(bench: Bench) -> None:
    block = block_of(bench.folder.add("mlp", SMALL, seed=0), 2)
    for array in (block.observations, block.states):
        array.flags.writeable = False
    evaluated(bench.ask(block)[0])


@pytest.mark.parametrize(
    ("rows", "states", "refusal"),
    [
        (np.zeros((2, 3, 6, 8), np.float32), np.zeros((2, 0), np.float32), "observations are"),
        (np.zeros((2, 3, 6, 7), np.float64), np.zeros((2, 0), np.float32), "float64"),
        (np.zeros((2, 3, 6, 7), np.float32), np.zeros((2, 4), np.float32), "states are"),
        (np.zeros((2, 3, 6, 7), np.float32), np.zeros((3, 0), np.float32), "states are"),
        (np.zeros((0, 3, 6, 7), np.float32), np.zeros((0, 0), np.float32), "no rows"),
        (np.float32(0), np.zeros((0, 0), np.float32), "no rows"),
        (np.full((2, 3, 6, 7), np.nan, np.float32), np.zeros((2, 0), np.float32), "NaN"),
        (np.full((2, 3, 6, 7), np.inf, np.float32), np.zeros((2, 0), np.float32), "NaN"),
    ],
)
def test_a_block_that_does_not_fit_fails_alone(
    bench: Bench, rows: np.ndarray, states: np.ndarray, refusal: str
) -> None:
    ref = bench.folder.add("mlp", SMALL, seed=0)
    good, bad = bench.ask(block_of(ref, 2), BlockRequest(ref, np.asarray(rows), states))
    evaluated(good)
    assert isinstance(bad, Fault)
    assert bad.kind is FaultKind.BAD_REQUEST
    assert refusal in bad.detail
    assert bench.engine.counts["fault_bad_request"] == 1


def test_large_finite_values_are_no_nan(bench: Bench) -> None:
    block = block_of(bench.folder.add("mlp", SMALL, seed=0), 4)
    block.observations[:] = 3e37  # their sum overflows
    evaluated(bench.ask(block)[0])


def test_of_a_merged_forward_that_raises_only_the_guilty_request_fails(bench: Bench) -> None:
    ref, other = (bench.folder.add("mlp", SMALL, seed=seed) for seed in (0, 1))
    answers = bench.ask(
        block_of(ref, 2), block_of(ref, 2, mark=RAISES), block_of(ref, 2), block_of(other, 2)
    )
    assert kinds(answers) == [None, FaultKind.MODEL_RAISED, None, None]
    assert "ValueError: a row it cannot bear" in answers[1].detail  # type: ignore[union-attr]


def test_only_the_request_that_was_answered_nan_fails(bench: Bench) -> None:
    ref = bench.folder.add("mlp", SMALL, seed=0)
    answers = bench.ask(block_of(ref, 2), block_of(ref, 2, mark=ANSWERS_NAN), block_of(ref, 2))
    assert kinds(answers) == [None, FaultKind.MODEL_INVALID, None]
    assert bench.engine.counts["forwards"] == 1


class Misshapen(Tripwire):
    def __call__(self, rows: torch.Tensor, states: torch.Tensor) -> Outputs:
        logits, values, after = super().__call__(rows, states)
        return logits[:, 1:], values, after


class Shapeless(Tripwire):
    def __call__(self, rows: torch.Tensor, states: torch.Tensor) -> Outputs:
        return None  # type: ignore[return-value]


@pytest.mark.parametrize("make", [Misshapen, Shapeless])
def test_an_answer_of_a_wrong_form_is_the_networks_fault(
    folder: Folder, make: type[Tripwire]
) -> None:
    bench = Bench(folder, make=make, is_deterministic=False)
    (answer,) = bench.ask(block_of(folder.add("mlp", SMALL, seed=0), 2))
    assert kinds([answer]) == [FaultKind.MODEL_RAISED]


def test_a_network_that_raises_when_it_is_tried_out_fails_alone(folder: Folder) -> None:
    def make(model: Model) -> Tripwire:
        return Tripwire(model, most_rows=1 << 20) if model.n_parameters < 3000 else Raising(model)

    bench = Bench(folder, make=make)
    good, bad = folder.add("mlp", SMALL, seed=0), folder.add("mlp", {"hidden": "64"}, seed=0)
    assert kinds(bench.ask(block_of(bad, 1), block_of(good, 1))) == [FaultKind.MODEL_RAISED, None]


class Raising(Tripwire):
    def __call__(self, rows: torch.Tensor, states: torch.Tensor) -> Outputs:
        raise ZeroDivisionError


def test_a_checkpoint_that_cannot_be_fetched_fails_alone(bench: Bench) -> None:
    ref = bench.folder.add("mlp", SMALL, seed=0)
    missing, nonsense = ref_of("0" * 64), CheckpointRef("../x", LINK)
    answers = bench.ask(block_of(missing, 1), block_of(ref, 1), block_of(nonsense, 1))
    assert kinds(answers) == [FaultKind.UNAVAILABLE, None, FaultKind.BAD_REQUEST]


def test_a_network_that_nothing_here_builds_is_told_from_one_that_is_late(bench: Bench) -> None:
    ref, foreign = bench.folder.add("mlp", SMALL, seed=0), bench.folder.add_foreign()
    answers = bench.ask(block_of(foreign, 1), block_of(ref, 1))
    assert kinds(answers) == [FaultKind.NO_ARCHITECTURE, None]
    assert isinstance(answers[0], Fault)
    assert isinstance(error_of(answers[0]), NoArchitectureError)


def test_another_link_of_the_same_checkpoint_is_tried(bench: Bench) -> None:
    ref = bench.folder.add("mlp", SMALL, seed=0)
    other = CheckpointRef(ref.checkpoint, ref.source + "b")
    answers = bench.ask(block_of(ref, 1), block_of(other, 1))
    assert kinds(answers) == [None, None]
    missing = [CheckpointRef("0" * 64, f"{LINK}{'0' * 64}?until={i}") for i in range(2)]
    assert kinds(bench.ask(*(block_of(m, 1) for m in missing))) == [FaultKind.UNAVAILABLE] * 2


def test_out_of_memory_halves_the_batch_and_is_remembered(folder: Folder) -> None:
    made: list[Tripwire] = []

    def make(model: Model) -> Tripwire:
        made.append(Tripwire(model, most_rows=40))
        return made[-1]

    bench = Bench(folder, make=make, is_deterministic=False)
    ref = folder.add("mlp", SMALL, seed=0)
    block = block_of(ref, 100)
    first = evaluated(bench.ask(block)[0])
    assert made[0].sizes == [100, 50, 25, 25, 25, 25]
    assert bench.engine.counts["halvings"] == 2
    assert bench.engine.forwards.limits == {ref.checkpoint: 25}
    again = evaluated(bench.ask(block)[0])
    assert made[0].sizes[6:] == [25, 25, 25, 25]
    np.testing.assert_array_equal(first.logits, again.logits)


def test_halves_keep_the_bits_in_deterministic_mode(folder: Folder) -> None:
    whole = Bench(folder)
    ref = folder.add("mlp", {}, seed=0)
    block = block_of(ref, 203)
    expected = evaluated(whole.ask(block)[0])
    small = Bench(folder, make=lambda model: Tripwire(model, most_rows=130))
    halved = evaluated(small.ask(block)[0])
    np.testing.assert_array_equal(halved.logits, expected.logits)
    np.testing.assert_array_equal(halved.values, expected.values)
    assert small.engine.counts["halvings"] == 1


def test_no_memory_for_one_row_is_the_platforms_fault(folder: Folder) -> None:
    bench = Bench(folder, make=lambda model: Tripwire(model, most_rows=0), is_deterministic=False)
    ref, other = (folder.add("mlp", SMALL, seed=seed) for seed in (0, 1))
    assert kinds(bench.ask(block_of(ref, 1), block_of(other, 1))) == [FaultKind.UNAVAILABLE] * 2
    assert bench.engine.counts["models_evicted"] >= 1


def test_no_memory_to_load_drops_the_others_and_tries_again(folder: Folder) -> None:
    n_tries = 0

    def make(model: Model) -> Tripwire:
        nonlocal n_tries
        n_tries += 1
        if n_tries == 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return Tripwire(model)

    bench = Bench(folder, make=make)
    first, second = (folder.add("mlp", SMALL, seed=seed) for seed in (0, 1))
    assert kinds(bench.ask(block_of(first, 1), block_of(second, 1))) == [None, None]
    assert bench.engine.counts["models_evicted"] == 1


def test_a_network_for_which_there_is_no_memory_at_all_is_unavailable(folder: Folder) -> None:
    def make(model: Model) -> Tripwire:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")

    bench = Bench(folder, make=make)
    assert kinds(bench.ask(block_of(folder.add("mlp", SMALL, seed=0), 1))) == [
        FaultKind.UNAVAILABLE
    ]


class Broken(Tripwire):
    def __call__(self, rows: torch.Tensor, states: torch.Tensor) -> Outputs:
        raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")


@pytest.mark.parametrize("is_deterministic", [False, True])
def test_a_broken_device_is_nobodys_fault(folder: Folder, is_deterministic: bool) -> None:
    bench = Bench(folder, make=Broken, is_deterministic=is_deterministic)
    with pytest.raises(torch.AcceleratorError):
        bench.ask(block_of(folder.add("mlp", SMALL, seed=0), 1))


def test_keep_alive_is_called_while_a_network_loads(bench: Bench) -> None:
    calls: list[None] = []
    ref = bench.folder.add("mlp", SMALL, seed=0)
    bench.engine.answer([block_of(ref, 1)], keep_alive=lambda: calls.append(None))
    assert calls


def test_without_deterministic_mode_nothing_is_filled_up(folder: Folder) -> None:
    bench = Bench(folder, is_deterministic=False)
    evaluated(bench.ask(block_of(folder.add("mlp", SMALL, seed=0), 3))[0])
    assert bench.engine.counts["filled_rows"] == 0
    assert bench.engine.forwards.rules == {}
    assert FREE.pad_size(3) == 3
