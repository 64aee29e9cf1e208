"""The actions of an interrupted match are sent with its next attempt."""

from collections.abc import Sequence

import msgspec
import pytest
from redis import Redis

from arena.messages import BegunRow, Ending, MatchOrder, MatchOrderRow, Reason, ResultRow, Results
from matches.ledger import begun_matches, recording
from matches.ledger.order_states import lose_order
from matches.models import Attempt, BegunMatch, Match, Order, Tournament, Worker
from matches.store.clock import MAX_FAILURES
from matches.tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(broker: Redis) -> Tournament:
    make.alive()
    return make.planned(2)


def _order(tournament: Tournament) -> MatchOrder:
    order = make.ordered(tournament)
    make.start(order)
    return order


def _make_row(row: MatchOrderRow, actions: str) -> BegunRow:
    return BegunRow(row.match, row.attempt, row.token, actions)


def _tell(order: MatchOrder, begun: Sequence[BegunRow]) -> recording.RecordedCounts:
    report = make.reported(order, [], is_last=False, executing=[row.match for row in begun])
    return recording.record_report(msgspec.structs.replace(report, begun=list(begun)), now=make.NOW)


def _lose(order: MatchOrder) -> None:
    lose_order(Order.objects.get(uuid=order.order), reason=Reason.NODE_LOST, now=make.NOW)


def _kept() -> dict[int, tuple[int, str]]:
    rows = BegunMatch.objects.values_list("match_id", "attempt", "actions")
    return {match: (attempt, actions) for match, attempt, actions in rows}


def _interrupted(row: MatchOrderRow, actions: str, reason: Reason = Reason.RETURNED) -> ResultRow:
    ended = make.result(row, ending=Ending.INTERRUPTED, reason=reason)
    return msgspec.structs.replace(ended, actions=actions)


def test_a_lost_match_goes_on_where_it_was_last_heard_of(tournament: Tournament) -> None:
    order = _order(tournament)
    assert order.actions == []
    first = order.matches[0]
    _tell(order, [_make_row(first, "4")])
    _tell(order, [_make_row(first, "4 5 6")])
    _lose(order)
    again = make.ordered(tournament)
    sent = dict(zip([row.match for row in again.matches], again.actions, strict=True))
    assert sent == {first.match: "4 5 6", order.matches[1].match: ""}
    assert Attempt.objects.get(match=first.match).n_steps == 3


def test_an_interrupted_match_goes_on_where_its_node_stopped(tournament: Tournament) -> None:
    order = _order(tournament)
    rows = [_interrupted(row, "1 2") for row in order.matches]
    recording.record_report(make.reported(order, rows), now=make.NOW)
    assert make.ordered(tournament).actions == ["1 2", "1 2"]


def test_a_doubled_or_late_report_changes_nothing(tournament: Tournament) -> None:
    order = _order(tournament)
    first, second = order.matches
    _tell(order, [_make_row(first, "4 5 6"), _make_row(second, "1")])
    _tell(order, [_make_row(first, "4 5 6")])
    _tell(order, [_make_row(first, "4")])
    assert _kept()[first.match] == (1, "4 5 6")
    _lose(order)
    # Between two attempts, and of the one before, once the next is under way.
    _tell(order, [_make_row(first, "4 5 6 7")])
    again = _order(tournament)
    _tell(order, [_make_row(first, "4 5 6 7 8")])
    assert _kept()[first.match] == (1, "4 5 6")
    _tell(again, [_make_row(again.matches[0], "4 5 6 9")])
    assert _kept()[first.match] == (2, "4 5 6 9")


def test_actions_without_the_token_of_their_attempt_are_refused(tournament: Tournament) -> None:
    order = _order(tournament)
    first, second = order.matches
    forged = msgspec.structs.replace(_make_row(first, "4"), token=second.token)
    ahead = msgspec.structs.replace(_make_row(first, "4"), attempt=2)
    _tell(order, [forged, ahead])
    assert _kept() == {}


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.INTERRUPTED])
def test_what_failed_or_did_not_fit_starts_again(tournament: Tournament, ending: Ending) -> None:
    order = _order(tournament)
    _tell(order, [_make_row(row, "4 5") for row in order.matches])
    reason = Reason.UNFIT if ending is Ending.INTERRUPTED else Reason.ERROR
    rows = [make.result(row, ending=ending, reason=reason) for row in order.matches]
    rows = [msgspec.structs.replace(row, actions="") for row in rows]
    recording.record_report(make.reported(order, rows), now=make.NOW)
    assert _kept() == {}
    assert make.ordered(tournament).actions == []
    assert not Attempt.objects.filter(ending=Attempt.Ending.FORFEIT).exists()


def test_nothing_is_kept_of_a_match_that_is_over(tournament: Tournament) -> None:
    order = _order(tournament)
    _tell(order, [_make_row(row, "4 5") for row in order.matches])
    rows = [make.result(row, ranks=[0, 1], duration_ms=3_000) for row in order.matches]
    recording.record_report(make.reported(order, rows), now=make.NOW)
    assert Match.objects.filter(state=Match.State.DONE).count() == 2
    _tell(order, [_make_row(row, "4 5 6") for row in order.matches])
    assert _kept() == {}


def test_what_is_left_goes_with_the_tournament(tournament: Tournament) -> None:
    order = _order(tournament)
    _tell(order, [_make_row(row, "4 5") for row in order.matches])
    # As of a player that took its matches in blocks: each took little of its time.
    recording.record_report(make.finished(order), now=make.NOW)
    tournament.refresh_from_db()
    assert tournament.state == Tournament.State.DONE
    assert _kept() == {}


@pytest.mark.parametrize("terms", [{"keeps_trajectories": True}, {"faults": {"error_rate": 0.1}}])
def test_nothing_is_kept_where_attempts_are_told_whole(
    tournament: Tournament, terms: dict[str, object]
) -> None:
    Tournament.objects.filter(pk=tournament.pk).update(**terms)
    tournament.refresh_from_db()
    order = _order(tournament)
    _tell(order, [_make_row(row, "4 5") for row in order.matches])
    assert _kept() == {}


def test_a_node_of_an_older_version_is_sent_no_actions(
    tournament: Tournament, broker: Redis
) -> None:
    order = _order(tournament)
    _tell(order, [_make_row(row, "4 5") for row in order.matches])
    _lose(order)
    Worker.objects.update(versions={"evalsite": "older"})
    assert [sent.actions for sent in make.sent(broker)] == [[]]


def test_an_order_carries_no_more_than_a_message_holds(
    tournament: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(begun_matches, "MAX_TEXT", 5)
    order = _order(tournament)
    _tell(order, [_make_row(order.matches[0], "4 5 6"), _make_row(order.matches[1], "4")])
    _lose(order)
    assert make.ordered(tournament).actions == ["", "4"]


def test_a_match_that_gets_on_survives_any_number_of_lost_nodes(tournament: Tournament) -> None:
    for n_lost in range(1, 2 * MAX_FAILURES):
        order = _order(tournament)
        row = order.matches[0]
        _tell(order, [_make_row(row, " ".join(["4"] * n_lost))])
        _lose(order)
    assert Match.objects.get(pk=row.match).state == Match.State.PENDING


def test_a_match_that_loses_its_nodes_at_one_move_is_void(tournament: Tournament) -> None:
    for _ in range(MAX_FAILURES + 1):
        order = _order(tournament)
        _tell(order, [_make_row(order.matches[0], "4 5")])
        _lose(order)
    # The first attempt moved; each of the others was lost where it began.
    order = _order(tournament)
    _tell(order, [_make_row(order.matches[0], "4 5")])
    _lose(order)
    assert Match.objects.get(pk=order.matches[0].match).state == Match.State.VOID


def test_reports_of_older_nodes_tell_nothing(tournament: Tournament) -> None:
    order = _order(tournament)
    wire = msgspec.to_builtins(make.finished(order))
    del wire["begun"]
    assert msgspec.convert(wire, type=Results, strict=True).begun == []
