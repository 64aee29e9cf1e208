"""Orders played by real player processes whose agents hang, die, cheat and raise."""

import os
import signal
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence

import msgspec
import psutil
import pytest

from arena.messages import AgentOrder, Ending, Limits, Reason, ResultRow, Started
from arena.move_notes import unpack_notes
from workers.current_call import Phase
from workers.message_buffer import FLUSH_S
from workers.pool import PlayerPool
from workers.reports import OrderReports
from workers.stop_signals import Stop
from workers.tests.fake_networks import network
from workers.tests.orders import Posted, fake, make_order, play

pytestmark = pytest.mark.slow

QUICK = Limits(move_s=0.4, match_s=30)
IN_A_STEP_AFTER_S = 0.5
TOLD_S = 1.5 * FLUSH_S
"""Steps of this length are told one by one: a match whose player dies comes as far each time."""


def once_both_step(posted: Posted, stop: Stop) -> Callable[[], Stop]:
    """Tell to stop a little after both players have begun: each is in its first, long step."""
    times: list[float] = []

    def choose_stop() -> Stop:
        if any(len(results.executing) == 2 for results in posted.results):
            times.append(time.monotonic())
        return stop if times and times[-1] > times[0] + IN_A_STEP_AFTER_S else Stop.NO

    return choose_stop


def essence(rows: Mapping[int, ResultRow]) -> dict[int, tuple[object, ...]]:
    return {
        match: (row.ending, row.ranks, row.reason, row.seat, row.actions)
        for match, row in rows.items()
    }


def test_every_match_is_played_and_reported_once(pool: PlayerPool) -> None:
    posted = play(make_order(40), pool)
    assert isinstance(posted.reports[0], Started)
    assert sorted(posted.rows) == list(range(100, 140))
    assert {row.ending for row in posted.rows.values()} == {Ending.DONE}
    assert [results.is_last for results in posted.results][-1]
    assert posted.results[-1].executing == []
    row = posted.rows[100]
    assert (row.n_steps, len(row.actions.split()), row.token) == (6, 6, "token-0")
    notes = unpack_notes(b64decode(row.notes), 6)
    assert all(note.took_s is not None and note.took_s < 10 for note in notes)


def test_lockstep_gives_the_same_results_as_one_by_one(pool: PlayerPool) -> None:
    one_by_one = play(make_order(30), pool)
    batched = [fake(policy="fake_batched"), fake(policy="fake_batched")]
    lockstep = play(make_order(30, agents=batched), pool)
    assert essence(lockstep.rows) == essence(one_by_one.rows)


@pytest.mark.parametrize("policy", ["fake", "fake_batched"])
@pytest.mark.parametrize(
    ("what", "ending", "reason"),
    [
        ("raise", Ending.FORFEIT, Reason.CRASH),
        ("illegal", Ending.FORFEIT, Reason.ILLEGAL),
        ("float", Ending.FORFEIT, Reason.INVALID),
        ("die", Ending.FAILED, Reason.CRASH),
        ("sleep", Ending.FAILED, Reason.TIMEOUT),
        ("spin", Ending.FAILED, Reason.TIMEOUT),
    ],
)
def test_a_misbehaving_agent_costs_only_its_own_matches(
    pool: PlayerPool, policy: str, what: str, ending: Ending, reason: Reason
) -> None:
    good, bad = fake(policy=policy), fake(what, policy=policy, every=7, at=3)
    undisturbed = essence(play(make_order(15, agents=[good, good], step_s=TOLD_S), pool).rows)
    rows = play(make_order(15, agents=[good, bad], limits=QUICK, step_s=TOLD_S), pool).rows
    guilty = {106, 113}
    for match in guilty:
        row = rows.pop(match)
        assert (row.ending, row.reason, row.seat) == (ending, reason, 1), row.detail
        assert row.ranks == ([0, 1] if ending is Ending.FORFEIT else [])
        assert row.n_steps == 3
        assert row.detail
        undisturbed.pop(match)
    assert essence(rows) == undisturbed


@pytest.mark.parametrize(
    ("what", "reason"),
    [("raise", Reason.ERROR), ("die", Reason.ERROR), ("sleep", Reason.TIMEOUT)],
)
def test_a_misbehaving_game_fails_its_match_and_charges_no_seat(
    pool: PlayerPool, what: str, reason: Reason
) -> None:
    rows = play(make_order(10, what=what, every=5, at=2, limits=QUICK), pool).rows
    for match in (104, 109):
        row = rows.pop(match)
        assert (row.ending, row.reason, row.seat, row.ranks) == (Ending.FAILED, reason, -1, [])
    assert {row.ending for row in rows.values()} == {Ending.DONE}


def test_a_match_over_its_limit_fails_though_no_step_is(pool: PlayerPool) -> None:
    limits = Limits(move_s=5, match_s=0.5)
    rows = play(make_order(2, step_s=0.06, steps=40, limits=limits), pool).rows
    for row in rows.values():
        assert (row.ending, row.reason, row.seat) == (Ending.FAILED, Reason.TIMEOUT, -1)
        assert "0.5 s" in row.detail


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"game": "chess boxing"}, ["chess boxing", "sum"]),
        ({"agents": [fake(), AgentOrder("oracle", {})]}, ["oracle", "fake_batched, network"]),
        ({"agents": [fake(), AgentOrder("fake", {"depth": 3})]}, ["depth", "what"]),
        ({"rules_version": 2}, ["rules version 1", "2"]),
        ({"seats": [0, 1, 0]}, ["[0, 1, 0]", "2 seats"]),
        ({"seats": [0, 5]}, ["[0, 5]", "2 agents"]),
        ({"agents": [fake(), fake("die in build")]}, ["died by SIGKILL"]),
    ],
)
def test_an_order_that_cannot_be_played_fails_with_a_clear_detail(
    pool: PlayerPool, changes: Mapping[str, object], words: Sequence[str]
) -> None:
    rows = play(make_order(3, **changes), pool).rows  # type: ignore[arg-type]
    assert len(rows) == 3
    for row in rows.values():
        assert (row.ending, row.reason, row.seat) == (Ending.FAILED, Reason.ERROR, -1)
        assert all(word in row.detail for word in words), row.detail
    assert {row.ending for row in play(make_order(3), pool).rows.values()} == {Ending.DONE}


def test_a_player_killed_from_outside_changes_no_result(pool: PlayerPool) -> None:
    order = make_order(60, step_s=0.005)
    undisturbed = essence(play(order, pool).rows)
    killer = threading.Timer(0.5, lambda: os.kill(pool.players[0].pid, signal.SIGKILL))
    killer.start()
    assert essence(play(order, pool).rows) == undisturbed
    assert all(psutil.pid_exists(player.pid) for player in pool.players)


def test_a_match_that_moves_between_two_losses_is_not_to_blame(pool: PlayerPool) -> None:
    over = threading.Event()

    def kill_at(n_steps: int) -> None:
        while not over.wait(0.005):
            for player in list(pool.players):
                if any(len(match.actions) >= n_steps for match in list(player.assigned.values())):
                    os.kill(player.pid, signal.SIGKILL)
                    return

    def kill_twice() -> None:
        kill_at(2)
        kill_at(6)

    killer = threading.Thread(target=kill_twice)
    killer.start()
    rows = play(make_order(1, step_s=0.05, steps=12), pool).rows
    over.set()
    killer.join()
    assert (rows[100].ending, rows[100].n_steps) == (Ending.DONE, 12)


@pytest.mark.parametrize("placement", ["gpu", "local"])
def test_networks_give_the_same_results_wherever_they_run(pool: PlayerPool, placement: str) -> None:
    agents = [network(placement=placement), network(placement=placement)]
    rows = play(make_order(30, agents=agents), pool).rows
    assert {row.ending for row in rows.values()} == {Ending.DONE}
    local = [network(placement="local"), network(placement="local")]
    assert essence(rows) == essence(play(make_order(30, agents=local), pool).rows)


def test_nobody_is_charged_while_a_network_is_waited_for(pool: PlayerPool) -> None:
    agents = [network("slow"), network()]
    order = make_order(8, agents=agents, limits=Limits(move_s=0.06, match_s=0.3))
    rows = play(order, pool).rows
    assert {row.ending for row in rows.values()} == {Ending.DONE}, rows[100].detail
    slow = [network("slow", placement="local"), network()]
    order = make_order(8, agents=slow, limits=Limits(move_s=0.06, match_s=0.3))
    rows = play(order, pool).rows
    assert Reason.TIMEOUT in {row.reason for row in rows.values()}


def test_a_network_that_is_lost_interrupts_its_matches_only(pool: PlayerPool) -> None:
    undisturbed = essence(play(make_order(30, agents=[network(), network()]), pool).rows)
    rows = play(make_order(30, agents=[network(), network("lost")]), pool).rows
    lost = {match for match, row in rows.items() if row.ending is Ending.INTERRUPTED}
    assert lost
    for match in lost:
        row = rows.pop(match)
        assert (row.reason, row.seat, row.ranks) == (Reason.GPU_LOST, -1, [])
        assert "no answer" in row.detail
        undisturbed.pop(match)
    assert essence(rows) == undisturbed


def kill_waiting(pool: PlayerPool, over: threading.Event) -> None:
    """Kill a player that waits for a network and has matches in play; at the end give up."""
    while not over.wait(0.002):
        for player in list(pool.players):
            is_waiting = player.read_call().phase is Phase.WAIT
            if is_waiting and any(match.actions for match in list(player.assigned.values())):
                os.kill(player.pid, signal.SIGKILL)
                return


def test_a_player_killed_while_it_waits_changes_no_result(pool: PlayerPool) -> None:
    order = make_order(20, agents=[network("slow"), network()])
    undisturbed = essence(play(order, pool).rows)
    over = threading.Event()
    killer = threading.Thread(target=kill_waiting, args=(pool, over))
    killer.start()
    posted = play(order, pool, report_s=0.05)
    over.set()
    killer.join()
    assert essence(posted.rows) == undisturbed
    executing = [match for results in posted.results for match in results.executing]
    assert set(executing) == set(range(100, 120))


def test_a_player_that_always_dies_while_it_waits_charges_no_seat(pool: PlayerPool) -> None:
    rows = play(make_order(6, agents=[network("die"), network("die")]), pool).rows
    failed = {row.match for row in rows.values() if row.ending is Ending.FAILED}
    assert failed
    for match in failed:
        assert (rows[match].reason, rows[match].seat) == (Reason.ERROR, -1)
        assert "lost 3 times, the last one died by SIGKILL" in rows[match].detail
    assert {rows[match].ending for match in rows.keys() - failed} <= {Ending.DONE}


def test_a_player_that_waits_without_an_end_is_lost_to_the_platform(
    pool: PlayerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "wait_s", 0.3)
    rows = play(make_order(4, agents=[network("stuck"), network()]), pool).rows
    endings = {(row.ending, row.reason, row.seat) for row in rows.values()}
    assert endings == {(Ending.INTERRUPTED, Reason.GPU_LOST, -1)}


def test_a_slow_order_reports_what_is_executing(pool: PlayerPool) -> None:
    posted = play(make_order(4, step_s=0.05), pool, report_s=0.1)
    matches = [match for results in posted.results[:-1] for match in results.executing]
    assert set(matches) == {100, 101, 102, 103}
    assert len(posted.results) >= 3


def test_told_to_stop_it_finishes_what_is_in_play_and_gives_back_the_rest(pool: PlayerPool) -> None:
    posted = Posted()
    play(
        make_order(100, step_s=0.05),
        pool,
        stop=lambda: Stop.SOON if len(posted.rows) >= 2 else Stop.NO,
        report_s=0.1,
        posted=posted,
    )
    assert posted.results[-1].is_last
    assert 2 <= len(posted.rows) < 40
    assert {row.ending for row in posted.rows.values()} == {Ending.DONE}


@pytest.mark.parametrize(("stop", "notice_s"), [(Stop.SOON, 0.3), (Stop.NOW, 60.0)])
def test_what_does_not_end_within_the_notice_is_interrupted(
    pool: PlayerPool, stop: Stop, notice_s: float
) -> None:
    posted = Posted()
    play(
        make_order(9, step_s=3.0),
        pool,
        stop=once_both_step(posted, stop),
        notice_s=notice_s,
        report_s=0.1,
        posted=posted,
    )
    endings = [(row.ending, row.reason) for row in posted.rows.values()]
    assert endings == [(Ending.INTERRUPTED, Reason.RETURNED)] * 2
    assert posted.results[-1].is_last


def test_an_order_goes_on_from_its_actions_and_reports_the_whole_match(pool: PlayerPool) -> None:
    order = make_order(6)
    undisturbed = play(order, pool).rows
    half = [" ".join(undisturbed[100 + n].actions.split()[: n % 4]) for n in range(6)]
    resumed = play(msgspec.structs.replace(order, actions=half), pool).rows
    assert essence(resumed) == essence(undisturbed)
    notes = unpack_notes(b64decode(resumed[103].notes), 6)
    assert [note.took_s is None for note in notes] == [True] * 3 + [False] * 3


def test_a_match_that_may_not_go_on_starts_at_its_opening(pool: PlayerPool) -> None:
    order = make_order(2)
    undisturbed = play(order, pool).rows
    odd = msgspec.structs.replace(order, actions=["9 9", "9"], is_replayable=False)
    assert essence(play(odd, pool).rows) == essence(undisturbed)


def test_actions_that_do_not_fit_are_an_interruption_without_actions(pool: PlayerPool) -> None:
    rows = play(msgspec.structs.replace(make_order(2), actions=["7", "1 2"]), pool).rows
    assert (rows[100].ending, rows[100].reason) == (Ending.INTERRUPTED, Reason.UNFIT)
    assert (rows[100].seat, rows[100].actions) == (-1, "")
    assert rows[101].ending is Ending.DONE


def test_a_long_match_reports_its_actions_and_a_short_one_does_not(
    pool: PlayerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OrderReports, "actions_s", 0.1)
    posted = play(make_order(2, step_s=0.02, steps=30), pool, report_s=0.05)
    whole = play(make_order(2, step_s=0.001), pool, report_s=0.05)
    rows = [row for results in posted.results for row in results.begun]
    assert {row.match for row in rows} == {100, 101}
    for row in rows:
        assert posted.rows[row.match].actions.startswith(row.actions)
        assert row.token == posted.rows[row.match].token
    assert 2 <= len(rows) <= 12
    assert [row for results in whole.results for row in results.begun] == []


def test_agents_that_take_for_ever_to_build_fail_the_order(pool: PlayerPool) -> None:
    agents = [fake(), fake("sleep in build")]
    rows = play(make_order(2, agents=agents, limits=Limits(move_s=9, match_s=0.2)), pool).rows
    assert [row.reason for row in rows.values()] == [Reason.ERROR] * 2
    assert "3 players had to be killed while they set it up" in rows[100].detail


def test_a_match_goes_on_when_its_player_was_stopped(pool: PlayerPool) -> None:
    order = make_order(6, step_s=0.05, limits=Limits(move_s=9, match_s=1.5))
    stop_signals = threading.Timer(0.3, lambda: os.kill(pool.players[0].pid, signal.SIGSTOP))
    stop_signals.start()
    assert {row.ending for row in play(order, pool).rows.values()} == {Ending.DONE}
