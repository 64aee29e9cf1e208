"""Why is nothing happening? Every state says what it waits for, in few queries."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from arena.messages import Ending, Reason
from arena.needs import Needs
from matches.artifacts.agents import register_spelled_agent
from matches.ledger import order_states, planning, recording, tournaments
from matches.models import (
    Agent,
    Attempt,
    Checkpoint,
    Match,
    Order,
    RecorderMark,
    Tournament,
    Worker,
)
from matches.models.tournament import MAX_MATCHES
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


def _checked(state: str, **fields: Any) -> Checkpoint:
    return Checkpoint.objects.create(
        sha256="ab12" * 16,
        game="connect_four",
        architecture="mlp",
        run="run",
        step=100,
        source_name="a.safetensors",
        n_bytes=1,
        state=state,
        created_at=NOW,
        **fields,
    )


def _networked(checkpoint: Checkpoint) -> Agent:
    return Agent.objects.create(
        name="net", game="connect_four", policy="network", checkpoint=checkpoint
    )


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


def test_a_tournament_that_would_take_longer_than_dates_go_names_no_end() -> None:
    tournament = make.planned(8)
    order = make.ordered(tournament, 4)
    make.start(order)
    report = make.reported(order, [make.first_wins(order.matches[0])], False)
    recording.record_report(report, now=NOW)
    Tournament.objects.filter(pk=tournament.pk).update(n_matches=MAX_MATCHES)
    tournament.refresh_from_db()
    assert explain.of_tournament(tournament, now=later(3_600)).next_at is None


def test_a_tournament_says_how_far_it_is_when_it_ends_and_what_it_lacks() -> None:
    tournament = make.planned(8)
    order = make.ordered(tournament, 4)
    make.start(order)
    recording.record_report(
        make.reported(order, [make.first_wins(order.matches[0])], False), now=NOW
    )
    tournament.refresh_from_db()
    explanation = explain.of_tournament(tournament, now=later(2))
    assert explanation.summary == "running for 2 s: 1 of 8 matches has ended, 4 are with nodes"
    assert explanation.next_at == later(2 + 14)
    assert explanation.waits_for[0].startswith("a play node with cpu")
    tournaments.pause_tournament(tournament)
    tournament.refresh_from_db()
    explanation = explain.of_tournament(tournament, now=later(2))
    assert explanation.summary.startswith("paused: 1 of 8 matches has ended; 4 are with nodes")
    assert explanation.waits_for == ("somebody to resume it",)


@pytest.mark.parametrize(
    ("n", "notes"),
    [
        (1, ("1 match ended by forfeit", "1 attempt was tried again", "1 match is void")),
        (2, ("2 matches ended by forfeit", "2 attempts were tried again", "2 matches are void")),
    ],
)
def test_the_notes_of_a_tournament_count_one_as_one(n: int, notes: tuple[str, ...]) -> None:
    tournament = make.planned(8)
    tournament.n_forfeits = tournament.n_retried = tournament.n_void = n
    assert explain.of_tournament(tournament, now=later(2)).notes == notes


def test_a_report_that_counts_for_nothing_says_why() -> None:
    tournament = make.planned(8)
    tournament.n_refused = 2
    assert "late (as after a cancel)" in explain.of_tournament(tournament, now=later(2)).notes[0]


def test_a_tournament_that_is_over_waits_for_nothing() -> None:
    tournament = make.planned(2)
    order = make.ordered(tournament)
    make.start(order)
    recording.record_report(make.finished(order), now=NOW)
    tournament.refresh_from_db()
    explanation = explain.of_tournament(tournament, now=later(300))
    assert (explanation.summary, explanation.waits_for) == ("done 5 min ago: 2 of 2 matches", ())


def test_a_tournament_being_planned_says_how_many_are() -> None:
    tournament = make.planned(8)
    Tournament.objects.update(state=Tournament.State.PLANNING, n_matches=1_000)
    tournament.refresh_from_db()
    assert "8 of 1,000 matches are planned" in explain.of_tournament(tournament, now=NOW).summary


def test_a_scheduled_tournament_waits_for_the_checks_of_its_agents() -> None:
    agent = _networked(_checked("checking"))
    tournament = make.scheduled(
        4,
        agents=[agent, register_spelled_agent("random", game="connect_four")],
        game="connect_four",
    )
    reason = (
        "the check of checkpoint run@100 (ab12ab12ab12) for 7 s: "
        "a gpu worker: none is alive (start one: ./run stop, then ./run up --gpus 1)"
    )
    assert explain.of_tournament(tournament, now=later(7)).waits_for == (reason,)
    explanation = explain.of_agent(agent, now=later(7))
    assert (explanation.state, explanation.age_s, explanation.waits_for) == (
        "checking",
        7,
        (reason,),
    )
    make.alive(node="gpu-1", capabilities=["gpu"], now=later(7))
    Checkpoint.objects.update(n_asked=2)
    (reason,) = explain.of_tournament(tournament, now=later(7)).waits_for
    assert reason.endswith("for 7 s: ordered 2 times so far")


def test_an_agent_says_where_it_stands() -> None:
    tournament = make.scheduled(4)
    agent = Agent.objects.get(name="level:10")
    explanation = explain.of_agent(agent, now=NOW)
    assert (explanation.state, explanation.summary) == ("playing", "entered in test (scheduled)")
    planning.plan_tournament(tournament, now=NOW)
    assert explain.of_agent(agent, now=NOW).waits_for[0].startswith("a play node with cpu")
    tournaments.cancel_tournament(tournament, now=NOW)
    explanation = explain.of_agent(agent, now=NOW)
    assert (explanation.state, explanation.waits_for) == ("idle", ())
    assert explanation.notes == (
        "version 1 of level",
        "0 matches counted, 0 of them lost by forfeit",
    )
    agent.is_retired = True
    assert explain.of_agent(agent, now=NOW).state == "retired"


def test_an_agent_whose_checkpoint_was_refused_says_why() -> None:
    checkpoint = _checked("refused", reason="it answers NaN", checked_at=NOW)
    explanation = explain.of_agent(_networked(checkpoint), now=later(9))
    assert (explanation.state, explanation.age_s) == ("refused", 9)
    assert explanation.summary == "its checkpoint was refused: it answers NaN"
    ready = explain.of_agent(_networked_again(checkpoint), now=later(9))
    assert (ready.state, ready.since) == ("idle", None)


def _networked_again(checkpoint: Checkpoint) -> Agent:
    checkpoint.state = Checkpoint.State.READY.value
    checkpoint.save()
    agent: Agent = Agent.objects.select_related("checkpoint").get()
    return agent


def test_a_worker_with_nothing_to_do_says_why() -> None:
    make.alive()
    worker = Worker.objects.get()

    def read_reason() -> str:
        explanation = explain.of_worker(worker, now=NOW)
        assert explanation.state == "idle"
        (text,) = explanation.waits_for
        return text

    assert read_reason() == "matches: none is pending in a tournament that runs"
    make.planned(4)
    assert read_reason() == "the next order on play.node-1: at most 3 at a time"
    Match.objects.update(needs=Needs("cpu+gpu"))
    assert read_reason().startswith("a gpu worker: none is alive")
    Match.objects.update(needs=Needs("torch"))
    assert read_reason() == "matches that it can play: those pending need torch"


def test_a_worker_that_plays_names_its_orders_and_a_lost_one_what_becomes_of_them() -> None:
    order = make.ordered(make.planned(4))
    make.alive()
    make.start(order)
    worker = Worker.objects.get()
    number = Order.objects.get().pk
    explanation = explain.of_worker(worker, now=later(3))
    assert (explanation.state, explanation.age_s) == ("playing", 3)
    assert explanation.summary == f"plays order {number} of 4 matches, last seen 3 s ago"
    explanation = explain.of_worker(worker, now=later(90))
    assert (explanation.state, explanation.age_s) == ("lost", 90)
    assert explanation.next == "its orders are given up and sent again"
    assert explanation.next_at == Order.objects.get().deadline_at
    order_states.lose_order(Order.objects.get(), reason=Reason.NODE_LOST, now=later(90))
    assert explain.of_worker(worker, now=later(90)).next == ""


def test_a_gpu_worker_answers_and_plays_nothing() -> None:
    make.alive(node="gpu-1", capabilities=["gpu"])
    explanation = explain.of_worker(Worker.objects.get(), now=NOW)
    assert (explanation.state, explanation.waits_for) == ("serving", ())


def test_no_explanation_asks_more_when_more_was_played() -> None:
    def n_queries(tournament: Tournament) -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            match = Match.objects.filter(tournament=tournament).latest("sequence")
            explain.of_match(match, now=NOW)
            explain.of_tournament(tournament, now=NOW)
            explain.of_agent(Agent.objects.first() or Agent(), now=NOW)
        return len(queries)

    small, large = make.planned(4, board="small"), make.planned(400, board="large")
    tournaments.cancel_tournament(small, now=NOW)
    first = n_queries(large)
    Match.objects.filter(sequence__lt=300).update(state=Match.State.DONE)
    assert n_queries(large) <= first
