"""Agents and nodes that operators take out of play."""

from datetime import datetime

import pytest
from redis import Redis

from matches.errors import BadInputError, ConflictError
from matches.ledger import quarantine, recording
from matches.ledger.relay import send_pending_matches
from matches.ledger.tournaments import schedule_tournament
from matches.models import (
    Agent,
    Attempt,
    AuditRow,
    Campaign,
    Match,
    Order,
    Outcome,
    Tournament,
    Worker,
)
from matches.operations import explain
from matches.plans import TournamentPlan
from matches.store.auditing import Actor
from matches.tests import factories as make

pytestmark = pytest.mark.django_db
ANNA, WHY = Actor("anna"), "it stalls"


def _hold(row: Agent | Worker, reason: str = WHY) -> bool:
    act = quarantine.quarantine_agent if isinstance(row, Agent) else quarantine.quarantine_worker
    return act(row, actor=ANNA, reason=reason, now=make.NOW)  # type: ignore[arg-type]


def _free(row: Agent | Worker) -> bool:
    act = quarantine.release_agent if isinstance(row, Agent) else quarantine.release_worker
    return act(row, actor=ANNA, reason="", now=make.NOW)  # type: ignore[arg-type]


def _first() -> Agent:
    return Agent.objects.get(name="level:10")


def _states(tournament: Tournament, agent: Agent) -> set[str]:
    of_agent = Match.objects.filter(tournament=tournament, seat_rows__agent=agent)
    return set(of_agent.values_list("state", flat=True))


def test_the_pending_matches_of_an_agent_in_quarantine_wait(broker: Redis) -> None:
    tournament = make.planned()
    _hold(_first())
    make.play_all(broker)
    tournament.refresh_from_db()
    assert (tournament.n_done, tournament.state) == (4, "running")
    assert _states(tournament, _first()) == {"pending"}


def test_once_released_they_are_played(broker: Redis) -> None:
    tournament = make.planned()
    _hold(_first())
    make.play_all(broker)
    assert _free(_first())
    make.play_all(broker)
    tournament.refresh_from_db()
    assert (tournament.n_done, tournament.state) == (12, "done")


def test_what_is_with_a_node_is_played_to_its_end_and_counts(broker: Redis) -> None:
    tournament = make.planned()
    order = make.ordered(tournament)
    _hold(_first())
    make.start(order)
    assert recording.record_report(make.finished(order), now=make.NOW).n_closed == 12


def test_a_tournament_with_nothing_else_to_send_lets_the_others_go_on(broker: Redis) -> None:
    held = make.planned(agents=("level:10", "level:50"))
    other = make.planned(agents=("level:30", "level:70"), board="other")
    _hold(_first())
    make.play_all(broker)
    for tournament in (held, other):
        tournament.refresh_from_db()
    assert (held.n_done, other.n_done) == (0, 12)


def test_an_agent_in_quarantine_enters_no_tournament(broker: Redis) -> None:
    board = make.planned().leaderboard
    _hold(_first())
    agents = list(Agent.objects.order_by("pk"))
    with pytest.raises(BadInputError, match=r"'level:10' is in quarantine: release it first"):
        schedule_tournament(
            TournamentPlan(name="next", n_matches=6), leaderboard=board, agents=agents
        )


def test_every_change_is_made_and_audited_once(broker: Redis) -> None:
    make.planned()
    make.alive()
    for row, kind in ((_first(), "agent"), (Worker.objects.get(), "worker")):
        assert [_hold(row), _hold(row, "again"), _free(row), _free(row)] == [1, 0, 1, 0]
        audited = AuditRow.objects.filter(target_kind=kind, target_id=row.pk).order_by("pk")
        assert [(a.action, a.reason) for a in audited] == [
            (f"{kind}.quarantine", WHY),
            (f"{kind}.release", ""),
        ]


def test_a_reason_is_wanted(broker: Redis) -> None:
    make.planned()
    with pytest.raises(BadInputError, match="say why"):
        _hold(_first(), " ")
    assert Agent.objects.filter(quarantined_at=None).count() == 3


def test_the_orders_of_a_node_in_quarantine_are_taken_back(broker: Redis) -> None:
    tournament = make.planned()
    make.alive()
    order = make.ordered(tournament)
    make.start(order)
    _hold(Worker.objects.get())
    assert set(tournament.matches.values_list("state", flat=True)) == {"pending"}
    assert Order.objects.get().state == "lost"
    recorded = recording.record_report(make.finished(order), now=make.NOW)
    assert (recorded.n_closed, recorded.n_refused) == (0, 12)
    assert not Outcome.objects.exists()
    tournament.refresh_from_db()
    assert tournament.n_refused == 12


def test_a_node_in_quarantine_gets_no_order_of_its_own(broker: Redis) -> None:
    make.planned()
    make.alive()
    _hold(Worker.objects.get())
    assert send_pending_matches(now=make.NOW) == 0
    make.alive(node="node-2")
    assert send_pending_matches(now=make.NOW) > 0


def test_what_it_takes_off_the_queue_nevertheless_is_sent_again_at_once(broker: Redis) -> None:
    tournament = make.planned()
    make.alive()
    _hold(Worker.objects.get())
    order = make.ordered(tournament)
    make.start(order)
    assert set(tournament.matches.values_list("state", flat=True)) == {"pending"}
    # However often: none of these tries is held against the match.
    for _ in range(25):
        make.start(make.ordered(tournament))
    assert set(tournament.matches.values_list("state", flat=True)) == {"pending"}
    assert set(Attempt.objects.values_list("ending", "node")) == {("interrupted", "")}


def test_results_without_a_start_give_the_order_back_too(broker: Redis) -> None:
    tournament = make.planned()
    make.alive()
    _hold(Worker.objects.get())
    order = make.ordered(tournament)
    assert recording.record_report(make.finished(order), now=make.NOW).n_refused == 12
    assert set(tournament.matches.values_list("state", flat=True)) == {"pending"}


def test_it_cannot_take_an_order_back_that_another_node_plays(broker: Redis) -> None:
    tournament = make.planned()
    make.alive()
    make.alive(node="node-2")
    _hold(Worker.objects.get(node=make.NODE))
    order = make.ordered(tournament)
    make.start(order, node="node-2")
    make.start(order)
    recording.record_report(make.finished(order), now=make.NOW)
    assert set(tournament.matches.values_list("state", flat=True)) == {"running"}


def test_a_node_that_starts_anew_stays_in_quarantine(broker: Redis) -> None:
    make.planned()
    make.alive()
    _hold(Worker.objects.get())
    make.alive(incarnation="second-life")
    assert Worker.objects.get().quarantined_at == make.NOW
    assert send_pending_matches(now=make.NOW) == 0


def test_a_node_that_plays_nothing_cannot_be_in_quarantine(broker: Redis) -> None:
    make.alive(node="gpu-1", capabilities=("gpu",))
    with pytest.raises(ConflictError, match="gpu-1 plays nothing"):
        _hold(Worker.objects.get())


def test_everybody_is_told_why_nothing_happens(broker: Redis) -> None:
    tournament = make.planned(agents=("level:10", "level:50"))
    make.alive()
    _hold(_first())
    waits = "agent level:10 to be released: in quarantine, it stalls"
    match = tournament.matches.select_related("leaderboard", "tournament", "order").earliest("pk")
    assert waits in explain.of_match(match, now=make.NOW).waits_for
    assert waits in explain.of_tournament(tournament, now=make.NOW).waits_for
    agent = explain.of_agent(_first(), now=make.NOW)
    assert (agent.state, agent.since) == ("quarantined", make.NOW)
    assert WHY in agent.summary
    assert agent.waits_for == ("somebody to release it",)


def test_nobody_foresees_the_end_of_what_waits_for_a_release_or_a_node(broker: Redis) -> None:
    tournament = make.planned()
    Tournament.objects.update(n_done=2, started_at=make.later(-60))
    tournament.refresh_from_db()
    forecast = {"matches": 400, "low": 1, "high": 900, "decided": 1, "cost": {"wall_s": 60}}

    def foresee(*, has_node: bool = True) -> datetime | None:
        if has_node:
            make.alive()
        alone = explain.of_tournament(tournament, now=make.NOW).next_at
        asked = Campaign(tournament=tournament, question="best", max_matches=400)
        asked.forecast, asked.forecast_at = forecast, make.NOW
        asked.save()
        assert (explain.of_campaign(asked, now=make.NOW).next_at is None) == (alone is None)
        asked.delete()
        return alone

    assert foresee(has_node=False) is None
    assert foresee() is not None
    _hold(_first())
    assert foresee() is None


def test_a_node_in_quarantine_says_so(broker: Redis) -> None:
    tournament = make.planned()
    make.alive()
    _hold(Worker.objects.get())
    worker = explain.of_worker(Worker.objects.get(), now=make.NOW)
    assert (worker.state, worker.since) == ("quarantined", make.NOW)
    assert WHY in worker.summary
    waits = explain.of_tournament(tournament, now=make.NOW).waits_for
    assert any("none is alive but node-1, in quarantine" in text for text in waits)
