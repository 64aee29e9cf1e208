"""Matches that people declare void, and those that are played instead."""

from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection
from redis import Redis

from arena.messages import Ending, MatchOrderRow, Reason, ResultRow
from matches.errors import BadInputError, ConflictError
from matches.ledger import planning, recording, voiding
from matches.ledger.tournaments import cancel_tournament, extend_tournament
from matches.models import (
    AuditRow,
    Leaderboard,
    Match,
    Outcome,
    Replacement,
    Tournament,
    Uncounted,
    Voiding,
)
from matches.operations import explain
from matches.ratings import rater, rerating
from matches.store.auditing import Actor
from matches.store.failures import retry_while_database_is_away
from matches.tests import factories as make

pytestmark = pytest.mark.django_db
ANNA, WHY = Actor("anna"), "a stuck clock"


def _void(*matches: Match, **options: Any) -> voiding.VoidResult:
    ids = [match.pk for match in matches]
    return voiding.void_matches(ids, **{"actor": ANNA, "reason": WHY, "now": make.NOW, **options})


def _requeue(*matches: Match) -> voiding.RequeueResult:
    ids = [match.pk for match in matches]
    return voiding.requeue_matches(ids, actor=ANNA, reason="once more", now=make.NOW)


def _played(broker: Redis, n_matches: int = 12, **options: Any) -> Tournament:
    """Return a tournament that is done and rated."""
    tournament = make.planned(n_matches, **options)
    make.play_all(broker)
    rater.rate(tournament.leaderboard_id, now=make.NOW)
    tournament.refresh_from_db()
    assert tournament.state == Tournament.State.DONE
    return tournament


def _counts(tournament: Tournament) -> tuple[str, int, int, int, int]:
    tournament.refresh_from_db()
    t = tournament
    return (t.state, t.n_done, t.n_void, t.n_replaced, t.n_forfeits)


def _of(tournament: Tournament, n: int = 0) -> Match:
    return Match.objects.filter(tournament=tournament).order_by("sequence")[n]


def test_a_pending_match_that_is_void_is_not_sent(broker: Redis) -> None:
    tournament = make.planned()
    voided = _void(_of(tournament))
    assert (voided.n_open, voided.n_struck, voided.leaderboards) == (1, 0, ())
    make.play_all(broker)
    assert _counts(tournament) == ("done", 11, 1, 0, 0)
    match = _of(tournament)
    assert (match.state, match.void_reason, match.voiding.reason) == ("void", "operator", WHY)


def test_the_report_of_a_match_that_became_void_is_refused(broker: Redis) -> None:
    tournament = make.planned()
    order = make.ordered(tournament)
    make.start(order)
    match = Match.objects.get(pk=order.matches[0].match)
    _void(match)
    recorded = recording.record_report(make.finished(order), now=make.NOW)
    assert (recorded.n_closed, recorded.n_refused) == (11, 1)
    assert _counts(tournament) == ("done", 11, 1, 0, 0)
    assert not Outcome.objects.filter(match=match).exists()


def test_a_match_that_is_struck_keeps_its_outcome_and_counts_no_more(broker: Redis) -> None:
    def play(row: MatchOrderRow) -> ResultRow:
        guilty = row.match == first.pk
        if guilty:
            return make.result(row, ending=Ending.FORFEIT, reason=Reason.CRASH, seat=0)
        return make.first_wins(row)

    tournament = make.planned()
    first = _of(tournament)
    make.play_all(broker, play)
    rater.rate(tournament.leaderboard_id, now=make.NOW)
    assert _counts(tournament) == ("done", 12, 0, 0, 1)
    before = Outcome.objects.values().get(match=first)
    voided = _void(first)
    assert (voided.n_struck, voided.leaderboards) == (1, ("board",))
    assert _counts(tournament) == ("done", 11, 1, 0, 0)
    assert Outcome.objects.values().get(match=first) == before
    assert Leaderboard.objects.get().is_rerating
    assert rerating.rerate_due(now=make.NOW) == [tournament.leaderboard_id]
    board = Leaderboard.objects.get()
    assert (board.n_counted, board.n_settled, board.is_rerating) == (11, 11, False)


def test_a_match_that_was_not_counted_yet_is_struck_without_rating_again(broker: Redis) -> None:
    tournament = make.planned()
    make.play_all(broker)
    assert _void(_of(tournament)).leaderboards == ()
    assert Uncounted.objects.count() == 11
    rater.rate(tournament.leaderboard_id, now=make.NOW)
    assert Leaderboard.objects.get().n_counted == 11
    assert not rerating.is_due()


def test_unrated_matches_are_struck_without_rating_again(broker: Redis) -> None:
    tournament = make.planned(is_rated=False)
    make.play_all(broker)
    assert _void(_of(tournament)).n_struck == 1
    assert not rerating.is_due()


def test_doing_it_again_changes_nothing(broker: Redis) -> None:
    match = _of(_played(broker))
    _void(match)
    assert _void(match, reason="another") == voiding.VoidResult(0, 0, 1, ())
    assert Voiding.objects.get().reason == WHY
    assert AuditRow.objects.get(action="match.void").touched == {"was": "done"}


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501])
def test_a_reason_is_wanted(broker: Redis, reason: str) -> None:
    with pytest.raises(BadInputError, match=r"^reason: "):
        _void(_of(make.planned()), reason=reason)


def test_a_match_that_is_not_there_is_named(db: None) -> None:
    for work in (voiding.void_matches, voiding.requeue_matches):
        with pytest.raises(BadInputError, match="there is no match 77"):
            work([77], actor=ANNA, reason=WHY, now=make.NOW)
        with pytest.raises(BadInputError, match="1 to 10000"):
            work([], actor=ANNA, reason=WHY, now=make.NOW)


def test_a_replacement_is_the_same_match_under_a_new_number(broker: Redis) -> None:
    tournament = _played(broker)
    old = _of(tournament, 3)
    _void(old)
    new = Match.objects.get(pk=_requeue(old).replacements[old.pk])
    same = ("lineup", "block", "rotation", "game_seed", "needs", "tournament_id")
    assert [getattr(new, name) for name in same] == [getattr(old, name) for name in same]
    assert (new.sequence, new.state) == (13, "pending")
    seats = [list(m.seat_rows.order_by("seat").values_list("agent")) for m in (old, new)]
    assert seats[0] == seats[1]
    assert _counts(tournament) == ("running", 11, 0, 1, 0)
    assert tournament.finished_at is None


def test_the_tournament_ends_again_with_the_replacement(broker: Redis) -> None:
    tournament = _played(broker)
    _void(_of(tournament, 3))
    _requeue(_of(tournament, 3))
    make.play_all(broker)
    rater.rate(tournament.leaderboard_id, now=make.later(9))
    rerating.rerate_due(now=make.later(10))
    assert _counts(tournament) == ("done", 12, 0, 1, 0)
    assert Leaderboard.objects.get().n_counted == 12


def test_a_replacement_does_not_shift_the_plan(broker: Redis) -> None:
    apart = make.planned(24, board="apart")
    expected = list(apart.matches.order_by("sequence").values_list("lineup", "game_seed"))
    tournament = _played(broker, 12, board="together")
    _void(_of(tournament), _of(tournament, 5))
    _requeue(_of(tournament), _of(tournament, 5))
    extend_tournament(tournament, 24)
    planning.plan_scheduled(now=make.NOW)
    planned = tournament.matches.filter(replaces=None).order_by("sequence")
    assert list(planned.values_list("lineup", "game_seed")) == expected
    make.play_all(broker)
    assert _counts(tournament) == ("done", 24, 0, 2, 0)


def test_a_match_that_failed_for_good_is_played_again(broker: Redis) -> None:
    tournament = make.planned()
    first = _of(tournament)

    def play(row: MatchOrderRow) -> ResultRow:
        if row.match == first.pk:
            return make.result(row, ending=Ending.FAILED, reason=Reason.ERROR)
        return make.first_wins(row)

    make.play_all(broker, play)
    assert _counts(tournament) == ("done", 11, 1, 0, 0)
    _requeue(first)
    make.play_all(broker)
    assert _counts(tournament) == ("done", 12, 0, 1, 0)


def test_a_match_is_replaced_once(broker: Redis) -> None:
    match = _of(_played(broker))
    _void(match)
    first = _requeue(match)
    again = _requeue(match)
    assert (first.n_new, again.n_new) == (1, 0)
    assert again.replacements == first.replacements
    assert Match.objects.count() == 13


def test_a_replacement_may_be_void_and_replaced_itself(broker: Redis) -> None:
    tournament = _played(broker)
    match = _of(tournament)
    for _ in range(2):
        _void(match)
        match = Match.objects.get(pk=_requeue(match).replacements[match.pk])
    make.play_all(broker)
    assert _counts(tournament) == ("done", 12, 0, 2, 0)


def test_only_void_matches_are_played_again(broker: Redis) -> None:
    tournament = make.planned()
    with pytest.raises(ConflictError, match="is pending: declare it void first"):
        _requeue(_of(tournament))
    _void(_of(tournament))
    cancel_tournament(tournament, now=make.NOW)
    with pytest.raises(ConflictError, match="is cancelled: schedule a new one"):
        _requeue(_of(tournament))
    assert _void(_of(tournament, 1)).n_unchanged == 1


def test_every_match_leaves_a_row_of_audit(broker: Redis) -> None:
    tournament = _played(broker)
    matches = [_of(tournament, n) for n in range(3)]
    _void(*matches)
    _requeue(*matches)
    rows = AuditRow.objects.filter(target_kind="match").order_by("pk")
    assert [row.action for row in rows] == ["match.void"] * 3 + ["match.requeue"] * 3
    assert {row.target_id for row in rows} == {match.pk for match in matches}
    assert {(row.actor, row.reason) for row in rows[:3]} == {("anna", WHY)}
    assert rows[3].touched == {"replacement": Replacement.objects.get(pk=matches[0].pk).match_id}


def _at_once(*works: Callable[[], object]) -> None:
    """Do all of it at the same time, each in a thread with a connection of its own."""
    barrier = Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        try:
            barrier.wait()
            retry_while_database_is_away(work)
        finally:
            connection.close()

    threads = [Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.django_db(transaction=True)
def test_of_two_operators_one_voids_and_one_replaces(broker: Redis) -> None:
    tournament = _played(broker)
    matches = [_of(tournament, n) for n in range(5)]
    voided, requeued = list[voiding.VoidResult](), list[voiding.RequeueResult]()
    _at_once(*[lambda: voided.append(_void(*matches))] * 2)
    _at_once(*[lambda: requeued.append(_requeue(*matches[::-1]))] * 2)
    assert sorted(act.n_struck for act in voided) == [0, 5]
    assert sorted(act.n_new for act in requeued) == [0, 5]
    assert _counts(tournament) == ("running", 7, 0, 5, 0)
    assert (Match.objects.count(), Leaderboard.objects.get().n_rerates_asked) == (17, 1)


def _explained(match: Match) -> explain.Explanation:
    whole = Match.objects.select_related("leaderboard", "tournament", "order")
    return explain.of_match(whole.get(pk=match.pk), now=make.later(60))


def test_a_struck_match_and_its_replacement_say_what_became_of_them(broker: Redis) -> None:
    match = _of(_played(broker))
    _void(match)
    struck = _explained(match)
    assert (struck.state, struck.since) == ("void", make.NOW)
    summary = f"struck by anna 60 s ago: {WHY}; its outcome is kept and counts for no rating"
    assert struck.summary == summary
    assert struck.waits_for == ("board to be rated again",)
    assert struck.next == "nothing by itself; an operator may have it played again"
    new = Match.objects.get(pk=_requeue(match).replacements[match.pk])
    rerating.rerate_due(now=make.NOW)
    assert _explained(match).next == f"match {new.pk} is played in its place"
    assert _explained(match).waits_for == ()
    assert f"played in the place of match {match.pk}" in _explained(new).notes


def test_an_open_match_that_was_declared_void_says_so(broker: Redis) -> None:
    match = _of(make.planned())
    _void(match)
    assert _explained(match).summary == f"declared void by anna 60 s ago: {WHY}"


@pytest.mark.django_db(transaction=True)
def test_a_report_and_an_operator_at_once_leave_one_truth(broker: Redis) -> None:
    tournament = make.planned(40)
    order = make.ordered(tournament)
    make.start(order)
    matches = list(tournament.matches.order_by("-pk"))
    _at_once(
        lambda: recording.record_report(make.finished(order), now=make.NOW),
        lambda: _void(*matches),
        lambda: rater.rate(tournament.leaderboard_id, now=make.NOW),
    )
    assert _counts(tournament) == ("done", 0, 40, 0, 0)
    assert set(tournament.matches.values_list("state", flat=True)) == {"void"}
    rater.rate(tournament.leaderboard_id, now=make.later(9))
    rerating.rerate_due(now=make.later(10))
    board = Leaderboard.objects.get()
    assert (board.n_counted, Uncounted.objects.count(), board.is_rerating) == (0, 0, False)
