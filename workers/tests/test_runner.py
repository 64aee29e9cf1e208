"""Matches stepped in one player, without processes."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.messages import AgentOrder, Ending, FaultRates, Reason
from workers.current_call import Phase
from workers.message_buffer import MessageBuffer
from workers.order_setup import build_setup
from workers.runner import MatchRunner
from workers.tests.fakes import CATALOGS
from workers.tests.orders import fake
from workers.tests.runners import Lookout, PlayerReports, fate, items, new_lookout
from workers.wire import Assignment, Begun, EndedMatch, Prepare

PAIR = (fake(), fake())
BATCHED = (fake(policy="fake_batched"), fake(policy="fake_batched"))


class Stage:
    """A runner with the fakes, a sleep of no time and a clock that moves with each call."""

    def __init__(self, call_memory: Lookout) -> None:
        self.call_memory, self.reports, self.slept = call_memory, PlayerReports(), list[float]()
        self.now = self.call_s = 0.0

    def clock(self) -> float:
        return self.now + self.call_s * len(self.call_memory.calls)

    def runner(
        self,
        agents: Sequence[AgentOrder] = PAIR,
        *,
        faults: FaultRates | None = None,
        **game_parameters: int | str | float,
    ) -> MatchRunner:
        prepare = Prepare(1, "sum", 1, game_parameters, 0, list(agents), faults)
        self.buffer = MessageBuffer(self.reports, clock=self.clock)
        return MatchRunner(
            build_setup(prepare, CATALOGS),
            self.call_memory,
            self.buffer,
            clock=self.clock,
            sleep=self.slept.append,
        )

    def play(self, runner: MatchRunner, items: Sequence[Assignment]) -> dict[int, EndedMatch]:
        runner.add_matches(items)
        while runner.is_busy:
            runner.step()
        self.buffer.flush()
        return self.reports.ended


@pytest.fixture
def stage(lookout: Lookout) -> Stage:
    return Stage(lookout)


@pytest.mark.parametrize("agents", [PAIR, BATCHED])
def test_a_match_ends_with_the_ranks_of_its_returns(
    stage: Stage, agents: Sequence[AgentOrder]
) -> None:
    ended = stage.play(stage.runner(agents), items(20))
    assert {fate(row)[:3] for row in ended.values()} == {(Ending.DONE, Reason.NONE, -1)}
    assert {tuple(row.ranks) for row in ended.values()} == {(0, 1), (1, 0), (0, 0)}
    assert all(len(actions) == 6 for actions in stage.reports.actions.values())


def test_agents_that_decide_alone_are_played_match_by_match(stage: Stage) -> None:
    stage.play(stage.runner(), items(2))
    (news,) = stage.reports.news
    assert news.acted[::3] == [0] * 6 + [1] * 6


def test_agents_that_decide_together_get_one_block_per_step(stage: Stage) -> None:
    stage.play(stage.runner(BATCHED), items(3))
    assert stage.call_memory.blocks == [(0, [0, 1, 2]), (1, [0, 1, 2])] * 3


def test_matches_in_lockstep_are_said_to_have_begun(stage: Stage) -> None:
    stage.play(stage.runner(BATCHED), items(3))
    begun = [message for message in stage.reports.messages if isinstance(message, Begun)]
    assert begun == [Begun([0, 1, 2])]


@pytest.mark.parametrize("policy", ["fake", "fake_batched"])
@pytest.mark.parametrize(
    ("what", "reason", "word"),
    [
        ("raise", Reason.CRASH, "RuntimeError: out of luck (fakes.py:"),
        ("illegal", Reason.ILLEGAL, "7 is not legal"),
        ("huge", Reason.ILLEGAL, "not in 0..9"),
        ("float", Reason.INVALID, "got 0.0"),
        ("bool", Reason.INVALID, "got True"),
    ],
)
def test_an_agent_at_fault_forfeits_its_match_only(
    stage: Stage, policy: str, what: str, reason: Reason, word: str
) -> None:
    agents = (fake(policy=policy), fake(what, policy=policy, every=3, at=1))
    ended = stage.play(stage.runner(agents), items(6))
    for index in (2, 5):
        assert fate(ended[index]) == (Ending.FORFEIT, reason, 1, [0, 1])
        assert word in ended[index].detail
    assert {ended[index].ending for index in (0, 1, 3, 4)} == {Ending.DONE}


@pytest.mark.parametrize("policy", ["fake", "fake_batched"])
def test_an_agent_that_answers_too_often_forfeits(stage: Stage, policy: str) -> None:
    agents = (fake("double", policy=policy), fake(policy=policy))
    ended = stage.play(stage.runner(agents), items(3))
    assert {fate(row)[:3] for row in ended.values()} == {(Ending.FORFEIT, Reason.INVALID, 0)}


def test_an_action_of_numpy_is_an_action(stage: Stage) -> None:
    ended = stage.play(stage.runner((fake("numpy"), fake())), items(2))
    assert {row.ending for row in ended.values()} == {Ending.DONE}
    assert stage.reports.actions[0][0] == 3


@pytest.mark.parametrize(
    ("parameters", "reason", "word"),
    [
        ({"what": "raise", "at": 2}, Reason.ERROR, "RuntimeError"),
        ({"what": "returns"}, Reason.INVALID, "finite floats"),
        ({"steps": 9, "max_steps": 4}, Reason.TOO_LONG, "4 steps"),
    ],
)
def test_a_game_at_fault_fails_the_attempt(
    stage: Stage, parameters: dict[str, Any], reason: Reason, word: str
) -> None:
    ended = stage.play(stage.runner(**parameters), items(2))
    for row in ended.values():
        assert fate(row) == (Ending.FAILED, reason, -1, [])
        assert word in row.detail


def test_a_match_that_does_not_fit_the_order_fails(stage: Stage) -> None:
    ended = stage.play(
        stage.runner(), [Assignment(0, 1, 1, [0], []), Assignment(1, 1, 1, [0, 2], [])]
    )
    assert [row.reason for row in ended.values()] == [Reason.ERROR, Reason.ERROR]
    assert "2 seats" in ended[0].detail
    assert "2 agents" in ended[1].detail


@pytest.mark.parametrize("actions", [[1, 7], [2**31], [1, 1, 1, 1, 1, 1, 1]])
def test_actions_that_do_not_fit_are_nobodys_fault(stage: Stage, actions: list[int]) -> None:
    ended = stage.play(stage.runner(), items(1, actions=actions))
    assert fate(ended[0]) == (Ending.INTERRUPTED, Reason.UNFIT, -1, [])


def test_actions_that_do_not_fit_are_named(stage: Stage) -> None:
    ended = stage.play(stage.runner(), items(1, actions=[1, 7]))
    assert "7 is not legal" in ended[0].detail


@given(n_played=st.integers(0, 6), is_batched=st.booleans(), seed=st.integers(1, 2**63 - 1))
def test_a_resumed_match_ends_as_if_it_had_not_been_disturbed(
    n_played: int, is_batched: bool, seed: int
) -> None:
    call_memory = new_lookout()
    agents = BATCHED if is_batched else PAIR
    whole, resumed = Stage(call_memory), Stage(call_memory)
    ended = whole.play(whole.runner(agents), [Assignment(0, 1, seed, [0, 1], [])])
    actions = whole.reports.actions[0]
    again = resumed.play(
        resumed.runner(agents), [Assignment(0, 1, seed, [0, 1], actions[:n_played])]
    )
    assert actions[:n_played] + resumed.reports.actions.get(0, []) == actions
    assert again == ended
    call_memory.close()


@pytest.mark.parametrize("agents", [PAIR, BATCHED])
@pytest.mark.parametrize(
    ("kind", "platform", "agent"),
    [
        ("error_rate", (Ending.FAILED, Reason.ERROR), (Ending.FORFEIT, Reason.CRASH)),
        ("invalid_rate", (Ending.FAILED, Reason.INVALID), (Ending.FORFEIT, Reason.INVALID)),
        ("hang_rate", (Ending.DONE, Reason.NONE), (Ending.DONE, Reason.NONE)),
    ],
)
def test_emulated_faults_strike_whom_they_are_charged_to(
    stage: Stage,
    agents: Sequence[AgentOrder],
    kind: str,
    platform: tuple[Ending, Reason],
    agent: tuple[Ending, Reason],
) -> None:
    for charge, expected in (("platform", platform), ("agent", agent)):
        stage.reports.messages.clear()
        stage.slept.clear()
        faults = FaultRates(**{kind: 1.0}, hang_s=30.0, charge=charge)
        ended = stage.play(stage.runner(agents, faults=faults), items(9))
        # One of the invalid values, -10, is an int: as an action it is illegal.
        fates = {fate(row)[:2] for row in ended.values()} - {(Ending.FORFEIT, Reason.ILLEGAL)}
        assert fates == {expected}
        assert stage.slept == [30.0] * (9 if kind == "hang_rate" else 0)
        if charge == "agent" and expected[0] is Ending.FORFEIT:
            assert {row.seat for row in ended.values()} == {0, 1}


def test_lineups_on_one_game_seed_fault_independently_and_the_same_on_every_node(
    stage: Stage,
) -> None:
    agents = [fake(every=every) for every in (50, 60, 70, 80)]
    lineups = [[a, b] for a in range(4) for b in range(4) if a != b]
    same_seed = [Assignment(i, 1, 9, lineup, []) for i, lineup in enumerate(lineups)]
    faults = FaultRates(error_rate=0.5)
    endings = []
    for _ in range(2):
        stage.reports.messages.clear()
        ended = stage.play(stage.runner(agents, faults=faults), same_seed)
        endings.append({index: row.ending for index, row in ended.items()})
    first, again = endings
    assert set(first.values()) == {Ending.DONE, Ending.FAILED}
    assert first == again


def test_a_seat_that_has_decided_is_not_struck_again(stage: Stage) -> None:
    runner = stage.runner(faults=FaultRates(hang_rate=1.0, charge="agent"))
    stage.play(runner, items(9, actions=[1, 2]))
    assert stage.slept == []


@pytest.mark.parametrize("agents", [PAIR, BATCHED])
def test_what_has_not_begun_is_given_back_first(stage: Stage, agents: Sequence[AgentOrder]) -> None:
    runner = stage.runner(agents)
    runner.add_matches(items(2))
    runner.step()
    n_begun = 2 if agents is BATCHED else 1
    runner.add_matches([Assignment(5, 1, 6, [0, 1], [])])
    assert runner.release_matches(1, is_begun_too=True) == [5]
    assert runner.release_matches(9, is_begun_too=False) == [1, 0][: 2 - n_begun]
    assert runner.release_matches(1, is_begun_too=True) == [n_begun - 1]


def test_every_call_is_on_the_beacon(stage: Stage) -> None:
    stage.play(stage.runner(), items(1))
    calls = stage.call_memory.calls
    assert calls[:3] == [(0, 0, Phase.GAME), (0, 0, Phase.POLICY), (0, 0, Phase.GAME)]
    assert calls[3:5] == [(0, 1, Phase.POLICY), (0, 1, Phase.GAME)]
    assert len(calls) == 1 + 2 * 6


def test_the_time_of_a_match_is_its_share_of_the_players_time(stage: Stage) -> None:
    runner = stage.runner(BATCHED)
    runner.add_matches(items(4))
    while runner.is_busy:
        runner.step()
        stage.now += 1.0
    stage.buffer.flush()
    # Five steps of a second passed before the last one ended all four.
    assert [row.share_ms for row in stage.reports.ended.values()] == [1250.0] * 4


def test_news_of_a_long_step_do_not_wait_for_its_end(stage: Stage) -> None:
    runner = stage.runner(BATCHED)
    runner.add_matches(items(3))
    stage.call_s = 1.0
    runner.step()
    assert len(stage.reports.news) >= 3
