"""Tournaments whose pairing goes by the results."""

from collections import Counter

import pytest
from redis import Redis

from arena.pairing import registry as pairings
from matches.artifacts.agents import register_spelled_agent
from matches.errors import BadInputError
from matches.ledger import adaptive_pairing, planning
from matches.ledger.tournaments import conclude_tournament, schedule_tournament
from matches.models import Match, Tournament
from matches.plans import TournamentPlan
from matches.ratings import rater
from matches.tests import boards, factories
from matches.tests.factories import NOW, later

pytestmark = pytest.mark.django_db(transaction=True)

FIELD = tuple(f"level:{level}" for level in (5, 25, 50, 75, 95))


@pytest.fixture(autouse=True)
def _broker(valkey_url: str) -> None:
    Redis.from_url(valkey_url).flushall()


def tournament_of(pairing: str, n_matches: int = 64, **plan: object) -> Tournament:
    return factories.scheduled(n_matches, agents=FIELD, pairing=pairing, **plan)  # type: ignore[arg-type]


def go_on(tournament: Tournament, seconds: float) -> None:
    """TournamentPlan, play all that is open, and rate."""
    planning.plan_scheduled(now=later(seconds))
    if Match.objects.filter(Match.is_open()).exists():
        boards.play_some(tournament, 10_000, boards.by_strength(forfeits=0), now=later(seconds))
    rater.rate(tournament.leaderboard_id, now=later(seconds + 1))
    tournament.refresh_from_db()


def played_to_the_end(tournament: Tournament) -> Tournament:
    for step in range(60):
        go_on(tournament, 2.0 * step)
        if tournament.state == Tournament.State.DONE:
            return tournament
    raise AssertionError(f"never done: {tournament.state}, {tournament.n_planned} planned")


@pytest.mark.parametrize(
    # Those for one seat alone: test_score_planning.py.
    "pairing",
    [name for name in pairings.adaptive_names() if name != pairings.SEEDS],
)
def test_each_pairing_plays_a_tournament_to_its_end(pairing: str) -> None:
    done = played_to_the_end(tournament_of(pairing))
    lineups = [match.agent_ids for match in Match.objects.filter(tournament=done)]
    assert 0 < len(lineups) == done.n_matches == done.n_done <= 64
    assert all(len(set(lineup)) == 2 for lineup in lineups)


def test_no_more_is_planned_ahead_than_costs_nothing() -> None:
    tournament = tournament_of("order_information", 1_000)
    planning.plan_scheduled(now=NOW)
    assert (
        Match.objects.count()
        == adaptive_pairing.count_matches_ahead(len(FIELD), 0, 0)
        == adaptive_pairing.LEAST_AHEAD
    )
    planning.plan_scheduled(now=NOW)
    assert Match.objects.count() == adaptive_pairing.LEAST_AHEAD
    go_on(tournament, 1)
    planning.plan_scheduled(now=later(3))
    assert Match.objects.filter(Match.is_open()).count() == adaptive_pairing.LEAST_AHEAD


def test_both_seats_of_a_block_share_a_seed_that_no_other_block_has() -> None:
    done = played_to_the_end(tournament_of("order_information"))
    seeds = Counter(Match.objects.filter(tournament=done).values_list("game_seed", flat=True))
    assert set(seeds.values()) == {2}


def test_the_same_results_choose_the_same_matches() -> None:
    lineups = []
    for name in ("one", "two"):
        tournament = factories.scheduled(
            40, agents=FIELD, pairing="order_information", board=name, seed=3
        )
        played_to_the_end(tournament)
        planned = Match.objects.filter(tournament=tournament).order_by("sequence")
        lineups.append(list(planned.values_list("lineup", "game_seed")))
    assert lineups[0] == lineups[1]


def test_a_bracket_goes_by_how_the_entrants_stood_at_the_start() -> None:
    first = factories.scheduled(40, agents=FIELD)
    go_on(first, 0)
    board = first.leaderboard
    agents = list(first.agents.order_by("entrant__position"))
    cup = TournamentPlan(name="cup", n_matches=60, pairing="knockout")
    second = schedule_tournament(cup, leaderboard=board, agents=agents)
    planning.plan_scheduled(now=later(5))
    second.refresh_from_db()
    by_mu = {rating.agent_id: rating.mu for rating in board.rating_set.all()}
    order = [agents[position].pk for position in second.seeding]
    assert order == sorted(order, key=lambda agent: -by_mu[agent])


def test_a_pairing_that_cannot_pair_the_game_is_refused() -> None:
    agents = [
        register_spelled_agent("random", game="kuhn_poker_3", copy=copy) for copy in (1, 2, 3)
    ]
    with pytest.raises(BadInputError, match="swiss cannot pair kuhn_poker_3"):
        factories.scheduled(12, agents=agents, game="kuhn_poker_3", pairing="swiss")


def test_parameters_that_a_pairing_does_not_take_are_named() -> None:
    with pytest.raises(BadInputError, match="best_off"):
        tournament_of("knockout", pairing_parameters={"best_off": 3})


def test_a_concluded_tournament_is_done_with_what_it_has() -> None:
    tournament = tournament_of("order_information", 1_000)
    planning.plan_scheduled(now=NOW)
    assert conclude_tournament(tournament, now=later(1)) == adaptive_pairing.LEAST_AHEAD
    tournament.refresh_from_db()
    assert tournament.state == Tournament.State.DONE
    assert tournament.n_matches == tournament.n_planned == tournament.n_cancelled
