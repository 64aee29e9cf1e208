"""What a recorder hears of matches stepped in one player."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from arena.messages import AgentOrder, Ending
from arena.policies.network_policy import FloatBatch, MaskBatch
from workers.match_in_play import MatchInPlay
from workers.order_setup import LOCAL
from workers.tests.fake_networks import CHECKPOINT, network
from workers.tests.networked import PAIR, Stage
from workers.tests.orders import fake
from workers.tests.runners import Lookout, items
from workers.wire import EndedMatch


@pytest.fixture
def stage(lookout: Lookout) -> Stage:
    return Stage(lookout)


class Kept:
    """A recorder that keeps rows back until it is told to flush, or two have come."""

    def __init__(self) -> None:
        self.steps: dict[int, list[tuple[int, int, int, bool]]] = {}
        self.rows: list[EndedMatch] = []
        self.returns: dict[int, Sequence[float] | None] = {}
        self.let_go: list[int] = []

    def add_step(
        self,
        match: MatchInPlay,
        seat: int,
        action: int,
        *,
        observation: NDArray[np.generic],
        mask: MaskBatch,
        logits: FloatBatch | None,
        value: float | None,
    ) -> None:
        assert mask[action]
        if logits is not None:
            assert value == -observation[1]
            assert logits.shape == mask.shape
        step = (match.n_steps, seat, action, logits is not None)
        self.steps.setdefault(match.index, []).append(step)

    def add_ending(
        self, match: MatchInPlay, row: EndedMatch, returns: Sequence[float] | None
    ) -> bool:
        self.rows.append(row)
        self.returns[row.index] = returns
        return True

    def forget_match(self, match: MatchInPlay) -> None:
        self.let_go.append(match.index)

    def store_due(self, *, flush: bool) -> list[EndedMatch]:
        if not flush and len(self.rows) < 2:
            return []
        rows, self.rows = self.rows, []
        return [msgspec.structs.replace(row, trajectory=CHECKPOINT) for row in rows]


@pytest.mark.parametrize(
    "agents",
    [PAIR, [network(placement=LOCAL), fake()], [fake(), fake()], [fake(policy="fake_batched")] * 2],
)
def test_a_recorder_is_told_every_decision_and_holds_endings_back(
    stage: Stage, agents: Sequence[AgentOrder]
) -> None:
    recorder = Kept()
    ended = stage.finish(stage.runner(replace(stage.setup(agents), recorder=recorder)), items(5))
    assert {row.trajectory for row in ended.values()} == {CHECKPOINT}
    assert sorted(ended) == list(range(5))
    for index, steps in recorder.steps.items():
        assert [step[0] for step in steps] == list(range(6))
        assert [step[1] for step in steps] == [0, 1] * 3
        assert [step[2] for step in steps] == stage.reports.actions[index]
        is_network = [agent.policy == "network" for agent in agents]
        assert [step[3] for step in steps] == is_network * 3
    assert all(returns is not None for returns in recorder.returns.values())


def test_a_recorder_hears_of_forfeits_of_one_asked_alone_and_of_matches_given_back(
    stage: Stage,
) -> None:
    recorder = Kept()
    setup = replace(stage.setup([network(), network("nan")]), recorder=recorder)
    runner = stage.runner(setup)
    runner.add_matches(items(30))
    for _ in range(3):
        runner.step()
    indices = runner.release_matches(4, is_begun_too=True)
    assert recorder.let_go == indices
    ended = stage.finish(runner, [])
    forfeits = [i for i, row in ended.items() if row.ending is Ending.FORFEIT]
    assert forfeits
    assert all(recorder.returns[i] is None for i in forfeits)
