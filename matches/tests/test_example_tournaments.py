"""The example of a first start: scheduled once, without torch, from the shipped checkpoints."""

import sys
from collections import Counter
from collections.abc import Callable

import pytest

from matches.ledger import example_tournaments, planning
from matches.models import Agent, AuditRow, Checkpoint, Entrant, Leaderboard, Match, Tournament
from matches.tests.factories import NOW

pytestmark = pytest.mark.django_db


def test_the_search_agents_start_at_once_and_all_follow_when_the_checkpoints_are_checked() -> None:
    search, whole = example_tournaments.schedule_examples()
    assert search.leaderboard == whole.leaderboard
    assert search.agents.count() == len(example_tournaments.SEARCHERS)
    assert whole.agents.count() == len(example_tournaments.SEARCHERS) + Checkpoint.objects.count()
    planning.plan_scheduled(now=NOW)
    assert _states() == [Tournament.State.RUNNING, Tournament.State.SCHEDULED]
    Checkpoint.objects.update(state=Checkpoint.State.READY, measured_placement="local")
    planning.plan_scheduled(now=NOW)
    assert _states() == [Tournament.State.RUNNING] * 2
    assert Match.objects.count() == search.n_matches + whole.n_matches


def test_every_two_agents_meet_equally_often_in_both_seats() -> None:
    search, _ = example_tournaments.schedule_examples()
    planning.plan_tournament(search, now=NOW)
    met = Counter(Match.objects.values_list("lineup", flat=True))
    n = len(example_tournaments.SEARCHERS)
    assert len(met) == n * (n - 1)
    assert set(met.values()) == {example_tournaments.SEARCH_ROUNDS}


def test_at_least_eight_checkpoints_are_each_the_child_of_the_one_before(
    stored: Callable[[], list[str]],
) -> None:
    example_tournaments.schedule_examples()
    checkpoints = list(Checkpoint.objects.order_by("step"))
    assert len(checkpoints) >= 8
    assert [one.parent_id for one in checkpoints] == [
        None,
        *(one.sha256 for one in checkpoints[:-1]),
    ]
    assert stored() == sorted(one.sha256 for one in checkpoints)
    assert {(one.game, one.run, one.architecture) for one in checkpoints} == {
        (example_tournaments.GAME, example_tournaments.RUN, "rescnn")
    }
    names = Agent.objects.filter(checkpoint__isnull=False).values_list("name", flat=True)
    assert set(names) == {f"{example_tournaments.RUN}@{one.step}" for one in checkpoints}


def test_the_audit_has_what_an_example_adds() -> None:
    example_tournaments.schedule_examples()
    rows = AuditRow.objects.filter(actor="command line")
    assert Counter(rows.values_list("action", flat=True)) == {
        "agent.add": Agent.objects.count(),
        "checkpoint.add": Checkpoint.objects.count(),
        "leaderboard.add": 1,
        "tournament.add": 2,
    }


def test_a_second_seed_changes_nothing() -> None:
    example_tournaments.schedule_examples()
    before = _counts()
    assert example_tournaments.schedule_examples() == []
    assert _counts() == before


def test_it_needs_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert example_tournaments.schedule_examples()


def _states() -> list[str]:
    return list(Tournament.objects.order_by("pk").values_list("state", flat=True))


def _counts() -> list[int]:
    return [m.objects.count() for m in (Agent, Checkpoint, Leaderboard, Tournament, Entrant)]
