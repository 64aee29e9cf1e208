"""Who plays what next, with players that only keep what they are sent."""

from typing import cast

import pytest

from arena.messages import Ending, Reason
from workers.assigner import MAX_HAND, Dealer
from workers.pool import Crew, Player
from workers.progress import Entry, Ledger, Pace
from workers.tests.orders import make_order
from workers.wire import Command, Deal, EndedRow, Release


class Seated:
    """A player without a process."""

    def __init__(self) -> None:
        self.sent: list[Command] = []
        self.hand: dict[int, Entry] = {}
        self.is_prepared = True
        self.is_alone = self.is_broken = self.is_releasing = False
        self.n_kept = 0

    def send(self, command: Command) -> None:
        self.sent.append(command)

    @property
    def dealt(self) -> list[list[int]]:
        deals = [command for command in self.sent if isinstance(command, Deal)]
        return [[item.index for item in deal.items] for deal in deals]


class Seats:
    """A crew of them."""

    def __init__(self, n: int) -> None:
        self.players = [Seated() for _ in range(n)]


def set_up(n_matches: int, n_players: int, match_s: float | None) -> tuple[Dealer, Ledger, Seats]:
    ledger, seats = Ledger(make_order(n_matches)), Seats(n_players)
    return Dealer(ledger, cast(Crew, seats), Pace(match_s)), ledger, seats


def test_a_first_hand_is_one_match_while_nothing_is_known() -> None:
    dealer, _, seats = set_up(100, 2, None)
    dealer.deal()
    assert [player.dealt for player in seats.players] == [[[0]], [[1]]]


def test_a_hand_is_about_a_second_of_work() -> None:
    dealer, _, seats = set_up(1000, 2, 0.1)
    dealer.deal()
    assert [len(player.hand) for player in seats.players] == [10, 10]


def test_a_hand_of_short_matches_is_limited() -> None:
    dealer, _, seats = set_up(5000, 2, 1e-5)
    dealer.deal()
    assert [len(player.hand) for player in seats.players] == [MAX_HAND, MAX_HAND]


@pytest.mark.parametrize("match_s", [None, 10.0])
@pytest.mark.parametrize(("n", "n_players", "size"), [(500, 10, 50), (5000, 2, MAX_HAND)])
def test_agents_that_decide_together_have_all_their_matches_in_play(
    n: int, n_players: int, size: int, match_s: float | None
) -> None:
    dealer, _, seats = set_up(n, n_players, match_s)
    dealer.is_batched = True
    dealer.deal()
    assert [len(player.hand) for player in seats.players] == [size] * n_players


def test_a_block_that_took_too_long_halves_the_hands() -> None:
    dealer, _, seats = set_up(5000, 2, None)
    dealer.is_batched = True
    for _ in range(4):
        dealer.shrink()
    dealer.deal()
    assert len(seats.players[0].hand) == MAX_HAND // 16


def test_hands_get_smaller_towards_the_end() -> None:
    dealer, ledger, seats = set_up(64, 2, 1e-5)
    sizes = []
    while ledger.waiting:
        dealer.deal()
        sizes += [len(player.hand) for player in seats.players]
        for player in seats.players:
            player.hand.clear()
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 16
    assert sizes[-1] <= 1


def test_a_player_with_half_a_hand_gets_no_more_yet() -> None:
    dealer, _, seats = set_up(1000, 1, 0.1)
    dealer.deal()
    for index in (0, 1, 2):
        del seats.players[0].hand[index]
    dealer.deal()
    assert len(seats.players[0].dealt) == 1
    for index in (3, 4):
        del seats.players[0].hand[index]
    dealer.deal()
    assert seats.players[0].dealt[1] == [10, 11, 12, 13, 14]


def test_a_suspect_is_played_alone_and_nothing_beside_it() -> None:
    dealer, ledger, seats = set_up(10, 1, 0.01)
    (suspect,) = ledger.take(1)
    ledger.suspects.append(suspect)
    dealer.deal()
    dealer.deal()
    assert seats.players[0].dealt == [[0]]
    assert seats.players[0].is_alone


def test_hands_run_empty_while_a_suspect_waits() -> None:
    dealer, ledger, seats = set_up(100, 1, 0.1)
    dealer.deal()
    ledger.suspects.append(ledger.take(1)[0])
    for index in range(9):
        del seats.players[0].hand[index]
    dealer.deal()
    assert len(seats.players[0].dealt) == 1


def test_an_idle_player_asks_for_half_of_the_fullest_hand_once() -> None:
    dealer, ledger, seats = set_up(8, 2, 0.05)
    busy, _ = seats.players
    busy.hand = {entry.index: entry for entry in ledger.take(8)}
    dealer.deal()
    dealer.deal()
    assert busy.sent == [Release(4, is_begun_too=False)]
    assert busy.is_releasing


def test_a_player_that_had_nothing_to_give_is_asked_again_when_its_hand_has_changed() -> None:
    dealer, ledger, seats = set_up(8, 2, 0.05)
    busy, _ = seats.players
    busy.hand = {entry.index: entry for entry in ledger.take(8)}
    busy.n_kept = 8
    dealer.deal()
    assert busy.sent == []
    dealer._give(cast(Player, busy), [])
    dealer.deal()
    assert isinstance(busy.sent[-1], Release)


@pytest.mark.parametrize("trajectories", ["", "/files/trajectories/0"])
def test_begun_matches_move_to_idle_players_unless_their_trajectories_would_be_lost(
    trajectories: str,
) -> None:
    dealer, ledger, seats = set_up(8, 2, 0.05)
    dealer.is_batched, ledger.is_recorded = True, bool(trajectories)
    busy, _ = seats.players
    busy.hand = {entry.index: entry for entry in ledger.take(8)}
    dealer.deal()
    assert busy.sent == [Release(4, is_begun_too=not trajectories)]


@pytest.mark.parametrize(("n", "match_s"), [(1, 10.0), (8, 0.001)])
def test_little_work_is_not_moved(n: int, match_s: float) -> None:
    dealer, ledger, seats = set_up(n, 2, match_s)
    seats.players[0].hand = {entry.index: entry for entry in ledger.take(n)}
    dealer.deal()
    assert seats.players[0].sent == []


def test_a_player_that_is_not_prepared_gets_nothing() -> None:
    dealer, _, seats = set_up(8, 1, None)
    seats.players[0].is_prepared = False
    dealer.deal()
    assert seats.players[0].sent == []


def test_the_pace_is_the_mean_of_what_ended() -> None:
    pace = Pace(9.0)
    pace.add([])
    assert pace.match_s == 9.0
    row = EndedRow(0, Ending.DONE, [0, 1], Reason.NONE, -1, "", 1000)
    pace.add([row])
    pace.add([EndedRow(2, Ending.INTERRUPTED, [], Reason.GPU_LOST, -1, "", 60_000)])
    pace.add([EndedRow(1, Ending.DONE, [0, 1], Reason.NONE, -1, "", 3000)])
    assert pace.match_s == 2.0
