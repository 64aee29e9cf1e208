"""Game seeds of one-seat games: the same ones for all agents, and never those of training."""

import msgspec
import pytest
from redis import Redis

from arena.messages import MatchOrderRow, ResultRow
from matches import control
from matches.ledger import recording
from matches.models import Leaderboard, Match, Tournament
from matches.tests import factories as make

pytestmark = pytest.mark.django_db


def _by_level(row: MatchOrderRow) -> ResultRow:
    agent = Match.objects.get(pk=row.match).seat_rows.get().agent
    score = float(agent.name.split(":")[1]) + row.game_seed % 40
    return msgspec.structs.replace(make.result(row, ranks=[0]), returns=[score])


def _play(broker: Redis, tournament: Tournament, *, n_ticks: int) -> None:
    for turn in range(2, 2 * n_ticks, 2):
        make.alive(now=make.later(turn))
        control.do_duties(now=make.later(turn))
        for order in make.popped(broker):
            make.start(order, now=make.later(turn))
            recording.record_report(make.finished(order, _by_level), now=make.later(turn))
    tournament.refresh_from_db()


def _seeds(tournament: Tournament) -> dict[str, list[int]]:
    planned = Match.objects.filter(tournament=tournament).order_by("block")
    seeds: dict[str, list[int]] = {}
    for lineup, seed in planned.values_list("lineup", "game_seed"):
        seeds.setdefault(lineup, []).append(seed)
    return seeds


@pytest.mark.parametrize("pairing", ["double_round_robin", "random", "common_seeds"])
def test_all_agents_play_the_same_seeds_in_the_same_order(broker: Redis, pairing: str) -> None:
    tournament = make.scheduled(40, game="dice_walk", pairing=pairing)
    _play(broker, tournament, n_ticks=12)
    assert (tournament.state, tournament.n_done) == (Tournament.State.DONE, 40)
    seeds = _seeds(tournament)
    longest = max(seeds.values(), key=len)
    assert len(set(longest)) == len(longest)
    assert len(seeds) == 3
    for own in seeds.values():
        assert own == longest[: len(own)]
    assert Leaderboard.objects.get().n_settled == 40


@pytest.mark.parametrize("pairing", ["double_round_robin", "random"])
def test_every_agent_plays_each_seed_that_one_plays(pairing: str) -> None:
    tournament = make.planned(6, game="dice_walk", pairing=pairing)
    first, *others = _seeds(tournament).values()
    assert len(first) == 2
    assert others == [first, first]


@pytest.mark.parametrize("game", ["dice_walk", "skill_game"])
def test_what_is_trained_on_is_never_played_to_be_rated(game: str) -> None:
    plan = {"game": game, "seed": 3}
    run = {**plan, "is_rated": False, "keeps_trajectories": True}
    rated = make.planned(60, board="rated", **plan)
    training = make.planned(60, board="training", **run)
    alone = make.planned(60, board="alone", agents=("level:10",), **run)
    evaluated, trained, in_self_play = (
        set(Match.objects.filter(tournament=one).values_list("game_seed", flat=True))
        for one in (rated, training, alone)
    )
    assert evaluated
    assert trained & in_self_play
    assert evaluated.isdisjoint(trained | in_self_play)
