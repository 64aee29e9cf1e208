"""The recorder: the first valid report closes a match, every other one changes nothing."""

import msgspec
import pytest
from redis import Redis

from arena.messages import Alive, Ending, MatchOrder, MatchOrderRow, Reason, ResultRow, to_wire
from matches.ledger import recording
from matches.models import Attempt, Match, Order, Outcome, Tournament, Uncounted
from matches.tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(broker: Redis) -> Tournament:
    make.alive()
    return make.planned(4)


def _order(tournament: Tournament) -> MatchOrder:
    order = make.ordered(tournament)
    make.start(order)
    return order


def test_the_first_report_closes_the_match_and_notes_the_attempt(tournament: Tournament) -> None:
    order = _order(tournament)
    recorded = recording.record_report(make.finished(order), now=make.NOW)
    outcome = Outcome.objects.get(match_id=order.matches[0].match)
    assert recorded.n_closed == len(order.matches)
    assert (outcome.ranks, outcome.attempt, outcome.actions) == ("0,1", 1, "10 50")
    assert outcome.match.state == Match.State.DONE
    assert outcome.match.attempts.get().ending == Attempt.Ending.DONE
    assert Uncounted.objects.count() == len(order.matches)


def test_the_second_report_changes_nothing_and_is_counted(tournament: Tournament) -> None:
    order = _order(tournament)
    recording.record_report(make.finished(order), now=make.NOW)
    lying = make.finished(order, lambda row: make.result(row, ranks=[1, 0]))
    recorded = recording.record_report(lying, now=make.NOW)
    tournament.refresh_from_db()
    assert recorded == recording.RecordedCounts(n_refused=len(order.matches))
    assert set(Outcome.objects.values_list("ranks", flat=True)) == {"0,1"}
    assert tournament.n_refused == len(order.matches)
    assert tournament.n_done == len(order.matches)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("orders", [f"{number:032x}" for number in range(101)]),
        ("capabilities", ["cpu"] * 101),
        ("versions", {str(number): "" for number in range(101)}),
    ],
)
def test_a_sign_of_life_with_lists_without_bound_is_refused(field: str, value: object) -> None:
    """300,000 orders made SQLite fail as if it were away, and the recorder wait for 30 s."""
    wire = to_wire(Alive("node-1", "a", 1, ["cpu"], {}, [], make.key_of("node-1")))
    assert recording.record_messages([wire], now=make.NOW).n_refused == 0
    assert recording.record_messages([wire | {field: value}], now=make.NOW).n_refused == 1


def test_a_nul_that_an_agent_says_costs_no_other_match_its_result(tournament: Tournament) -> None:
    order = _order(tournament)
    rows = [make.first_wins(row) for row in order.matches]
    rows[0] = msgspec.structs.replace(rows[0], detail="a\0b", actions="1\0 2")
    assert recording.record_report(make.reported(order, rows), now=make.NOW).n_closed == len(rows)
    assert Attempt.objects.get(match_id=rows[0].match).detail == "a b"
    assert Outcome.objects.get(match_id=rows[0].match).actions == "1  2"


def test_a_match_doubled_within_one_report_counts_once(tournament: Tournament) -> None:
    order = _order(tournament)
    rows = [make.first_wins(order.matches[0]), make.result(order.matches[0], ranks=[1, 0])]
    recording.record_report(make.reported(order, rows, is_last=False), now=make.NOW)
    assert list(Outcome.objects.values_list("ranks", flat=True)) == ["0,1"]


@pytest.mark.parametrize(
    "change",
    [
        {"token": "forged"},
        {"token": "\u00fcbel"},
        {"token": "\ud800"},
        {"match": 999_999},
        {"attempt": 2},
        {"ranks": [0]},
        {"ranks": [0, 2]},
        {"ranks": [1, 1]},
        {"ranks": []},
        {"ending": Ending.FORFEIT, "seat": 2, "ranks": []},
        {"ending": Ending.FORFEIT, "seat": -1, "ranks": []},
    ],
)
def test_it_refuses_a_row_that_is_not_a_valid_result(
    tournament: Tournament, change: dict[str, object]
) -> None:
    order = _order(tournament)
    row = msgspec.structs.replace(make.first_wins(order.matches[0]), **change)
    recorded = recording.record_report(make.reported(order, [row], is_last=False), now=make.NOW)
    assert recorded == recording.RecordedCounts(n_refused=1)
    assert not Outcome.objects.exists()


@pytest.mark.parametrize("ranks", [[True, False], [0.0, 1.0], [float("nan"), 0], "01", None, {}])
def test_it_refuses_ranks_that_only_look_like_ranks(tournament: Tournament, ranks: object) -> None:
    order = _order(tournament)
    wire = to_wire(make.finished(order))
    wire["results"][0][4] = ranks
    assert recording.record_messages([wire], now=make.NOW) == recording.RecordedCounts(n_refused=1)
    assert not Outcome.objects.exists()


@pytest.mark.parametrize("wire", [None, 7, "x", [], {}, {"kind": "results"}, {"kind": "mark"}])
def test_a_broken_report_is_refused_and_nothing_is_written(db: None, wire: object) -> None:
    assert recording.record_messages([wire], now=make.NOW) == recording.RecordedCounts(n_refused=1)


def test_a_report_of_an_order_of_another_database_is_refused(tournament: Tournament) -> None:
    order = _order(tournament)
    Order.objects.update(uuid="00000000-0000-0000-0000-000000000000")
    recorded = recording.record_report(make.finished(order), now=make.NOW)
    assert recorded == recording.RecordedCounts(n_refused=len(order.matches))


def test_a_late_result_of_a_lost_attempt_is_recorded_while_the_match_is_open(
    tournament: Tournament,
) -> None:
    order = _order(tournament)
    make.alive(incarnation="second-life")
    assert set(Match.objects.values_list("state", flat=True)) == {Match.State.PENDING}
    make.ordered(tournament)
    recording.record_report(make.finished(order), now=make.NOW)
    closed = Match.objects.get(pk=order.matches[0].match)
    assert (closed.state, closed.outcome.attempt, closed.attempt) == (Match.State.DONE, 1, 2)
    assert [str(attempt) for attempt in closed.attempts.all()] == ["attempt 1: done"]


def test_a_forfeit_puts_the_guilty_seat_last_whatever_ranks_the_node_sends(
    tournament: Tournament,
) -> None:
    order = _order(tournament)
    row = make.result(
        order.matches[0], ending=Ending.FORFEIT, ranks=[0, 1], reason=Reason.CRASH, seat=0
    )
    recording.record_report(make.reported(order, [row], is_last=False), now=make.NOW)
    outcome = Outcome.objects.get()
    tournament.refresh_from_db()
    assert (outcome.ranks, outcome.guilty_seat, outcome.reason) == ("1,0", 0, "crash")
    assert (tournament.n_done, tournament.n_forfeits) == (1, 1)


def _timed_out(row: MatchOrderRow) -> ResultRow:
    return make.result(row, ending=Ending.FAILED, reason=Reason.TIMEOUT, seat=1)


@pytest.mark.parametrize("reason", [Reason.TIMEOUT, Reason.CRASH])
def test_a_suspicion_is_charged_only_when_the_same_seat_repeats_it(
    tournament: Tournament, reason: Reason
) -> None:
    def suspected(row: MatchOrderRow) -> ResultRow:
        return make.result(row, ending=Ending.FAILED, reason=reason, seat=1)

    recording.record_report(make.finished(_order(tournament), suspected), now=make.NOW)
    assert not Outcome.objects.exists()
    assert set(Match.objects.values_list("state", flat=True)) == {Match.State.PENDING}
    recording.record_report(make.finished(_order(tournament), suspected), now=make.NOW)
    assert set(Outcome.objects.values_list("ranks", "reason")) == {("0,1", reason.value)}


def test_a_time_out_after_a_crash_proves_neither(tournament: Tournament) -> None:
    for reason in (Reason.CRASH, Reason.TIMEOUT):

        def suspected(row: MatchOrderRow, reason: Reason = reason) -> ResultRow:
            return make.result(row, ending=Ending.FAILED, reason=reason, seat=1)

        recording.record_report(make.finished(_order(tournament), suspected), now=make.NOW)
    assert not Outcome.objects.exists()


def test_a_report_that_comes_twice_is_one_time_out(tournament: Tournament) -> None:
    report = make.finished(_order(tournament), _timed_out)
    for _ in range(2):
        recording.record_report(report, now=make.NOW)
    assert not Outcome.objects.exists()
    assert set(Match.objects.values_list("state", flat=True)) == {Match.State.PENDING}


def _failed(row: MatchOrderRow) -> ResultRow:
    return make.result(row, ending=Ending.FAILED, reason=Reason.ERROR)


def test_after_five_failures_a_match_is_void_with_the_reason_kept(tournament: Tournament) -> None:
    for _ in range(5):
        recording.record_report(make.finished(_order(tournament), _failed), now=make.NOW)
    tournament.refresh_from_db()
    match = Match.objects.first()
    assert match is not None
    assert (match.state, match.void_reason) == (Match.State.VOID, "error")
    assert [attempt.number for attempt in match.attempts.all()] == [1, 2, 3, 4, 5]
    assert (tournament.n_void, tournament.n_done, tournament.n_retried) == (4, 0, 16)
    assert tournament.state == Tournament.State.DONE


def test_a_returned_order_puts_the_rest_back_without_a_failure(tournament: Tournament) -> None:
    for _ in range(8):
        order = _order(tournament)
        recording.record_report(make.reported(order, []), now=make.NOW)
    assert set(Match.objects.values_list("state", "void_reason")) == {("pending", "")}
    assert Attempt.objects.filter(reason="returned", ending="interrupted").count() == 8 * 4


def test_losing_the_node_again_while_the_same_match_was_executing_is_a_failure(
    tournament: Tournament,
) -> None:
    for life in range(6):
        order = make.ordered(tournament)
        make.start(order, incarnation=f"life-{life}")
        executing = [order.matches[0].match]
        recording.record_report(make.reported(order, [], False, executing), now=make.NOW)
        make.alive(incarnation=f"life-{life + 1}")
    states = list(Match.objects.order_by("pk").values_list("state", flat=True))
    assert states == ["void", "pending", "pending", "pending"]


def test_the_tournament_ends_with_its_last_match(tournament: Tournament, broker: Redis) -> None:
    make.play_all(broker)
    tournament.refresh_from_db()
    assert (tournament.state, tournament.n_done) == (Tournament.State.DONE, 4)
    assert tournament.finished_at == make.NOW
    assert not Order.objects.filter(state__in=Order.OPEN).exists()
