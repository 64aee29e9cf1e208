"""Matches of networks stepped in one player, without processes."""

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from arena.messages import AgentOrder, Ending, FaultRates, Reason
from arena.policies.network_policy import Decisions, FloatBatch, InferenceRequest, NetworkPolicy
from inference.errors import UnavailableError
from workers import lockstep
from workers.current_call import Phase
from workers.errors import OrderError
from workers.order_setup import GPU, LOCAL
from workers.tests.fake_networks import CHECKPOINT, GUILTY_SUM, network
from workers.tests.fakes import GAMES, SumGame, SumState
from workers.tests.networked import Stage
from workers.tests.orders import fake
from workers.tests.runners import Lookout, fate, items
from workers.wire import Assignment


@pytest.fixture
def stage(lookout: Lookout) -> Stage:
    return Stage(lookout)


def test_matches_far_away_and_local_play_the_same(stage: Stage) -> None:
    far = stage.play()
    actions = stage.reports.actions
    local = [network(placement=LOCAL)] * 2
    assert stage.play(local) == far
    assert stage.reports.actions == actions
    assert {row.ending for row in far.values()} == {Ending.DONE}
    assert len({tuple(some) for some in actions.values()}) > 30


def test_one_group_is_asked_while_the_other_waits(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lockstep, "LEAST_GROUP", 0)
    stage.play(n=10)
    assert stage.log[:8] == [
        *[("ask", 5), ("ask", 5)],
        *[("answer", 5), ("ask", 5)] * 3,
    ]


def test_few_matches_play_in_one_group_and_many_in_two(stage: Stage) -> None:
    stage.play(n=2 * lockstep.LEAST_GROUP)
    assert stage.log[0] == ("ask", 2 * lockstep.LEAST_GROUP)
    stage.log.clear()
    stage.play(n=4 * lockstep.LEAST_GROUP)
    assert stage.log[:2] == [("ask", 2 * lockstep.LEAST_GROUP)] * 2


def test_networks_in_the_player_are_asked_about_all_matches_at_once(stage: Stage) -> None:
    stage.play([network(placement=LOCAL)] * 2, n=10)
    assert stage.log == [("ask", 10), ("answer", 10)] * 6


def test_both_networks_are_asked_before_either_is_waited_for(stage: Stage) -> None:
    runner = stage.runner(stage.setup())
    seats = ([0, 1], [0, 1], [1, 0], [1, 0])
    stage.finish(runner, [Assignment(i, 1, i + 1, seats[i % 4], []) for i in range(8)])
    assert stage.log[:2] == [("ask", 4)] * 2


def test_a_block_of_large_observations_is_asked_in_parts(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = stage.play(n=10)
    stage.log.clear()
    monkeypatch.setattr(lockstep, "BLOCK_BYTES", 3 * 2 * 4)  # three rows of two floats
    assert stage.play(n=10) == whole
    assert stage.log[:4] == [("ask", 3), ("ask", 3), ("ask", 3), ("ask", 1)]


def test_others_decide_at_once_beside_a_network(stage: Stage) -> None:
    ended = stage.play([network(), fake(policy="fake_batched")])
    assert {row.ending for row in ended.values()} == {Ending.DONE}
    ended = stage.play([fake(), network()])
    assert {row.ending for row in ended.values()} == {Ending.DONE}


def stumbled(stage: Stage, seat: int = 1) -> set[int]:
    """Return the matches in which that seat saw the sum, by an undisturbed game."""
    indices = set()
    for index, actions in stage.reports.actions.items():
        sums = [sum(actions[:n]) for n in range(seat, 6, 2)]
        if GUILTY_SUM in sums:
            indices.add(index)
    return indices


@pytest.mark.parametrize("placement", [GPU, LOCAL])
@pytest.mark.parametrize(
    ("what", "ending", "reason", "seat"),
    [
        ("nan", Ending.FORFEIT, Reason.INVALID, 1),
        ("invalid", Ending.FORFEIT, Reason.INVALID, 1),
        ("raise", Ending.FORFEIT, Reason.CRASH, 1),
        ("bug", Ending.FORFEIT, Reason.CRASH, 1),
        ("request", Ending.FAILED, Reason.ERROR, -1),
        ("other", Ending.FAILED, Reason.ERROR, -1),
    ],
)
def test_only_the_rows_that_a_network_stumbles_over_pay(
    stage: Stage, what: str, ending: Ending, reason: Reason, seat: int, placement: str
) -> None:
    undisturbed = stage.play()
    actions, guilty = stage.reports.actions, stumbled(stage)
    assert 1 < len(guilty) < 20
    ended = stage.play([network(placement=placement), network(what, placement=placement)])
    for index in guilty:
        row = ended.pop(index)
        assert fate(row) == (ending, reason, seat, [0, 1] if seat == 1 else [])
        assert row.detail
        undisturbed.pop(index)
    assert ended == undisturbed
    assert all(stage.reports.actions[index] == actions[index] for index in ended)


def test_a_network_that_is_lost_interrupts_its_block_and_blames_nobody(stage: Stage) -> None:
    stage.play()
    guilty = stumbled(stage)
    ended = stage.play([network(), network("lost")])
    interrupted = {i for i, row in ended.items() if row.ending is Ending.INTERRUPTED}
    assert guilty <= interrupted
    for index in interrupted:
        assert fate(ended[index]) == (Ending.INTERRUPTED, Reason.GPU_LOST, -1, [])
    assert {ended[i].ending for i in ended.keys() - interrupted} <= {Ending.DONE}


def test_rows_asked_one_by_one_are_not_each_waited_for_when_the_network_is_lost(
    stage: Stage,
) -> None:
    setup = stage.setup()
    inner = stage.networks[0]
    inner.what = "raise"
    runner = stage.runner(setup)
    n_asked = 0

    def lose(observations: FloatBatch, states: FloatBatch) -> FloatBatch:
        nonlocal n_asked
        n_asked += 1
        if len(observations) == 1:
            observations[:, 1] = GUILTY_SUM
            inner.what = "lost"
        else:
            observations[0, 1] = GUILTY_SUM
        return observations.copy()

    inner.submit = lose  # type: ignore[method-assign]
    ended = stage.finish(runner, items(12))
    assert {row.ending for row in ended.values()} == {Ending.INTERRUPTED}
    # Two blocks that raise, and the one row that found the network lost in each.
    assert n_asked <= 4


def test_nobody_waits_for_the_answer_to_matches_that_were_all_given_back(stage: Stage) -> None:
    runner = stage.runner(stage.setup())
    runner.add_matches(items(4))
    runner.step()
    runner.release_matches(4, is_begun_too=True)
    runner.step()
    runner.step()
    assert stage.log == [("ask", 4)]


def test_a_network_that_cannot_be_asked_is_the_platforms_fault(stage: Stage) -> None:
    setup = stage.setup()

    def refuse(observations: FloatBatch, states: FloatBatch) -> FloatBatch:
        raise UnavailableError("the queue stays full")

    stage.networks[1].submit = refuse  # type: ignore[method-assign]
    ended = stage.finish(stage.runner(setup), items(4))
    for row in ended.values():
        assert fate(row) == (Ending.INTERRUPTED, Reason.GPU_LOST, -1, [])
        assert row.detail == "the queue stays full"


@pytest.mark.parametrize("n", [1, 6])
def test_a_policy_that_answers_too_often_forfeits(stage: Stage, n: int) -> None:
    setup = stage.setup()
    policy = setup.agents[1].policy
    assert isinstance(policy, NetworkPolicy)
    decide = policy.decide

    def double(question: InferenceRequest) -> Decisions:
        actions, evaluation = decide(question)
        return Decisions([*actions, *actions], evaluation)

    policy.decide = double  # type: ignore[method-assign]
    ended = stage.finish(stage.runner(setup), items(n))
    assert {fate(row)[1:3] for row in ended.values()} <= {(Reason.INVALID, 1), (Reason.CRASH, 1)}


class Blind(SumState):
    """Raises where it is looked at."""

    def observation(self, seat: int) -> NDArray[np.generic]:
        if sum(self.actions) == GUILTY_SUM:
            raise RuntimeError("no view")
        return super().observation(seat)


class BlindGame(SumGame):
    def configured(self, parameters: Mapping[str, object]) -> "BlindGame":
        return BlindGame(parameters)

    def start(self, game_seed: int, *, opening_plies: int) -> Blind:
        return Blind(self, game_seed, opening_plies)


def test_a_game_that_cannot_be_looked_at_is_not_the_networks_fault(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = stage.play()
    guilty = stumbled(stage, seat=0) | stumbled(stage, seat=1)
    monkeypatch.setitem(GAMES, "sum", BlindGame())
    ended = stage.play()
    for index, row in ended.items():
        if index in guilty:
            assert fate(row) == (Ending.FAILED, Reason.ERROR, -1, [])
            assert "no view (test_lockstep.py:" in row.detail
        else:
            assert row == undisturbed[index]


def test_a_match_given_back_while_its_network_is_asked_is_played_on_elsewhere(
    stage: Stage,
) -> None:
    undisturbed = stage.play(n=8)
    actions = stage.reports.actions
    runner = stage.runner(stage.setup())
    runner.add_matches(items(8))
    for _ in range(4):
        runner.step()
    indices = runner.release_matches(3, is_begun_too=True)
    assert indices == [5, 6, 7]
    ended = stage.finish(runner, [])
    assert ended == {index: row for index, row in undisturbed.items() if index < 5}
    assert all(stage.reports.actions[index] == actions[index] for index in range(5))
    assert len(stage.reports.actions[7]) < 6


@pytest.mark.parametrize("charge", ["agent", "platform"])
def test_emulated_faults_strike_matches_of_networks_too(stage: Stage, charge: str) -> None:
    faults = FaultRates(error_rate=0.3, invalid_rate=0.2, hang_rate=0.5, charge=charge)
    ended = stage.play(faults=faults)
    assert stage.slept
    endings = {row.ending for row in ended.values()}
    bad = Ending.FORFEIT if charge == "agent" else Ending.FAILED
    assert endings == {Ending.DONE, bad}


def test_what_runs_is_on_the_beacon(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lockstep, "LEAST_GROUP", 0)
    stage.play(n=2)
    index, phase = 0, Phase.GAME
    calls = [call for call in stage.call_memory.calls if call[0] == index]
    # Each match is a group of its own: begun, and then asked, decided, moved by turns.
    assert [call[2] for call in calls[:4]] == [phase, phase, Phase.POLICY, phase]
    stage.call_memory.blocks.clear()
    stage.play(n=6)
    assert stage.call_memory.blocks[:4] == [
        (0, [0, 2, 4]),
        (0, [1, 3, 5]),
        (0, [0, 2, 4]),
        (1, [0, 2, 4]),
    ]


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (AgentOrder("network", {}), "network: needs a checkpoint"),
        (AgentOrder("fake", {}, checkpoint=CHECKPOINT), "fake: takes no checkpoint"),
        (AgentOrder("fake", {}, placement="gpu"), "'gpu': choose one of local"),
        (network(placement="moon"), "'moon': choose one of local, gpu"),
    ],
)
def test_an_agent_that_does_not_fit_its_kind_refuses_the_order(
    stage: Stage, order: AgentOrder, words: str
) -> None:
    with pytest.raises(OrderError, match=words):
        stage.setup([order, order])
