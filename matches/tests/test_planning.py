"""Planning: the same tournament plans the same matches, and a crash plans none twice."""

import itertools

import pytest
from redis import Redis

from arena.pairing import registry as pairings
from matches.artifacts.agents import register_agent, register_spelled_agent
from matches.errors import BadInputError
from matches.ledger import planning
from matches.ledger.tournaments import (
    cancel_tournament,
    extend_tournament,
    open_leaderboard,
    schedule_tournament,
)
from matches.models import Match, Seat, Tournament
from matches.plans import TournamentPlan
from matches.store.bulk import split_batches
from matches.tests import factories as make

pytestmark = pytest.mark.django_db
COLUMNS = ("sequence", "block", "rotation", "game_seed", "lineup")


def _matches(tournament: Tournament) -> list[tuple[object, ...]]:
    return list(Match.objects.filter(tournament=tournament).order_by("pk").values_list(*COLUMNS))


@pytest.mark.parametrize("pairing", ["random", "double_round_robin"])
@pytest.mark.parametrize("n_matches", [1, 7, 12])
def test_it_plans_exactly_the_matches_asked_for(
    broker: Redis, pairing: str, n_matches: int
) -> None:
    tournament = make.planned(n_matches, pairing=pairing)
    assert [row[0] for row in _matches(tournament)] == list(range(1, n_matches + 1))
    assert tournament.state == Tournament.State.RUNNING
    assert Seat.objects.count() == 2 * n_matches


def test_the_same_tournament_plans_the_same_matches(broker: Redis) -> None:
    first, second = (_matches(make.planned(40, board=name, seed=5)) for name in ("a", "b"))
    other_seed = _matches(make.planned(40, board="c", seed=6))
    assert first == second
    assert first != other_seed


def test_both_rotations_of_a_block_share_the_seed_and_swap_the_seats(broker: Redis) -> None:
    rows = _matches(make.planned(40))
    for one, other in zip(rows[::2], rows[1::2], strict=True):
        assert one[3] == other[3]
        assert str(one[4]).split(",") == str(other[4]).split(",")[::-1]


def test_two_agents_that_meet_again_play_on_a_new_seed(broker: Redis) -> None:
    rows = _matches(make.planned(40))
    blocks = [(frozenset(str(row[4]).split(",")), row[3]) for row in rows[::2]]
    assert len(set(blocks)) == len(blocks)


def test_a_planner_that_died_between_slices_goes_on_where_it_was(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _matches(make.planned(25, board="whole"))
    monkeypatch.setattr(planning, "SLICE", 10)
    tournament = make.scheduled(25, board="cut")
    slices = split_batches(planning.draw_matches(tournament, 3), 10)
    agents = list(tournament.entrant_set.values_list("agent_id", flat=True))
    batch = next(slices)
    lineups = [[agents[index] for index in planned.seats] for planned in batch]
    planning._write_slice(tournament, batch, lineups, [None] * len(batch), now=make.NOW)
    again = Tournament.objects.get(pk=tournament.pk)
    assert planning.plan_tournament(again, now=make.NOW) == 15
    assert _matches(tournament) == whole


def test_a_second_planner_writes_nothing(broker: Redis) -> None:
    tournament = make.scheduled(10)
    stale = Tournament.objects.get(pk=tournament.pk)
    planning.plan_tournament(tournament, now=make.NOW)
    assert planning.plan_tournament(stale, now=make.NOW) == 0
    assert Match.objects.count() == 10


def test_a_cancelled_tournament_is_not_planned(broker: Redis) -> None:
    tournament = make.scheduled(10)
    cancel_tournament(tournament, now=make.NOW)
    assert planning.plan_scheduled(now=make.NOW) == 0
    assert not Match.objects.exists()


def test_a_tournament_that_cannot_be_planned_is_cancelled_and_the_others_are_planned(
    broker: Redis,
) -> None:
    broken, sound = make.scheduled(10, board="broken"), make.scheduled(10, board="sound")
    Tournament.objects.filter(pk=broken.pk).update(pairing="gone")
    assert planning.plan_scheduled(now=make.NOW) == 10
    broken.refresh_from_db()
    assert broken.state == Tournament.State.CANCELLED
    assert "gone" in broken.problem
    assert Match.objects.filter(tournament=sound).count() == 10


@pytest.mark.parametrize("pairing", ["random", "quality"])
@pytest.mark.parametrize("is_broken", [True, False])
def test_a_tournament_whose_pairing_is_at_fault_is_cancelled_with_the_reason(
    broker: Redis, monkeypatch: pytest.MonkeyPatch, pairing: str, *, is_broken: bool
) -> None:
    def pair_alone(*_: object, **__: object) -> list[tuple[int, ...]]:
        if is_broken:
            raise RuntimeError("no table is free")
        return [(0, 0)]

    tournament = make.scheduled(10, pairing=pairing)
    kind = pairings.get(pairing) if pairing == "random" else pairings.get_adaptive(pairing)
    method = "pair" if pairing == "random" else "choose"
    monkeypatch.setattr(type(kind), method, pair_alone)
    assert planning.plan_scheduled(now=make.NOW) == 0
    tournament.refresh_from_db()
    assert tournament.state == Tournament.State.CANCELLED
    why = "raises RuntimeError: no table is free" if is_broken else "has the lineup (0, 0)"
    assert f"pairing '{pairing}' {why}" in tournament.problem


def test_a_tournament_whose_pairing_cannot_say_whether_it_is_over_is_cancelled(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bool:
        raise RuntimeError("no table is free")

    tournament = make.scheduled(10, pairing="quality")
    monkeypatch.setattr(type(pairings.get_adaptive("quality")), "is_over", fail)
    assert planning.plan_scheduled(now=make.NOW) == 0
    tournament.refresh_from_db()
    assert tournament.state == Tournament.State.CANCELLED
    assert "pairing 'quality' raises RuntimeError: no table is free" in tournament.problem


def test_a_new_tournament_waits_for_one_slice_of_another_however_large_those_are(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    _limit_calls(monkeypatch)
    large = [make.scheduled(300, board=f"large-{n}") for n in range(3)]
    ticks = itertools.count()
    rests: list[float] = []
    small: list[Tournament] = []
    n_planned: list[list[int]] = []

    def clock() -> float:
        """Pass half a second with every slice; schedule a small one after the seventh."""
        rows = Tournament.objects.order_by("pk").values_list("n_planned", flat=True)
        n_planned.append(list(rows))
        # Asked once at first, and before and after each slice.
        if len(n_planned) == 15:
            small.append(make.scheduled(4, board="small"))
        return next(ticks) / 4

    assert planning.plan_scheduled(now=make.NOW, clock=clock, rest=rests.append) < 900
    assert n_planned[14:17:2] == [[30, 20, 20], [30, 20, 20, 4]]
    assert set(rests) == {0.25}, "as long as a slice took"
    # What is left is planned by the next calls, each in turn, and drawn once only.
    monkeypatch.setattr(planning, "draw_matches", None)
    while planning.plan_scheduled(now=make.later(1), clock=clock, rest=rests.append):
        rows = Tournament.objects.filter(pk__in=[row.pk for row in large])
        counts = list(rows.values_list("n_planned", flat=True))
        assert max(counts) - min(counts) <= 10
    assert set(Tournament.objects.values_list("state", flat=True)) == {"running"}
    assert Match.objects.count() == 904


def test_a_draft_is_dropped_when_its_tournament_changes(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    _limit_calls(monkeypatch)
    tournament = make.scheduled(40)
    clock, rests = itertools.count(0, 9).__next__, list[float]()
    assert planning.plan_scheduled(now=make.NOW, clock=clock, rest=rests.append) == 10
    assert rests == [0.5], "the other duties of control wait meanwhile"
    extend_tournament(tournament, 60)
    assert planning.plan_scheduled(now=make.NOW) == 50
    assert len(_matches(tournament)) == 60


def test_an_unknown_pairing_is_refused_once_with_those_there_are(broker: Redis) -> None:
    with pytest.raises(BadInputError) as refused:
        make.scheduled(10, pairing="bad")
    assert str(refused.value).count("'bad'") == 1
    assert "unknown pairing 'bad': choose one of common_seeds, double_round_robin" in str(
        refused.value
    )


def test_a_game_of_three_needs_three_agents(broker: Redis) -> None:
    with pytest.raises(BadInputError, match="needs 3 agents"):
        make.scheduled(10, game="kuhn_poker_3", agents=["random"])


def test_cancelling_twice_cancels_once(broker: Redis) -> None:
    tournament = make.planned(10)
    assert cancel_tournament(tournament, now=make.NOW) == 10
    assert cancel_tournament(tournament, now=make.NOW) == 0
    tournament.refresh_from_db()
    assert tournament.n_cancelled == 10


@pytest.mark.parametrize(
    ("agents", "refusal"),
    [
        (["level:1"], "needs 2 agents"),
        (["level:1", "level:1"], "self-play"),
        (["level:1", "random"], "plays connect_four"),
    ],
)
def test_it_refuses_agents_that_cannot_meet(broker: Redis, agents: list[str], refusal: str) -> None:
    game = {"random": "connect_four"}
    rows = [register_spelled_agent(text, game=game.get(text, "skill_game")) for text in agents]
    board = open_leaderboard("board", game="skill_game")
    with pytest.raises(BadInputError, match=refusal) as error:
        schedule_tournament(
            TournamentPlan(name="test", n_matches=10), leaderboard=board, agents=rows
        )
    assert error.value.field == "agents"
    assert not Tournament.objects.exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"pairing": "swiss-cheese"}, "pairing"),
        ({"pairing": ""}, "pairing"),
        ({"n_matches": 0}, "n_matches"),
        ({"seed": -1}, "seed"),
        ({"move_s": 0}, "move_s"),
        ({"move_s": float("nan")}, "move_s"),
        ({"faults": {"error_rate": 2}}, "faults"),
        ({"faults": {"error_rate": 0.9, "hang_rate": 0.9}}, "faults"),
        ({"faults": {"charge": "nobody"}}, "faults"),
        ({"faults": {"unknown": 1}}, "faults"),
    ],
)
def test_it_refuses_a_plan_naming_the_field(
    broker: Redis, change: dict[str, object], field: str
) -> None:
    board = open_leaderboard("board", game="skill_game")
    rows = [register_spelled_agent(text, game="skill_game") for text in make.LEVELS]
    plan = TournamentPlan(**({"name": "test", "n_matches": 10} | change))  # type: ignore[arg-type]
    with pytest.raises(BadInputError) as error:
        schedule_tournament(plan, leaderboard=board, agents=rows)
    assert error.value.field == field
    assert not Tournament.objects.exists()


@pytest.mark.parametrize(
    ("values", "field", "refusal"),
    [
        ({"game": "poker_face"}, "game", "connect_four"),
        ({"policy": "luck"}, "policy", "alphabeta"),
        ({"parameters": {"depth": 0}}, "parameters", "depth"),
        ({"parameters": {"width": 3}}, "parameters", "width"),
        ({"parameters": {"depth": "deep"}}, "parameters", "deep"),
        ({"game": "leduc_poker"}, "policy", "leduc_poker"),
        ({"game": "skill_game", "policy": "mcts", "parameters": {}}, "policy", "skill_game"),
    ],
)
def test_it_refuses_an_agent_naming_the_value_and_the_choices(
    values: dict[str, object], field: str, refusal: str
) -> None:
    agent = {"game": "connect_four", "policy": "alphabeta", "parameters": {"depth": 2}} | values
    with pytest.raises(BadInputError, match=refusal) as error:
        register_agent("agent", **agent)  # type: ignore[arg-type]
    assert error.value.field == field


def test_a_name_stays_with_its_agent() -> None:
    first = register_agent("agent", game="skill_game", policy="level", parameters={"level": 3})
    assert (
        register_agent("agent", game="skill_game", policy="level", parameters={"level": 3}) == first
    )
    with pytest.raises(BadInputError, match="already an agent"):
        register_agent("agent", game="skill_game", policy="level", parameters={"level": 4})


def test_one_agent_alone_plays_itself_on_a_new_seed_each_time(broker: Redis) -> None:
    tournament = make.planned(5, agents=["level:7"], is_rated=False)
    matches = Match.objects.filter(tournament=tournament).order_by("sequence")
    assert [match.agent_ids[0] == match.agent_ids[1] for match in matches] == [True] * 5
    assert [match.block for match in matches] == list(range(5))
    assert len({match.game_seed for match in matches}) == 5
    assert Seat.objects.filter(match__tournament=tournament).count() == 10
    order = make.ordered(tournament)
    assert {tuple(row.seats) for row in order.matches} == {(0, 0)}


def test_self_play_is_refused_where_it_would_be_rated(broker: Redis) -> None:
    with pytest.raises(BadInputError, match="2 agents or more"):
        make.scheduled(5, agents=["level:7"])


def test_an_order_holds_no_more_than_the_tournament_allows(broker: Redis) -> None:
    make.alive(slots=8)
    make.planned(64, order_limit=5)
    assert {len(order.matches) for order in make.sent(broker)} == {5}


def _limit_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a call end after five seconds by its clock, with rests of half a second."""
    monkeypatch.setattr(planning, "SLICE", 10)
    monkeypatch.setattr(planning, "PLAN_S", 5.0)
    monkeypatch.setattr(planning, "MAX_REST_S", 0.5)
