"""Who is to blame for a lost player."""

from typing import cast

import msgspec

from arena.messages import Ending, Limits, Reason
from workers.blame import (
    MAX_LOSSES,
    FaultAttribution,
    charge_matches,
    matches_begun,
    matches_in_call,
)
from workers.current_call import CurrentCall, Phase
from workers.player_process import PlayerProcess
from workers.progress import MatchProgress, OrderProgress
from workers.tests.orders import make_order
from workers.wire import EndedMatch


class Corpse:
    """What is left of a player."""

    def __init__(self, matches: list[MatchProgress], block: list[int] | None = None) -> None:
        self.assigned = {match.index: match for match in matches}
        self.block = block or []
        self.begun: set[int] = set()
        self.fate = "died by SIGSEGV"
        self.is_own_doing = True


class Case:
    """An order of six matches, all assigned to one player."""

    def __init__(self) -> None:
        self.progress = OrderProgress(make_order(6))
        self.ended: dict[int, EndedMatch] = {}
        self.attribution = FaultAttribution(self.progress, Limits(move_s=2, match_s=9), self.end)

    def end(self, match: MatchProgress, ended: EndedMatch) -> None:
        self.progress.close_match(match, ended)
        self.ended[match.index] = ended

    def assign(self, *indices: int, block: list[int] | None = None) -> PlayerProcess:
        chosen = [self.progress.open[index] for index in indices]
        for match in chosen:
            for queue in (self.progress.waiting, self.progress.suspects):
                if match in queue:
                    queue.remove(match)
        return cast(PlayerProcess, Corpse(chosen, block))

    @property
    def waiting(self) -> list[int]:
        return [match.index for match in self.progress.waiting]

    @property
    def suspects(self) -> list[int]:
        return [match.index for match in self.progress.suspects]


def at(subject: int, phase: Phase, seat: int = 0) -> CurrentCall:
    return CurrentCall(1, subject, seat, phase)


def test_the_first_death_makes_a_suspect_and_the_others_go_on_first() -> None:
    case = Case()
    case.attribution.blame_death(case.assign(0, 1, 2), at(1, Phase.POLICY))
    assert (case.waiting, case.suspects, case.ended) == ([0, 2, 3, 4, 5], [1], {})


def test_the_second_death_of_a_suspect_is_a_crash_of_the_seat() -> None:
    case = Case()
    for _ in range(2):
        case.attribution.blame_death(case.assign(1), at(1, Phase.POLICY, seat=1))
    row = case.ended[1]
    assert (row.ending, row.reason, row.seat, row.ranks) == (
        Ending.FORFEIT,
        Reason.CRASH,
        1,
        [0, 1],
    )
    assert "SIGSEGV twice while seat 1" in row.detail


def test_two_kills_that_may_come_from_outside_name_the_seat_and_charge_nobody() -> None:
    """As by the kernel of a machine that is out of memory: another attempt is to repeat it."""
    case = Case()
    for _ in range(2):
        player = case.assign(1)
        player.fate, player.is_own_doing = "died by SIGKILL", False
        case.attribution.blame_death(player, at(1, Phase.POLICY, seat=1))
    row = case.ended[1]
    assert (row.ending, row.reason, row.seat, row.ranks) == (Ending.FAILED, Reason.CRASH, 1, [])
    assert "SIGKILL twice while seat 1" in row.detail


def test_the_second_death_in_the_game_fails_the_attempt() -> None:
    case = Case()
    for _ in range(2):
        case.attribution.blame_death(case.assign(1), at(1, Phase.GAME))
    row = case.ended[1]
    assert (row.ending, row.reason, row.seat) == (Ending.FAILED, Reason.ERROR, -1)


def test_a_suspect_that_moved_in_between_is_not_charged() -> None:
    case = Case()
    case.attribution.blame_death(case.assign(1), at(1, Phase.POLICY))
    case.progress.open[1].is_suspect = False  # as its action cleared it
    case.attribution.blame_death(case.assign(1), at(1, Phase.POLICY))
    assert (case.suspects, case.ended) == ([1], {})


def test_a_match_whose_player_is_lost_again_and_again_fails_without_proof() -> None:
    case = Case()
    for _ in range(MAX_LOSSES):
        case.attribution.blame_death(case.assign(0, 1), at(0, Phase.IDLE))
    assert {row.reason for row in case.ended.values()} == {Reason.ERROR}
    assert sorted(case.ended) == [0, 1]


def test_a_death_between_calls_suspects_what_had_begun() -> None:
    case = Case()
    case.progress.open[2].actions.append(3)
    case.attribution.blame_death(case.assign(0, 1, 2), at(0, Phase.IDLE))
    assert (case.waiting, case.suspects) == ([0, 1, 3, 4, 5], [2])


def test_a_death_with_no_matches_blames_nobody() -> None:
    case = Case()
    case.attribution.blame_death(case.assign(), at(0, Phase.IDLE))
    assert (case.waiting, case.suspects) == ([0, 1, 2, 3, 4, 5], [])


def test_one_row_that_hangs_times_out_at_once() -> None:
    case = Case()
    case.attribution.blame_hang(case.assign(0, 1), at(1, Phase.POLICY, seat=1))
    row = case.ended[1]
    assert (row.ending, row.reason, row.seat, row.ranks) == (Ending.FAILED, Reason.TIMEOUT, 1, [])
    assert "seat 1 took over 2 s" in row.detail
    assert case.waiting == [0, 2, 3, 4, 5]


def test_a_game_that_hangs_charges_no_seat() -> None:
    case = Case()
    case.attribution.blame_hang(case.assign(1), at(1, Phase.GAME, seat=1))
    assert (case.ended[1].reason, case.ended[1].seat) == (Reason.TIMEOUT, -1)


def test_every_row_of_a_block_that_hangs_is_a_suspect() -> None:
    case = Case()
    case.attribution.blame_hang(case.assign(0, 1, 2, 3, block=[0, 2]), at(1, Phase.BLOCK))
    assert (case.waiting, case.suspects, case.ended) == ([1, 3, 4, 5], [0, 2], {})


def test_a_block_of_one_row_that_hangs_is_charged_to_its_agents_seat() -> None:
    case = Case()
    case.attribution.blame_hang(case.assign(0, 1, block=[0, 5]), at(1, Phase.BLOCK))
    assert (case.ended[0].reason, case.ended[0].seat) == (Reason.TIMEOUT, 1)


def test_a_match_over_its_limit_is_charged_to_whoever_used_the_most() -> None:
    case = Case()
    first, second = case.assign(0), case.assign(1)
    charge_matches(first, at(0, Phase.POLICY, seat=1), 6.0)
    charge_matches(first, at(0, Phase.GAME), 4.0)
    charge_matches(second, at(1, Phase.GAME), 6.0)
    charge_matches(second, at(1, Phase.POLICY), 4.0)
    case.attribution.blame_long_match(first, case.progress.open[0])
    case.attribution.blame_long_match(second, case.progress.open[1])
    assert [case.ended[index].seat for index in (0, 1)] == [1, -1]
    assert case.ended[0].share_ms == 10_000


def test_a_match_that_ended_before_the_kill_is_not_over_its_limit() -> None:
    case = Case()
    player, match = case.assign(0, 1), case.progress.open[0]
    del player.assigned[0]
    case.attribution.blame_long_match(player, match)
    assert (case.waiting, case.ended) == ([1, 2, 3, 4, 5], {})


def test_a_block_shares_its_seconds_among_its_matches() -> None:
    case = Case()
    player = case.assign(0, 1, block=[0, 1])
    dearest = charge_matches(player, at(1, Phase.BLOCK), 3.0)
    assert dearest is case.progress.open[0]
    assert case.progress.open[1].spent_s == [0, 1.5, 0]
    assert charge_matches(player, at(0, Phase.IDLE), 3.0) is None


def test_what_is_executing_is_assigned() -> None:
    case = Case()
    player = case.assign(0, 1, block=[1, 4])
    assert matches_in_call(player, at(5, Phase.POLICY)) == []
    assert matches_in_call(player, at(0, Phase.BLOCK)) == [case.progress.open[1]]
    case.progress.open[0].actions.append(1)
    assert matches_begun(player, at(1, Phase.GAME)) == [
        case.progress.open[0],
        case.progress.open[1],
    ]


def test_matches_that_wait_for_an_answer_have_begun() -> None:
    case = Case()
    player = case.assign(0, 1, 2)
    player.begun.update((0, 2, 5))
    assert [match.index for match in matches_begun(player, at(0, Phase.WAIT))] == [0, 2]
    assert matches_in_call(player, at(0, Phase.WAIT)) == []


def test_a_death_while_waiting_blames_nobody() -> None:
    case = Case()
    case.progress.open[1].actions.append(3)
    case.attribution.blame_death(case.assign(0, 1, 2), at(0, Phase.WAIT))
    assert (case.waiting, case.suspects, case.ended) == ([0, 1, 2, 3, 4, 5], [], {})
    assert [case.progress.open[index].n_losses for index in (0, 1, 2)] == [0, 1, 0]


def test_a_match_that_gets_on_between_deaths_while_waiting_is_played_on() -> None:
    case = Case()
    for n_actions in range(2 * MAX_LOSSES):
        case.progress.open[0].actions = [1] * (n_actions + 1)
        case.attribution.blame_death(case.assign(0), at(0, Phase.WAIT))
    assert case.ended == {}


def test_a_match_that_gets_nowhere_between_deaths_while_waiting_fails() -> None:
    case = Case()
    case.progress.open[0].actions.append(3)
    for _ in range(MAX_LOSSES):
        case.attribution.blame_death(case.assign(0), at(0, Phase.WAIT))
    row = case.ended[0]
    assert (row.ending, row.reason, row.seat) == (Ending.FAILED, Reason.ERROR, -1)


def test_matches_that_were_never_answered_are_interrupted() -> None:
    case = Case()
    player = case.assign(0, 1)
    player.begun.add(0)
    case.attribution.blame_missing_answer(player, at(0, Phase.WAIT))
    row = case.ended[0]
    assert (row.ending, row.reason, row.seat) == (Ending.INTERRUPTED, Reason.GPU_LOST, -1)
    assert case.waiting == [1, 2, 3, 4, 5]


def test_a_recorded_match_starts_again_when_its_player_is_lost() -> None:
    case = Case()
    case.progress.starts_again = True
    for index in (0, 1):
        case.progress.open[index].actions.append(3)
    case.attribution.blame_death(case.assign(0, 1), at(1, Phase.POLICY))
    assert (case.waiting[0], case.suspects) == (0, [1])
    assert [case.progress.open[index].actions for index in (0, 1)] == [[], []]


def test_nobody_is_blamed_for_a_call_that_returned_in_time() -> None:
    case = Case()
    case.attribution.blame_nobody(case.assign(0, 1, 2))
    assert (case.waiting, case.suspects, case.ended) == ([0, 1, 2, 3, 4, 5], [], {})


def test_a_match_whose_player_stands_still_again_and_again_fails() -> None:
    case = Case()
    for _ in range(MAX_LOSSES):
        assert case.ended == {}
        case.attribution.blame_stall(case.assign(0, 1, 2), at(1, Phase.POLICY))
    assert (case.ended[1].reason, case.ended[1].seat) == (Reason.TIMEOUT, -1)
    assert case.waiting == [0, 2, 3, 4, 5]


def test_a_match_of_a_game_that_cannot_be_replayed_starts_again() -> None:
    order = msgspec.structs.replace(make_order(1), is_replayable=False)
    progress = OrderProgress(order)
    (match,) = progress.take_waiting(1)
    match.actions.append(3)
    progress.put_back([match])
    assert progress.take_waiting(1)[0].actions == []
