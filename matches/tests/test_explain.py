"""Why is nothing happening? Tournaments, agents and workers say what they wait for."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from arena.messages import Reason
from arena.needs import Needs
from matches.artifacts.agents import register_spelled_agent
from matches.ledger import order_states, planning, recording, tournaments
from matches.models import (
    Agent,
    Checkpoint,
    Match,
    Order,
    RecorderMark,
    Tournament,
    Worker,
)
from matches.models.tournament import MAX_MATCHES
from matches.operations import explain
from matches.tests import factories as make
from matches.tests.factories import NOW, later

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _control() -> None:
    """Let control have given a sign of life."""
    RecorderMark.objects.create(pk=1, marked_at=NOW)


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
