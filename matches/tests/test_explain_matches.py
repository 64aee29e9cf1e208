"""Why is a match not played? Every state says what it waits for."""

import pytest

from arena.messages import Ending, Reason
from arena.needs import Needs
from matches.ledger import recording, tournaments
from matches.models import (
    Attempt,
    Match,
    Order,
    RecorderMark,
    Tournament,
    Worker,
)
from matches.operations import explain
from matches.ratings import rater
from matches.store.clock import MAX_FAILURES, MAX_INTERRUPTIONS
from matches.tests import factories as make
from matches.tests.factories import NOW, later

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _control() -> None:
    """Let control have given a sign of life."""
    RecorderMark.objects.create(pk=1, marked_at=NOW)


def _first(tournament: Tournament) -> Match:
    return Match.objects.filter(tournament=tournament).order_by("sequence").first() or Match()


def test_a_pending_match_without_a_node_says_what_to_start() -> None:
    match = _first(make.planned(4))
    explanation = explain.of_match(match, now=later(5))
    assert (explanation.subject, explanation.id, explanation.state) == (
        "match",
        match.pk,
        "pending",
    )
    assert explanation.age_s == 5
    assert explanation.waits_for == (
        "a play node with cpu: none is alive (start one: ./run stop, then ./run up --nodes 1)",
    )
    assert explanation.next == "control sends it to a play node with cpu as soon as one has room"


def test_a_tournament_behind_a_slow_one_says_so() -> None:
    slow, other = make.planned(8, board="slow"), make.planned(8, board="other")
    for node in ("node-1", "node-2"):
        make.alive(node=node)
        make.start(make.ordered(slow, 2, node=node), node=node)
    waits_for = f"room on 2 nodes: busy with tournament {slow.pk} (test, matches of unknown length)"
    assert explain.of_tournament(other, now=NOW).waits_for == (waits_for,)
    assert explain.of_match(_first(other), now=NOW).waits_for == (waits_for,)
    assert explain.of_tournament(slow, now=NOW).waits_for == ()
    Tournament.objects.filter(pk=slow.pk).update(mean_match_s=90)
    assert "matches of about 90 s" in explain.of_tournament(other, now=NOW).waits_for[0]
    make.alive(node="node-3")
    assert explain.of_tournament(other, now=NOW).waits_for == ()


def test_a_pending_match_behind_others_says_how_many() -> None:
    tournament = make.planned(4)
    make.alive()
    last = Match.objects.filter(tournament=tournament).latest("sequence")
    (reason,) = explain.of_match(last, now=NOW).waits_for
    assert reason == "its turn: 3 matches of this tournament come before it"


def test_a_pending_match_that_needs_a_gpu_waits_for_one() -> None:
    match = _first(make.planned(4))
    match.needs = Needs("torch+gpu")
    make.alive()
    torch, gpu = explain.of_match(match, now=NOW).waits_for
    assert torch.startswith("a play node with torch: none is alive")
    assert gpu.startswith("a gpu worker: none is alive")


def test_a_match_whose_only_node_was_lost_names_it_and_says_since_when() -> None:
    match = _first(make.planned(4))
    match.needs = Needs("torch")
    make.alive(capabilities=["cpu", "torch"])
    make.alive(node="plain", capabilities=["cpu"])
    (reason,) = explain.of_match(match, now=later(240)).waits_for[-1:]
    assert reason == (
        "a play node with torch: none is alive, node-1 was lost 4 min ago "
        "(start one where torch is installed: ./run stop, then ./run up --nodes 1)"
    )


def test_a_match_of_a_paused_tournament_waits_for_somebody() -> None:
    tournament = make.planned(4)
    make.alive()
    tournaments.pause_tournament(tournament)
    (reason,) = explain.of_match(_first(tournament), now=NOW).waits_for
    assert reason == f"tournament {tournament.pk} to be resumed: it is paused"


def test_while_control_is_silent_that_is_what_everything_waits_for() -> None:
    tournament = make.planned(4)
    now = later(60)
    make.alive(now=now)
    for explanation in (
        explain.of_match(_first(tournament), now=now),
        explain.of_tournament(Tournament.objects.get(), now=now),
        explain.of_worker(Worker.objects.get(), now=now),
    ):
        assert "control and recorder: the last sign of life was 60 s ago" in explanation.waits_for
    RecorderMark.objects.all().delete()
    explanation = explain.of_match(_first(tournament), now=now)
    assert "control and recorder: neither has given a sign of life" in explanation.waits_for


def test_a_queued_match_names_its_order_and_who_could_take_it() -> None:
    tournament = make.planned(8)
    make.ordered(tournament, 2)
    make.ordered(tournament, 2)
    second = Order.objects.latest("pk")
    match = Match.objects.filter(order=second).first() or Match()
    explanation = explain.of_match(match, now=later(4))
    assert explanation.summary == f"queued in order {second.pk} on play.node-1 for 4 s"
    assert explanation.waits_for[0].startswith("a play node with cpu: none is alive")
    assert explanation.next_at == second.deadline_at
    make.alive()
    explanation = explain.of_match(match, now=later(4))
    assert explanation.waits_for == ("node-1 to have room: 1 order before it on play.node-1",)
    make.alive(node="node-2", now=later(40))
    RecorderMark.objects.update(marked_at=later(40))
    explanation = explain.of_match(match, now=later(40))
    assert explanation.waits_for == ("node-1, which reports no more",)


def test_a_running_match_names_its_node_and_whether_that_still_lives() -> None:
    order = make.ordered(make.planned(4))
    make.alive()
    make.start(order)
    match = Match.objects.get(pk=order.matches[0].match)
    explanation = explain.of_match(match, now=later(3))
    assert (explanation.state, explanation.waits_for) == ("running", ())
    assert "on node-1" in explanation.summary
    assert "its turn in the order" in explanation.summary
    Order.objects.update(executing=[match.pk])
    match.refresh_from_db()
    assert "being played" in explain.of_match(match, now=later(3)).summary
    RecorderMark.objects.update(marked_at=later(60))
    explanation = explain.of_match(match, now=later(60))
    assert explanation.waits_for == ("node-1, which reports no more",)
    match.needs = Needs("cpu+gpu")
    assert explain.of_match(match, now=later(60)).waits_for[1].startswith("a gpu worker")


def test_a_match_that_moves_while_it_is_read_is_read_again() -> None:
    match = _first(make.planned(4))
    for state in (Match.State.QUEUED, Match.State.RUNNING):
        match.state = state.value
        assert explain.of_match(match, now=NOW).next.startswith("read it again")


def test_tries_are_told_against_their_limits_as_they_are_counted() -> None:
    tournament = make.planned(1)
    for number in range(1, MAX_FAILURES + 1):
        make.alive()
        order = make.ordered(tournament)
        make.start(order)
        failed = make.result(order.matches[0], ending=Ending.FAILED, reason=Reason.ERROR)
        recording.record_report(make.reported(order, [failed]), now=later(number))
        (note,) = explain.of_match(Match.objects.get(), now=later(number)).notes
        assert note == f"failed {number} of {MAX_FAILURES} times, last: error on node-1"
    explanation = explain.of_match(Match.objects.get(), now=later(10))
    assert (explanation.state, explanation.age_s) == ("void", 5)
    assert "void 5 s ago: error" in explanation.summary


def test_losses_are_told_apart_from_failures() -> None:
    match = _first(make.planned(1))

    def lost(number: int, reason: Reason, node: str = "node-1") -> None:
        Attempt.objects.create(
            match=match,
            number=number,
            ending=Attempt.Ending.INTERRUPTED.value,
            reason=reason.value,
            node=node,
            ended_at=NOW,
        )

    lost(1, Reason.GPU_LOST)
    lost(2, Reason.NODE_LOST)
    lost(3, Reason.NODE_LOST)
    lost(4, Reason.EXPIRED, node="")
    assert explain.of_match(match, now=NOW).notes == (
        f"failed 1 of {MAX_FAILURES} times, last: node_lost on node-1",
        f"interrupted 3 of {MAX_INTERRUPTIONS} times, last: node_lost on node-1",
        "sent 1 time without a node that took it",
    )


def test_a_match_that_is_done_says_whether_it_counts_already() -> None:
    tournament = make.planned(2)
    order = make.ordered(tournament)
    make.start(order)
    forfeit = make.result(
        order.matches[0], ending=Ending.FORFEIT, ranks=[0, 1], reason=Reason.CRASH, seat=1
    )
    recording.record_report(
        make.reported(order, [forfeit, make.first_wins(order.matches[1])]), now=NOW
    )
    match = _first(tournament)
    explanation = explain.of_match(match, now=later(3))
    assert explanation.summary == "done 3 s ago: seat 1 forfeited (crash); not counted yet"
    assert explanation.waits_for == ("the rater",)
    rater.rate(tournament.leaderboard_id, now=later(1))
    explanation = explain.of_match(match, now=later(3))
    assert (explanation.waits_for, explanation.next) == ((), "")


def test_a_cancelled_tournament_takes_its_matches_with_it() -> None:
    tournament = make.planned(2)
    tournaments.cancel_tournament(tournament, now=NOW)
    Tournament.objects.update(problem="too many")
    tournament.refresh_from_db()
    assert explain.of_match(_first(tournament), now=later(1)).summary.startswith("cancelled")
    assert explain.of_tournament(tournament, now=later(1)).summary == "cancelled 1 s ago: too many"
