"""Matches of a player whose game is played elsewhere: as those in process, a frame for a block."""

from collections.abc import Sequence
from dataclasses import replace
from random import SystemRandom

import msgspec
import pytest

from arena.games.catalog import connect_four
from arena.games.served import ServedGame
from arena.messages import AgentOrder, Ending, FaultRates, Reason, ServerLink
from workers.errors import OrderError
from workers.lines.game_line import GameLine
from workers.lines.transport import LineClosedError
from workers.message_buffer import MessageBuffer
from workers.order_setup import Catalogs, build_setup
from workers.runner import MatchRunner
from workers.tests.runners import Lookout, PlayerReports
from workers.tests.served import GAME, FakeServer, Lie, open_line, tell_the_truth
from workers.wire import Assignment, Prepare

RANDOM = (AgentOrder("random", {}), AgentOrder("random", {}))
SERVERS = [ServerLink(name, f"ws://{name}", "") for name in ("sim-1", "sim-2")]


class Stage:
    """A player with two servers, and one whose game is in process."""

    def __init__(self, lookout: Lookout, lie: Lie = tell_the_truth) -> None:
        self.servers = [FakeServer(connect_four.GAME, lie=lie) for _ in SERVERS]
        self.lookout = lookout

    def open_lines(self, game: ServedGame, links: Sequence[ServerLink]) -> list[GameLine]:
        assert list(links) == SERVERS
        return [open_line(server) for server in self.servers]

    def play(
        self,
        game: object,
        assignments: Sequence[Assignment],
        *,
        faults: FaultRates | None = None,
        later: Sequence[Assignment] = (),
    ) -> PlayerReports:
        runner = self.begin(game, assignments, faults=faults)
        runner.step()
        runner.add_matches(later)
        while runner.is_busy:
            runner.step()
        self.buffer.flush()
        return self.reports

    def begin(
        self, game: object, assignments: Sequence[Assignment], *, faults: FaultRates | None = None
    ) -> MatchRunner:
        self.reports = PlayerReports()
        self.buffer = MessageBuffer(self.reports)
        catalogs = Catalogs(
            game=lambda _: game,  # type: ignore[arg-type, return-value]
            lines=self.open_lines,
            game_version=lambda _: "",
        )
        prepare = Prepare(1, "any", 1, {}, 4, list(RANDOM), faults, servers=SERVERS)
        runner = MatchRunner(build_setup(prepare, catalogs), self.lookout, self.buffer)
        runner.add_matches(assignments)
        return runner


@pytest.fixture
def stage(lookout: Lookout) -> Stage:
    return Stage(lookout)


def assign(n: int, actions: Sequence[int] = ()) -> list[Assignment]:
    return [Assignment(i, 1, 100 + i, [0, 1], list(actions), server=i % 2) for i in range(n)]


def test_served_matches_have_the_actions_and_outcomes_of_those_in_process(stage: Stage) -> None:
    here, there = (stage.play(game, assign(20)) for game in (connect_four.GAME, GAME))
    assert there.actions == here.actions
    ranks = {index: (row.ending, row.ranks, row.returns) for index, row in there.ended.items()}
    assert ranks == {i: (row.ending, row.ranks, row.returns) for i, row in here.ended.items()}
    assert {row.ending for row in there.ended.values()} == {Ending.DONE}


def test_a_step_of_all_matches_is_one_frame_to_each_server(stage: Stage) -> None:
    reports = stage.play(GAME, assign(20))
    longest = max(len(actions) for actions in reports.actions.values())
    for server in stage.servers:
        assert len(server.frames) <= longest + 2
        assert server.n_episodes == 0


def test_a_server_that_is_lost_interrupts_its_matches_and_no_other(stage: Stage) -> None:
    def gone(limit_s: float) -> bytes:
        raise LineClosedError("gone")

    stage.servers[1].receive = gone  # type: ignore[method-assign]
    reports = stage.play(GAME, assign(6))
    fates = {i: (row.ending, row.reason, row.seat, row.detail) for i, row in reports.ended.items()}
    lost = (Ending.INTERRUPTED, Reason.SERVER_LOST, -1, "sim: gone")
    assert {fates[i] for i in (1, 3, 5)} == {lost}
    assert {fates[i][0] for i in (0, 2, 4)} == {Ending.DONE}


def test_what_is_given_back_leaves_its_slots_at_once(stage: Stage) -> None:
    runner = stage.begin(GAME, assign(6))
    runner.step()
    assert [server.n_episodes for server in stage.servers] == [3, 3]
    assert len(runner.release_matches(6, is_begun_too=True)) == 6
    assert [server.n_episodes for server in stage.servers] == [0, 0]


def test_matches_that_begin_after_a_server_was_lost_are_played_there(stage: Stage) -> None:
    lost = stage.servers[1]
    receive, is_gone = lost.receive, [True]

    def gone_once(limit_s: float) -> bytes:
        if is_gone:
            is_gone.clear()
            lost.answers.clear()
            raise LineClosedError("gone")
        return receive(limit_s)

    lost.receive = gone_once  # type: ignore[method-assign]
    reports = stage.play(GAME, assign(4), later=[item for item in assign(8) if item.index >= 4])
    lost_ones = {i for i, row in reports.ended.items() if row.reason is Reason.SERVER_LOST}
    assert lost_ones == {1, 3}
    assert {row.ending for i, row in reports.ended.items() if i not in lost_ones} == {Ending.DONE}


def test_a_server_at_fault_fails_the_attempt_and_charges_no_seat(lookout: Lookout) -> None:
    stage = Stage(lookout, lambda m: m | {"seat": 9} if m["kind"] == "state" else m)
    reports = stage.play(GAME, assign(2))
    fates = {(row.ending, row.reason, row.seat) for row in reports.ended.values()}
    assert fates == {(Ending.FAILED, Reason.SERVER_FAULT, -1)}
    assert all(row.ranks == [] for row in reports.ended.values())


def test_a_match_goes_on_from_its_actions(stage: Stage) -> None:
    whole = stage.play(connect_four.GAME, assign(4))
    for index, actions in whole.actions.items():
        (row,) = (item for item in assign(4) if item.index == index)
        carried = Assignment(0, 1, row.game_seed, [0, 1], actions[:5])
        here = stage.play(connect_four.GAME, [carried])
        there = stage.play(GAME, [carried])
        assert there.actions == here.actions
        assert there.ended[0].ranks == here.ended[0].ranks


def test_actions_of_another_game_do_not_fit(stage: Stage) -> None:
    reports = stage.play(GAME, assign(1, actions=[3] * 7))
    row = reports.ended[0]
    assert (row.ending, row.reason) == (Ending.INTERRUPTED, Reason.UNFIT)


def test_an_emulated_fault_leaves_no_episode_behind(stage: Stage) -> None:
    reports = stage.play(GAME, assign(6), faults=FaultRates(error_rate=1.0, charge="platform"))
    assert {row.reason for row in reports.ended.values()} == {Reason.ERROR}
    left = stage.play(GAME, assign(2))
    assert len(left.ended) == 2
    # What was given up in the first order went out with a later frame, or with its line.
    assert all(server.n_episodes <= 3 for server in stage.servers)


def test_some_episodes_are_compared_with_our_rules_and_the_server_cannot_know_which(
    lookout: Lookout, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter([0.04, 0.05])
    monkeypatch.setattr(SystemRandom, "random", lambda _: next(drawn))
    hide = {"legal": [0, 1, 2]}
    stage = Stage(lookout, lambda m: {**m, **hide} if m.get("step") == 0 and "legal" in m else m)
    reports = stage.play(GAME, assign(2))
    compared_row, unseen = reports.ended[0], reports.ended[1]
    assert (compared_row.ending, compared_row.reason) == (Ending.FAILED, Reason.SERVER_FAULT)
    assert "by our rules [0, 1, 2, 3, 4, 5, 6]" in compared_row.detail
    assert unseen.ending is Ending.DONE


def test_an_order_without_servers_is_refused() -> None:
    prepare = Prepare(1, "any", 1, {}, 4, list(RANDOM), None)
    catalogs = Catalogs(game=lambda _: GAME, game_version=lambda _: "")
    with pytest.raises(OrderError, match="served_four is played by game servers"):
        build_setup(prepare, catalogs)


def test_a_match_of_a_server_that_the_order_does_not_have_fails(stage: Stage) -> None:
    (assignment,) = assign(1)
    named = msgspec.structs.replace(assignment, server=7)
    reports = stage.play(GAME, [named])
    assert reports.ended[0].ending is Ending.FAILED


def test_the_spec_says_that_it_is_served() -> None:
    assert GAME.spec == replace(
        connect_four.GAME.spec,
        id="served_four",
        title="Connect Four elsewhere",
        served="server",
        engine="",
    )
