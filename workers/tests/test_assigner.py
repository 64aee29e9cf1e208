"""Who plays what next, with players that only keep what they are sent."""

from typing import cast

import pytest

from arena.messages import Ending, Reason
from workers.assigner import MAX_SHARE, Assigner
from workers.player_process import PlayerProcess
from workers.pool import PlayerPool
from workers.progress import MatchProgress, OrderProgress, PaceEstimate
from workers.tests.orders import make_order
from workers.wire import Assign, Command, EndedMatch, Release


class Seated:
    """A player without a process."""

    def __init__(self) -> None:
        self.sent: list[Command] = []
        self.assigned: dict[int, MatchProgress] = {}
        self.is_prepared = True
        self.is_alone = self.is_broken = self.is_releasing = False
        self.n_kept = 0

    def send_command(self, command: Command) -> None:
        self.sent.append(command)

    @property
    def assigned_indices(self) -> list[list[int]]:
        assigns = [command for command in self.sent if isinstance(command, Assign)]
        return [[assignment.index for assignment in assign.assignments] for assign in assigns]


class Seats:
    """A pool of them."""

    def __init__(self, n: int) -> None:
        self.players = [Seated() for _ in range(n)]


def set_up(
    n_matches: int, n_players: int, match_s: float | None
) -> tuple[Assigner, OrderProgress, Seats]:
    progress, seats = OrderProgress(make_order(n_matches)), Seats(n_players)
    assigner = Assigner(progress, cast(PlayerPool, seats), PaceEstimate(match_s))
    assigner.n_players = n_players
    return assigner, progress, seats


def test_a_first_share_is_one_match_while_nothing_is_known() -> None:
    assigner, _, seats = set_up(100, 2, None)
    assigner.assign_matches()
    assert [player.assigned_indices for player in seats.players] == [[[0]], [[1]]]


def test_a_share_is_about_a_second_of_work() -> None:
    assigner, _, seats = set_up(1000, 2, 0.1)
    assigner.assign_matches()
    assert [len(player.assigned) for player in seats.players] == [10, 10]


def test_a_share_of_short_matches_is_limited() -> None:
    assigner, _, seats = set_up(5000, 2, 1e-5)
    assigner.assign_matches()
    assert [len(player.assigned) for player in seats.players] == [MAX_SHARE, MAX_SHARE]


@pytest.mark.parametrize("match_s", [None, 10.0])
@pytest.mark.parametrize(("n", "n_players", "size"), [(500, 10, 50), (5000, 2, MAX_SHARE)])
def test_agents_that_decide_together_have_all_their_matches_in_play(
    n: int, n_players: int, size: int, match_s: float | None
) -> None:
    assigner, _, seats = set_up(n, n_players, match_s)
    assigner.is_batched = True
    assigner.assign_matches()
    assert [len(player.assigned) for player in seats.players] == [size] * n_players


def test_a_block_that_took_too_long_halves_the_shares() -> None:
    assigner, _, seats = set_up(5000, 2, None)
    assigner.is_batched = True
    for _ in range(4):
        assigner.halve_shares()
    assigner.assign_matches()
    assert len(seats.players[0].assigned) == MAX_SHARE // 16


def test_shares_get_smaller_towards_the_end() -> None:
    assigner, progress, seats = set_up(64, 2, 1e-5)
    sizes = []
    while progress.waiting:
        assigner.assign_matches()
        sizes += [len(player.assigned) for player in seats.players]
        for player in seats.players:
            player.assigned.clear()
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 16
    assert sizes[-1] <= 1


def test_a_player_with_half_a_share_gets_no_more_yet() -> None:
    assigner, _, seats = set_up(1000, 1, 0.1)
    assigner.assign_matches()
    for index in (0, 1, 2):
        del seats.players[0].assigned[index]
    assigner.assign_matches()
    assert len(seats.players[0].assigned_indices) == 1
    for index in (3, 4):
        del seats.players[0].assigned[index]
    assigner.assign_matches()
    assert seats.players[0].assigned_indices[1] == [10, 11, 12, 13, 14]


def test_a_suspect_is_played_alone_and_nothing_beside_it() -> None:
    assigner, progress, seats = set_up(10, 1, 0.01)
    (suspect,) = progress.take_waiting(1)
    progress.suspects.append(suspect)
    assigner.assign_matches()
    assigner.assign_matches()
    assert seats.players[0].assigned_indices == [[0]]
    assert seats.players[0].is_alone


def test_players_run_out_of_work_while_a_suspect_waits() -> None:
    assigner, progress, seats = set_up(100, 1, 0.1)
    assigner.assign_matches()
    progress.suspects.append(progress.take_waiting(1)[0])
    for index in range(9):
        del seats.players[0].assigned[index]
    assigner.assign_matches()
    assert len(seats.players[0].assigned_indices) == 1


def test_an_idle_player_asks_for_half_of_the_matches_of_the_busiest_once() -> None:
    assigner, progress, seats = set_up(8, 2, 0.05)
    busy, _ = seats.players
    busy.assigned = {match.index: match for match in progress.take_waiting(8)}
    assigner.assign_matches()
    assigner.assign_matches()
    assert busy.sent == [Release(4, is_begun_too=False)]
    assert busy.is_releasing


def test_a_player_that_had_nothing_to_give_is_asked_again_when_its_matches_have_changed() -> None:
    assigner, progress, seats = set_up(8, 2, 0.05)
    busy, _ = seats.players
    busy.assigned = {match.index: match for match in progress.take_waiting(8)}
    busy.n_kept = 8
    assigner.assign_matches()
    assert busy.sent == []
    assigner._assign_to(cast(PlayerProcess, busy), [])
    assigner.assign_matches()
    assert isinstance(busy.sent[-1], Release)


@pytest.mark.parametrize("trajectories", ["", "/files/trajectories/0"])
def test_begun_matches_move_to_idle_players_unless_their_trajectories_would_be_lost(
    trajectories: str,
) -> None:
    assigner, progress, seats = set_up(8, 2, 0.05)
    assigner.is_batched, progress.starts_again = True, bool(trajectories)
    busy, _ = seats.players
    busy.assigned = {match.index: match for match in progress.take_waiting(8)}
    assigner.assign_matches()
    assert busy.sent == [Release(4, is_begun_too=not trajectories)]


@pytest.mark.parametrize(("n", "match_s"), [(1, 10.0), (8, 0.001)])
def test_little_work_is_not_moved(n: int, match_s: float) -> None:
    assigner, progress, seats = set_up(n, 2, match_s)
    seats.players[0].assigned = {match.index: match for match in progress.take_waiting(n)}
    assigner.assign_matches()
    assert seats.players[0].sent == []


def test_a_player_that_is_not_prepared_gets_nothing() -> None:
    assigner, _, seats = set_up(8, 1, None)
    seats.players[0].is_prepared = False
    assigner.assign_matches()
    assert seats.players[0].sent == []


def test_the_pace_is_the_mean_of_what_ended() -> None:
    pace = PaceEstimate(9.0)
    pace.learn([])
    assert pace.match_s == 9.0
    row = EndedMatch(0, Ending.DONE, [0, 1], Reason.NONE, -1, "", 1000)
    pace.learn([row])
    pace.learn([EndedMatch(2, Ending.INTERRUPTED, [], Reason.GPU_LOST, -1, "", 60_000)])
    pace.learn([EndedMatch(1, Ending.DONE, [0, 1], Reason.NONE, -1, "", 3000)])
    assert pace.match_s == 2.0
