"""Slices of a run from a real stream, with trainers that are gone in the middle."""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from itertools import count, cycle
from typing import Any

import msgspec
import pytest
from redis import Redis

from arena.checkpoints import inspect_file
from arena.errors import ParameterError
from arena.experience.wire import write_chunk
from arena.games import registry as games
from arena.messages import OrderId
from arena.train_messages import Trained, TrainOrder
from training import registry, slices, streams
from training.errors import StateError, TrainingError, UnavailableError
from training.files import RunFiles
from training.slices import STATE_S, Reporter, Slice, seal_weights
from training.streams import CHUNKS_AT_ONCE, COUNT, ChunkReader
from training.tests.cart_pole import STEPS, TASK, Player

KEY, GROUP = "xp:{cart_pole}", "learn:7"
SPEC = games.get("cart_pole").spec
LOOK_S = STATE_S / 10
"""From one look of a slice at its clock to the next one."""


class Files(RunFiles):
    """Files that stay in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def fetch(self, digest: str, link: str) -> bytes:
        return self.kept[digest]

    def put(self, content: bytes) -> str:
        digest = sha256(content).hexdigest()
        self.kept[digest] = content
        return digest


def make_order(**changes: Any) -> TrainOrder:
    order = TrainOrder(
        run="7", order="0" * 32, slice=0, token="t", game="cart_pole", observation_shape=[4],
        n_actions=2, algorithm="appo", parameters={}, seed=3, state="", source="/files/a",
        upload="/files/training/7", max_steps=1, slice_s=1.0, key="k",
    )  # fmt: skip
    return msgspec.structs.replace(order, **changes)


class Run:
    """A run whose control takes every report; `dies_at`: the report that is the trainer's last."""

    def __init__(self, client: "Redis") -> None:
        self.client, self.files, self.reports = client, Files(), list[Trained]()
        client.xgroup_create(KEY, GROUP, id="0", mkstream=True)

    def add_chunks(self, n: int, *, seed: int = 0) -> None:
        for _, content in zip(range(n), cycle(play_chunks(seed)), strict=False):
            self.client.xadd(KEY, {"chunk": content, "user": 1, "n": STEPS})

    def train(
        self, state: str = "", *, order: OrderId = "0" * 32, max_steps: int = 10**9,
        dies_at: int = -1, n_looks: int = 6, on_report: Callable[[], None] = lambda: None,
        **changes: Any,
    ) -> list[Trained]:  # fmt: skip
        """Return the reports of a slice that takes so many seconds, one for each look."""
        reports: list[Trained] = []
        self.reports = reports

        def report(trained: Trained) -> None:
            on_report()
            if len(reports) == dies_at:
                raise KeyboardInterrupt
            reports.append(trained)

        terms = make_order(
            order=order, parameters={"epochs": 1, "max_lag": 1_000}, state=state,
            max_steps=max_steps, slice_s=n_looks * LOOK_S, **changes,
        )  # fmt: skip
        reporter = Reporter(terms, trainer="trainer-1", files=self.files, report=report)
        one = Slice(terms, reporter)
        ticks = count()
        one.run(self.make_reader(terms.slice), clock_s=lambda: LOOK_S * next(ticks))
        return reports

    def make_reader(self, slice_number: int) -> ChunkReader:
        return ChunkReader(self.client, "7", SPEC, slice_number=slice_number)

    def last_state(self) -> str:
        """Return the state that was reported last; empty where none was."""
        return next((one.state for one in reversed(self.reports) if one.state), "")

    def count_pending(self) -> int:
        return int(self.client.xpending(KEY, GROUP)["pending"])


@cache
def play_chunks(seed: int) -> list[bytes]:
    player, policy = Player(seed), registry.get("appo").begin(TASK, {}, seed=1)
    return [write_chunk(player.play(policy)) for _ in range(CHUNKS_AT_ONCE + 3)]


@pytest.fixture
def run(broker: "Redis", monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(streams, "BLOCK_MS", 1)
    return Run(broker)


def test_each_version_is_reported_with_sealed_weights_and_the_slice_with_its_state(
    run: Run, tmp_path: object
) -> None:
    run.add_chunks(2 * CHUNKS_AT_ONCE + 3)
    reports = run.train()
    first, *versions = [one for one in reports if one.weights]
    last = reports[-1]
    assert (first.version, first.n_steps) == (0, 0)
    assert [one.version for one in versions] == [1, 2]
    assert [one.n_steps for one in versions] == [1024, 2048]
    assert all(one.metrics["n_used"] == 8 * STEPS for one in versions)
    assert (last.is_last, last.version, last.weights) == (True, 2, "")
    assert last.metrics == versions[-1].metrics
    from_state = registry.get("appo").begin(TASK, {}, seed=0)
    from_state.load(run.files.kept[last.state])
    assert (from_state.version, from_state.n_steps) == (2, 2048)


def test_weights_can_be_played_as_a_checkpoint(
    run: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run.add_chunks(CHUNKS_AT_ONCE)
    _, first, *_ = run.train()
    path = tmp_path_factory.mktemp("weights") / "one.safetensors"
    path.write_bytes(run.files.kept[first.weights])
    seal = inspect_file(path).seal
    assert seal is not None
    assert (seal.game, seal.architecture, seal.n_actions) == ("cart_pole", "mlp", 2)


def test_the_number_of_a_version_that_was_lost_is_not_given_again(run: Run) -> None:
    run.add_chunks(CHUNKS_AT_ONCE)
    versions = [one.version for one in run.train(version=7) if one.weights]
    assert versions == [7, 8]


def test_a_slice_goes_on_from_the_state_and_learns_from_no_chunk_twice(run: Run) -> None:
    run.add_chunks(CHUNKS_AT_ONCE + 3)
    first = run.train()[-1]
    assert run.count_pending() == 3, "what control has in the state is acknowledged"
    run.add_chunks(5, seed=1)
    second = run.train(first.state)[-1]
    assert (second.version, second.n_steps) == (2, 2 * CHUNKS_AT_ONCE * STEPS)
    assert run.count_pending() == 0
    third = run.train(second.state)[-1]
    assert (third.n_steps, third.state) == (second.n_steps, second.state)


def test_a_trainer_that_dies_after_its_report_has_its_chunks_acknowledged_by_the_next_one(
    run: Run,
) -> None:
    run.add_chunks(2 * CHUNKS_AT_ONCE)
    state = run.train(max_steps=CHUNKS_AT_ONCE * STEPS)[-1].state
    run.client.xgroup_setid(KEY, GROUP, "0")  # as if it had not come to its acknowledgements
    run.client.xreadgroup(GROUP, "trainer", {KEY: ">"})
    after = run.train(state)[-1]
    assert (after.n_steps, run.count_pending()) == (2 * CHUNKS_AT_ONCE * STEPS, 0)


def test_every_two_seconds_the_state_is_reported_and_only_then_acknowledged(run: Run) -> None:
    run.add_chunks(12 * CHUNKS_AT_ONCE)
    pending: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        run.train(n_looks=100, dies_at=15, on_report=lambda: pending.append(run.count_pending()))
    *_, state_report, last = run.reports
    assert (state_report.is_last, state_report.version, bool(state_report.state)) == (
        False, 11, True
    )  # fmt: skip
    assert pending[3] == pending[2] - CHUNKS_AT_ONCE, "the first version is kept at once"
    assert pending[13] >= 10 * CHUNKS_AT_ONCE, "nothing before the report was taken"
    assert pending[14] == pending[13] - 10 * CHUNKS_AT_ONCE
    after = run.train(state_report.state, order="1" * 32, n_looks=100, max_steps=12 * 8 * STEPS)
    assert (after[0].n_steps, after[-1].n_steps) == (11 * 8 * STEPS, 12 * 8 * STEPS)
    assert last.version == 12


def test_a_slice_without_chunks_reports_all_the_same(run: Run) -> None:
    _, second, last = run.train(n_looks=15)
    assert (second.is_last, second.state, second.n_steps) == (False, last.state, 0)


def test_a_large_state_is_stored_less_often(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.add_chunks(CHUNKS_AT_ONCE)
    n_often = len(run.train(n_looks=100))
    monkeypatch.setattr(slices, "BYTES_PER_S", 1)
    n_seldom = len(run.train(n_looks=100))
    assert n_often > n_seldom == 3


def test_no_more_than_sixty_four_chunks_are_held(run: Run) -> None:
    run.add_chunks(3 * COUNT)
    pending: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        run.train(dies_at=5, on_report=lambda: pending.append(run.count_pending()))
    with pytest.raises(KeyboardInterrupt):
        run.train(dies_at=5, order="1" * 32)
    assert max(pending) == COUNT
    left = COUNT - 2 * CHUNKS_AT_ONCE  # each has reported the state after its first version
    reader = run.make_reader(0)
    assert [len(reader.read(most)) for most in (5, COUNT, COUNT)] == [5, left - 5, COUNT]


def test_nor_when_some_wait_already(run: Run) -> None:
    run.add_chunks(5)
    pending: list[int] = []

    def add_more() -> None:
        pending.append(run.count_pending())
        run.add_chunks(3 * COUNT if len(pending) == 2 else 0)

    with pytest.raises(KeyboardInterrupt):
        run.train(n_looks=100, dies_at=3, on_report=add_more)
    assert pending[1:3] == [5, COUNT]


def test_an_unreadable_entry_is_counted_and_acknowledged(run: Run) -> None:
    run.client.xadd(KEY, {"chunk": b"no chunk"})
    run.client.xadd(KEY, {"user": 1})
    run.add_chunks(CHUNKS_AT_ONCE)
    last = run.train()[-1]
    assert (last.n_steps, last.metrics["n_unreadable"]) == (CHUNKS_AT_ONCE * STEPS, 2)
    assert run.count_pending() == 0


def test_weights_that_are_not_finite_are_never_published(run: Run) -> None:
    learner = registry.get("appo").begin(TASK, {}, seed=1)
    next(learner.module.parameters()).data[0] = float("nan")
    with pytest.raises(TrainingError, match="of version 0 are not finite"):
        seal_weights(learner, make_order())


@pytest.mark.parametrize("dies_at", [0, 1, 2, 3])
def test_a_trainer_that_dies_loses_nothing_and_the_next_one_comes_to_the_same(
    run: Run, dies_at: int
) -> None:
    run.add_chunks(2 * CHUNKS_AT_ONCE)
    with pytest.raises(KeyboardInterrupt):
        run.train(dies_at=dies_at)
    after = run.train(run.last_state(), order="1" * 32)
    run.client.xgroup_destroy(KEY, GROUP)
    run.client.xgroup_create(KEY, GROUP, id="0")
    undisturbed = run.train()
    assert after[-1].n_steps == 2 * CHUNKS_AT_ONCE * STEPS
    assert after[-1].state == undisturbed[-1].state


def test_a_trainer_that_was_thought_dead_takes_nothing_from_the_slice_after_its_own(
    run: Run,
) -> None:
    run.add_chunks(3)
    late, successor = run.make_reader(8), run.make_reader(9)
    held = [entry.place for entry in late.read(COUNT)]
    assert [entry.place for entry in successor.read(COUNT)] == held
    late.acknowledge(held[-1])
    assert run.count_pending() == 3
    run.add_chunks(2)
    with pytest.raises(UnavailableError, match="a later one reads"):
        late.read(COUNT)
    assert len(successor.read(COUNT)) == 2
    successor.acknowledge(held[-1])
    assert run.count_pending() == 2


def test_more_than_a_page_is_resumed_in_order(run: Run) -> None:
    run.add_chunks(COUNT + 2 * CHUNKS_AT_ONCE)
    with pytest.raises(KeyboardInterrupt):
        run.train(dies_at=2 + COUNT // CHUNKS_AT_ONCE, n_looks=12)
    assert run.count_pending() > COUNT
    assert (
        run.train(run.last_state(), n_looks=14)[-1].n_steps == (COUNT + 2 * CHUNKS_AT_ONCE) * STEPS
    )


def test_a_run_ends_once_it_has_learned_enough(run: Run) -> None:
    run.add_chunks(4 * CHUNKS_AT_ONCE)
    assert run.train(max_steps=1500)[-1].n_steps == 2 * CHUNKS_AT_ONCE * STEPS


def test_a_slice_ends_in_time_whatever_waits(run: Run) -> None:
    run.add_chunks(6 * CHUNKS_AT_ONCE)
    assert run.train(n_looks=4)[-1].n_steps == 3 * CHUNKS_AT_ONCE * STEPS


def test_a_slice_to_which_nothing_comes_leaves_its_trainer_to_others(run: Run) -> None:
    run.add_chunks(CHUNKS_AT_ONCE + 3)
    n_looks = 0

    def count_time() -> float:
        nonlocal n_looks
        n_looks += 1
        return LOOK_S * n_looks

    terms = make_order(parameters={"epochs": 1, "max_lag": 1_000}, max_steps=10**9, slice_s=600.0)
    reports: list[Trained] = []
    reporter = Reporter(terms, trainer="trainer-1", files=run.files, report=reports.append)
    Slice(terms, reporter).run(run.make_reader(0), clock_s=count_time)
    assert slices.IDLE_S <= LOOK_S * n_looks < slices.IDLE_S + STATE_S
    assert reports[-1].is_last
    # What waited for more is the next slice's.
    assert run.count_pending() == 3


def test_a_stream_that_has_no_group_or_no_server_is_nobodys_fault(run: Run) -> None:
    run.client.xgroup_destroy(KEY, GROUP)
    with pytest.raises(UnavailableError, match="the stream refuses: NOGROUP"):
        run.train()
    nowhere = ChunkReader(Redis(port=1), "7", SPEC, slice_number=0)
    with pytest.raises(UnavailableError, match="the stream does not answer"):
        nowhere.read(1)


def test_a_parameter_or_a_state_that_does_not_fit_is_refused(run: Run) -> None:
    terms = make_order(parameters={"epoch": 1})
    with pytest.raises(ParameterError, match="epoch"):
        Slice(terms, Reporter(terms, trainer="t", files=run.files, report=run.reports.append))
    digest = run.files.put(b"no state")
    with pytest.raises(StateError):
        run.train(digest)
