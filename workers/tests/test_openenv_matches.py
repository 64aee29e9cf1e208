"""Matches of a player on an environment of OpenEnv: who is charged when they cannot go on."""

from contextlib import nullcontext

import pytest

from arena.messages import AgentOrder, Ending, Reason, ServerLink
from workers.lines.opening import Lines
from workers.message_buffer import MessageBuffer
from workers.order_setup import Catalogs, build_setup
from workers.runner import MatchRunner
from workers.tests.ladder import GAME, HANG_UP, LadderServer
from workers.tests.runners import Lookout, PlayerReports
from workers.wire import Assignment, Prepare

N_MATCHES = 6


def play(server: LadderServer, lookout: Lookout) -> PlayerReports:
    reports = PlayerReports()
    buffer = MessageBuffer(reports)
    lines = Lines({"EVALSITE_SERVER_S": "5"}, show_waiting=nullcontext)
    catalogs = Catalogs(game=lambda _: GAME, lines=lines.open_lines, game_version=lambda _: "")
    links = [ServerLink("sim-1", server.address, "")]
    prepare = Prepare(1, "any", 1, {}, 0, [AgentOrder("random", {})], None, servers=links)
    runner = MatchRunner(build_setup(prepare, catalogs), lookout, buffer)
    runner.add_matches([Assignment(i, 1, 100 + i, [0], [], server=0) for i in range(N_MATCHES)])
    while runner.is_busy:
        runner.step()
    buffer.flush()
    return reports


def test_episodes_end_with_the_score_that_the_environment_gave(lookout: Lookout) -> None:
    with LadderServer().running() as server:
        reports = play(server, lookout)
    assert {row.ending for row in reports.ended.values()} == {Ending.DONE}
    for number, row in reports.ended.items():
        actions = reports.actions[number]
        moves = zip(actions[::2], actions[1::2], strict=True)
        height = sum((1 if up else -1) * (1, 2, 5)[by] for up, by in moves)
        assert row.returns == [height + (100 + number) / 7]
    assert server.n_most == N_MATCHES


@pytest.mark.parametrize(
    ("spoilt", "capacity", "fate"),
    [
        (HANG_UP, 64, (Ending.INTERRUPTED, Reason.SERVER_LOST)),
        ("no JSON", 64, (Ending.FAILED, Reason.SERVER_FAULT)),
        (
            '{"type":"error","data":{"code":"EXECUTION_ERROR","message":"boom"}}',
            64,
            (Ending.FAILED, Reason.SERVER_FAULT),
        ),
        (None, 0, (Ending.INTERRUPTED, Reason.SERVER_LOST)),
    ],
)
def test_no_agent_is_charged_for_what_its_server_does(
    lookout: Lookout, spoilt: str | None, capacity: int, fate: tuple[Ending, Reason]
) -> None:
    with LadderServer(capacity=capacity).running() as server:
        if spoilt is not None:
            server.spoilt["step"] = spoilt
        reports = play(server, lookout)
    assert len(reports.ended) == N_MATCHES
    fates = {(row.ending, row.reason, row.seat) for row in reports.ended.values()}
    assert fates == {(*fate, -1)}
