"""Tournaments that are paused, resumed, started late and extended."""

import pytest
from django.db import IntegrityError
from redis import Redis

from arena.pairing import registry as pairings
from arena.pairing.base import Field
from matches.artifacts.agents import register_spelled_agent
from matches.errors import BadInputError, ConflictError
from matches.ledger import planning, recording, tournaments
from matches.ledger.tournaments import (
    cancel_tournament,
    check_agents,
    extend_tournament,
    open_leaderboard,
    pause_tournament,
    resume_tournament,
)
from matches.models import Agent, Match, Tournament
from matches.tests import factories as make

pytestmark = pytest.mark.django_db


def _state(tournament: Tournament) -> str:
    tournament.refresh_from_db()
    return tournament.state


def test_nothing_more_of_a_paused_tournament_is_sent(broker: Redis) -> None:
    tournament = make.planned()
    make.alive()
    pause_tournament(tournament)
    assert make.sent(broker) == []
    resume_tournament(tournament, now=make.NOW)
    assert _state(tournament) == "running"
    assert sum(len(order.matches) for order in make.sent(broker)) > 0


def test_what_was_sent_before_the_pause_is_recorded(broker: Redis) -> None:
    tournament = make.planned()
    order = make.ordered(tournament, 4)
    make.start(order)
    pause_tournament(tournament)
    recording.record_report(make.finished(order), now=make.NOW)
    assert _state(tournament) == "paused"
    assert tournament.n_done == 4


def test_a_paused_tournament_whose_last_match_ends_is_done(broker: Redis) -> None:
    tournament = make.planned()
    order = make.ordered(tournament)
    make.start(order)
    pause_tournament(tournament)
    recording.record_report(make.finished(order), now=make.NOW)
    assert _state(tournament) == "done"


def test_a_tournament_scheduled_as_paused_is_planned_once_it_is_started(broker: Redis) -> None:
    tournament = make.scheduled(is_paused=True)
    assert planning.plan_scheduled(now=make.NOW) == 0
    resume_tournament(tournament, now=make.NOW)
    assert planning.plan_scheduled(now=make.NOW) == 12
    assert _state(tournament) == "running"


def test_a_pause_stops_the_planning_between_two_slices(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = make.scheduled(12)
    monkeypatch.setattr(planning, "SLICE", 4)
    write = planning._write_slice

    def write_and_pause(*args: object, **options: object) -> int:
        n_written = write(*args, **options)  # type: ignore[arg-type]
        pause_tournament(tournament)
        return n_written

    with monkeypatch.context() as patched:
        patched.setattr(planning, "_write_slice", write_and_pause)
        assert planning.plan_scheduled(now=make.NOW) == 4
    resume_tournament(tournament, now=make.NOW)
    assert _state(tournament) == "planning"
    assert planning.plan_scheduled(now=make.NOW) == 8
    assert list(tournament.matches.order_by("sequence").values_list("sequence", flat=True)) == [
        *range(1, 13)
    ]


def test_pausing_and_resuming_again_changes_nothing(broker: Redis) -> None:
    tournament = make.planned()
    pause_tournament(tournament)
    pause_tournament(tournament)
    assert _state(tournament) == "paused"
    resume_tournament(tournament, now=make.NOW)
    resume_tournament(tournament, now=make.NOW)
    assert _state(tournament) == "running"


def test_a_tournament_that_is_over_is_neither_paused_nor_resumed(broker: Redis) -> None:
    tournament = make.planned()
    cancel_tournament(tournament, now=make.NOW)
    with pytest.raises(ConflictError, match="is cancelled"):
        pause_tournament(tournament)
    with pytest.raises(ConflictError, match="is cancelled"):
        resume_tournament(tournament, now=make.NOW)


def test_a_paused_tournament_is_cancelled(broker: Redis) -> None:
    tournament = make.planned()
    pause_tournament(tournament)
    assert cancel_tournament(tournament, now=make.NOW) == 12
    assert _state(tournament) == "cancelled"


@pytest.mark.parametrize("pairing", pairings.names())
def test_an_extended_tournament_goes_on_where_it_would_have(broker: Redis, pairing: str) -> None:
    longer = make.planned(40, board="longer", pairing=pairing)
    extended = make.planned(12, board="extended", pairing=pairing)
    extend_tournament(extended, 40)
    assert _state(extended) == "planning"
    assert planning.plan_scheduled(now=make.NOW) == 28
    assert _state(extended) == "running"
    columns = ("sequence", "block", "rotation", "game_seed", "lineup")
    both = [list(t.matches.order_by("sequence").values_list(*columns)) for t in (longer, extended)]
    assert both[0] == both[1]


@pytest.mark.parametrize("pairing", pairings.names())
@pytest.mark.parametrize("field", [Field(5, 2), Field(7, 3)])
def test_a_longer_plan_begins_with_the_shorter_one(pairing: str, field: Field) -> None:
    pair = pairings.get(pairing).pair
    assert list(pair(field, 60, seed=3))[:17] == list(pair(field, 17, seed=3))


def test_a_tournament_that_was_done_goes_on(broker: Redis) -> None:
    tournament = make.planned(4)
    make.play_all(broker)
    assert _state(tournament) == "done"
    extend_tournament(tournament, 6)
    planning.plan_scheduled(now=make.NOW)
    assert (_state(tournament), tournament.finished_at) == ("running", None)
    make.play_all(broker)
    assert (_state(tournament), tournament.n_done) == ("done", 6)


def test_as_many_matches_as_there_are_change_nothing(broker: Redis) -> None:
    tournament = make.planned(4)
    make.play_all(broker)
    extend_tournament(tournament, 4)
    assert _state(tournament) == "done"
    assert Match.objects.count() == 4


def test_a_paused_tournament_stays_so_when_it_is_extended(broker: Redis) -> None:
    tournament = make.planned()
    pause_tournament(tournament)
    extend_tournament(tournament, 20)
    assert _state(tournament) == "paused"
    assert planning.plan_scheduled(now=make.NOW) == 0
    resume_tournament(tournament, now=make.NOW)
    assert planning.plan_scheduled(now=make.NOW) == 8


def test_a_tournament_extended_while_it_is_planned_is_planned_to_its_end(broker: Redis) -> None:
    stale = make.scheduled(12)
    extend_tournament(Tournament.objects.get(pk=stale.pk), 20)
    planning.plan_tournament(stale, now=make.NOW)
    assert _state(stale) == "planning"
    assert planning.plan_scheduled(now=make.NOW) == 8
    assert _state(stale) == "running"


@pytest.mark.parametrize("n_matches", [11, 0, -5, 10**9])
def test_fewer_or_too_many_matches_are_refused(broker: Redis, n_matches: int) -> None:
    with pytest.raises(BadInputError, match="n_matches"):
        extend_tournament(make.planned(), n_matches)


def test_a_cancelled_tournament_is_not_extended(broker: Redis) -> None:
    tournament = make.planned()
    cancel_tournament(tournament, now=make.NOW)
    with pytest.raises(ConflictError, match="is cancelled"):
        extend_tournament(tournament, 20)


def test_an_agent_of_another_game_is_refused_as_such_though_the_names_are_equal() -> None:
    board = make.scheduled(agents=["random", "level:10"]).leaderboard
    own = Agent.objects.get(name="random", game="skill_game")
    other = register_spelled_agent("random", game="connect_four")
    with pytest.raises(BadInputError, match="'random' plays connect_four"):
        check_agents(board, [own, other])
    with pytest.raises(BadInputError, match="self-play is not rated: random entered twice"):
        check_agents(board, [own, own])


class _Name(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    n_compared = 0

    def __eq__(self, other: object) -> bool:
        _Name.n_compared += 1
        return str(self) == other

    __hash__ = str.__hash__


def test_another_rule_of_the_database_is_not_taken_for_the_name_of_a_leaderboard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tournaments, "_clean_row", lambda _: None)
    with pytest.raises(IntegrityError, match="opening_plies"):
        open_leaderboard("board", game="connect_four", opening_plies=-1)


def test_a_hundred_thousand_agents_are_not_compared_each_with_each(broker: Redis) -> None:
    board = open_leaderboard("many", game="skill_game")
    agents = [Agent(pk=n, name=_Name(f"a{n}"), game="skill_game") for n in range(1, 301)]
    check_agents(board, agents)
    assert _Name.n_compared < 10 * len(agents)
