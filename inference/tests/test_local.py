"""Inference in process: the same interface, the same errors, fewer forwards."""

from pathlib import Path

import numpy as np
import pytest
import torch

from inference.client import Inference, RemoteNetwork, open_local
from inference.errors import InvalidAnswerError, ModelError, RequestError, UnavailableError
from inference.local import LocalInference
from inference.protocol import Fault, FaultKind
from inference.settings import Settings
from inference.tests.engines import RAISES, Bench, block_of
from inference.tests.sealed import BOARD, N_ACTIONS, Folder, ref_of


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "cache")


@pytest.fixture
def local(folder: Folder) -> LocalInference:
    return LocalInference(Settings(cache=folder.store.folder, device="cuda", precision="float16"))


def test_it_runs_on_the_cpu_in_full_precision(local: LocalInference) -> None:
    assert local.engine.models.device == torch.device("cpu")
    assert local.engine.models.dtype == torch.float32


def test_the_client_opens_it(folder: Folder) -> None:
    inference: Inference = open_local(Settings(cache=folder.store.folder))
    assert isinstance(inference, LocalInference)


def test_what_was_asked_before_a_result_is_wanted_shares_forwards(
    folder: Folder, local: LocalInference
) -> None:
    ref = folder.add("mlp", {}, seed=0)
    blocks = [block_of(ref, n, seed=n).observations for n in (1, 2, 3)]
    tickets = [local.submit(ref, block) for block in blocks]
    shapes = [local.result(ticket).logits.shape for ticket in reversed(tickets)]
    assert shapes == [(3, N_ACTIONS), (2, N_ACTIONS), (1, N_ACTIONS)]
    assert local.engine.counts["forwards"] == 1


def test_it_serves_a_recurrent_network_of_a_policy(folder: Folder, local: LocalInference) -> None:
    network = RemoteNetwork(local, folder.add("gru", {"width": 8}, seed=0), 8)
    states = np.zeros((2, network.state_size), np.float32)
    output = network.result(network.submit(np.ones((2, *BOARD), np.float32), states))
    assert output.states.shape == (2, 8)
    assert output.states.any()


def test_several_checkpoints_are_asked_at_once(folder: Folder, local: LocalInference) -> None:
    refs = [folder.add("mlp", {}, seed=seed) for seed in range(2)]
    rows = np.ones((2, *BOARD), np.float32)
    outputs = local.infer_many(dict.fromkeys(refs, rows))
    for ref in refs:
        np.testing.assert_array_equal(outputs[ref].logits, local.infer(ref, rows).logits)


def test_faults_are_raised_as_the_client_raises_them(folder: Folder) -> None:
    bench = Bench(folder)
    local = LocalInference(Settings(), engine=bench.engine)
    ref = folder.add("mlp", {}, seed=0)
    overflowing = folder.add("mlp", {}, seed=0, scale=1e30)
    good = np.ones((1, *BOARD), np.float32)
    with pytest.raises(RequestError, match="the checkpoint takes"):
        local.infer(ref, np.ones((1, 2), np.float32))
    with pytest.raises(ModelError, match="cannot bear"):
        local.infer(ref, block_of(ref, 1, mark=RAISES).observations)
    with pytest.raises(InvalidAnswerError):
        local.infer(overflowing, good)
    with pytest.raises(UnavailableError, match="no web server"):
        local.infer(ref_of("0" * 64), good)
    assert local.infer(ref, good).values.shape == (1,)


def test_every_kind_of_fault_has_an_error(folder: Folder) -> None:
    class Failing:
        def answer(self, blocks: list[object]) -> list[Fault]:
            return [Fault(kind, "a reason") for kind in FaultKind]

    local = LocalInference(Settings(), engine=Failing())  # type: ignore[arg-type]
    tickets = [local.submit(ref_of("0" * 64), np.ones((1, 1), np.float32)) for _ in FaultKind]
    for ticket in tickets:
        with pytest.raises((RequestError, ModelError, UnavailableError), match="a reason"):
            local.result(ticket)


def test_a_question_that_was_let_go_has_no_answer(folder: Folder, local: LocalInference) -> None:
    ticket = local.submit(folder.add("mlp", {}, seed=0), np.ones((1, *BOARD), np.float32))
    local.close()
    with pytest.raises(UnavailableError, match="let go"):
        local.result(ticket)
