"""The networks that a player asks."""

import sys
import tempfile
from collections.abc import Iterator

import numpy as np
import pytest

from arena.games import registry as games
from arena.policies.network_policy import FloatBatch, NetworkOutput
from inference.errors import RequestError, UnavailableError
from inference.protocol import CheckpointRef
from workers import networks
from workers.current_call import SIZE, CallMemory, Phase
from workers.errors import OrderError
from workers.networks import LONGEST_PAUSE_S, Networks, RetryingNetwork
from workers.order_setup import LOCAL
from workers.tests.fake_networks import CHECKPOINT, SumNetwork, network

OBSERVATIONS = np.zeros((2, 2), np.float32)
STATES = np.zeros((2, 0), np.float32)
TWO = games.get("tic_tac_toe").spec


@pytest.fixture
def call_memory() -> Iterator[CallMemory]:
    with tempfile.TemporaryFile() as shared:
        shared.truncate(SIZE)
        call_memory = CallMemory(shared.fileno())
    yield call_memory
    call_memory.close()


class Clock:
    """A clock that moves by sleeping."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, list[float]()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def patient(inner: SumNetwork, call_memory: CallMemory, clock: Clock) -> RetryingNetwork:
    return RetryingNetwork(inner, call_memory, patience_s=30, clock=clock, sleep=clock.sleep)


class Watched(SumNetwork):
    """Keeps what the call memory shows while it is asked."""

    def __init__(self, call_memory: CallMemory) -> None:
        super().__init__()
        self.call_memory, self.phases = call_memory, list[Phase]()

    def submit(self, observations: FloatBatch, states: FloatBatch) -> FloatBatch:
        self.phases.append(self.call_memory.read_call().phase)
        return super().submit(observations, states)

    def result(self, ticket: FloatBatch) -> NetworkOutput:
        self.phases.append(self.call_memory.read_call().phase)
        return super().result(ticket)


def test_waiting_is_shown_and_after_it_a_new_call_of_the_same_kind(call_memory: CallMemory) -> None:
    inner = Watched(call_memory)
    waiting_network = patient(inner, call_memory, Clock())
    call_memory.show_call(7, 1, Phase.POLICY)
    before = call_memory.read_call()
    answer = waiting_network.result(waiting_network.submit(OBSERVATIONS, STATES))
    assert answer.logits.shape == (2, 10)
    assert inner.phases == [Phase.WAIT, Phase.WAIT]
    after = call_memory.read_call()
    assert after[1:] == before[1:]
    assert after.turn == before.turn + 4
    assert waiting_network.state_size == 0


def test_a_full_queue_is_asked_again_ever_more_slowly(call_memory: CallMemory) -> None:
    clock = Clock()
    waiting_network = patient(SumNetwork("full"), call_memory, clock)
    waiting_network.submit(OBSERVATIONS, STATES)
    assert clock.slept == [0.01, 0.02, 0.04]


def test_a_queue_that_stays_full_is_lost(call_memory: CallMemory) -> None:
    clock, inner = Clock(), SumNetwork("full")
    inner.n_full = 10**6
    with pytest.raises(UnavailableError, match="stays full: 4096 requests"):
        patient(inner, call_memory, clock).submit(OBSERVATIONS, STATES)
    assert 30 <= clock.now < 32
    assert max(clock.slept) == LONGEST_PAUSE_S
    assert call_memory.read_call().phase is Phase.IDLE


def no_ring(shard: int, lease: str) -> None:
    raise AssertionError("nothing is asked")


def opened(environ: dict[str, str], call_memory: CallMemory) -> Networks:
    return Networks(environ, ring=no_ring, call_memory=call_memory)


def test_networks_far_away_need_the_address_that_players_may_know(call_memory: CallMemory) -> None:
    environ = {"FAST_REDIS_URL": "redis://127.0.0.1:1/0"}
    with pytest.raises(OrderError, match="EVALSITE_INFERENCE_URL is not set"):
        opened(environ, call_memory).open_network(network(), TWO)


def test_a_wrong_setting_refuses_the_order_by_name(call_memory: CallMemory) -> None:
    with pytest.raises(OrderError, match="EVALSITE_SHARDS is 'many'"):
        opened({"EVALSITE_SHARDS": "many"}, call_memory).open_network(network(), TWO)


def test_all_networks_far_away_share_one_connection(
    call_memory: CallMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    class Client:
        def __init__(self, url: str, *, settings: object, ring: object) -> None:
            made.append(url)

        def submit(self, ref: CheckpointRef, observations: object, states: object) -> str:
            return ref.checkpoint

        def result(self, ticket: str) -> str:
            return f"answer of {ticket}"

    monkeypatch.setattr(networks, "InferenceClient", Client)
    where = opened({"EVALSITE_INFERENCE_URL": "redis://play:secret@127.0.0.1:1/0"}, call_memory)
    one, other = where.open_network(network(), TWO), where.open_network(network(), TWO)
    assert made == ["redis://play:secret@127.0.0.1:1/0"]
    answer: object = one.result(other.submit(OBSERVATIONS, STATES))
    assert answer == f"answer of {CHECKPOINT}"


class Engine:
    """Inference in process, which raises what it is given."""

    def __init__(self, raised: Exception | None = None) -> None:
        self.raised, self.calls = raised, list[tuple[CheckpointRef, tuple[int, ...]]]()

    def infer(self, ref: CheckpointRef, observations: FloatBatch, states: FloatBatch) -> None:
        self.calls.append((ref, observations.shape))
        if self.raised is not None:
            raise self.raised


@pytest.mark.parametrize("raised", [None, RequestError("does not fit"), UnavailableError("gone")])
def test_a_local_network_is_loaded_when_it_is_opened_and_its_faults_wait_for_its_matches(
    call_memory: CallMemory, monkeypatch: pytest.MonkeyPatch, raised: Exception | None
) -> None:
    engine = Engine(raised)
    monkeypatch.setattr(networks, "open_local", lambda settings: engine)
    where = opened({}, call_memory)
    assert where.open_network(network("/files", placement=LOCAL), TWO).state_size == 0
    where.open_network(network("/files", placement=LOCAL), TWO)
    assert engine.calls == [(CheckpointRef(CHECKPOINT, "/files"), (1, 3, 3, 3))] * 2


def test_a_node_without_torch_refuses_local_networks(
    call_memory: CallMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "inference.local", None)
    with pytest.raises(OrderError, match="need torch"):
        opened({}, call_memory).open_network(network(placement=LOCAL), TWO)
