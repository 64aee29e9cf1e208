"""Seasons: frozen leaderboards that nobody changes."""

import pytest
from redis import Redis

from arena.ratings.base import MU, SIGMA
from matches.artifacts.agents import register_spelled_agent
from matches.campaigns import paired_blocks, starting
from matches.errors import BadInputError, ConflictError, LastingRowError
from matches.ledger import planning, recording, voiding
from matches.ledger.tournaments import open_leaderboard, schedule_tournament
from matches.models import (
    AuditRow,
    Leaderboard,
    Outcome,
    PairCount,
    Rating,
    Season,
    SeasonRow,
    Tournament,
    Uncounted,
)
from matches.models.choices import SeasonMode
from matches.plans import CampaignPlan, TournamentPlan
from matches.ratings import rater, rerating, seasons, standings
from matches.ratings.fitting import PAIR_COUNTERS, fit_ratings
from matches.store.auditing import Actor
from matches.tests import factories as make

pytestmark = pytest.mark.django_db
ANNA = Actor("anna")


def _rated(broker: Redis) -> Tournament:
    tournament = make.planned()
    make.play_all(broker)
    rater.rate(tournament.leaderboard_id, now=make.NOW)
    return tournament


def _freeze(tournament: Tournament, name: str = "spring") -> Season:
    return seasons.freeze(tournament.leaderboard, name, actor=ANNA, reason="over", now=make.NOW)


def test_a_season_keeps_ranks_and_ratings(broker: Redis) -> None:
    tournament = _rated(broker)
    season = _freeze(tournament)
    assert (season.n_agents, season.n_counted, season.actor) == (3, 12, "anna")
    assert len(season.results_hash) == 64
    kept = season.rows.values_list("rank", "agent_id", "name", "mu", "sd", "live_mu", "n_matches")
    ratings = standings.rank_ratings(tournament.leaderboard_id)
    assert list(kept) == [
        (n, r.agent_id, r.agent.name, r.mu, r.sd, r.live_mu, r.n_matches)
        for n, r in enumerate(ratings, 1)
    ]
    assert AuditRow.objects.get().touched["season"] == season.pk


def test_it_stays_as_it_was_when_the_board_changes(broker: Redis) -> None:
    tournament = _rated(broker)
    season = _freeze(tournament)
    before = list(season.rows.values())
    match = tournament.matches.earliest("pk")
    voiding.void_matches([match.pk], actor=ANNA, reason="stuck", now=make.NOW)
    rerating.rerate_due(now=make.later(1))
    assert list(season.rows.values()) == before
    assert _freeze(tournament, "summer").results_hash != season.results_hash


def test_a_season_cannot_be_changed_or_deleted(broker: Redis) -> None:
    season = _freeze(_rated(broker))
    row = season.rows.latest("rank")
    for kept in (season, row):
        with pytest.raises(LastingRowError):
            kept.save()
        with pytest.raises(LastingRowError):
            kept.delete()
    for rows, column in ((Season.objects.all(), "name"), (SeasonRow.objects.all(), "rank")):
        with pytest.raises(LastingRowError):
            rows.update(id=1)
        with pytest.raises(LastingRowError):
            rows.bulk_update([], [column])
        with pytest.raises(LastingRowError):
            rows.delete()


def test_a_board_that_is_being_rated_is_not_frozen(broker: Redis) -> None:
    tournament = make.planned()
    make.play_all(broker)
    rater.count_outcomes(tournament.leaderboard_id, now=make.NOW)
    with pytest.raises(ConflictError, match="in a moment"):
        _freeze(tournament)
    rater.settle_board(tournament.leaderboard_id, now=make.NOW)
    rerating.request_rerating(tournament.leaderboard, actor=ANNA, reason="sure", now=make.NOW)
    with pytest.raises(ConflictError, match="in a moment"):
        _freeze(tournament)


@pytest.mark.parametrize("name", ["", "  ", "x" * 81])
def test_a_season_has_a_name(broker: Redis, name: str) -> None:
    with pytest.raises(BadInputError, match="1 to 80 characters"):
        _freeze(_rated(broker), name)


def test_a_name_is_given_once_on_a_board(broker: Redis) -> None:
    tournament = _rated(broker)
    _freeze(tournament)
    with pytest.raises(BadInputError, match="has a season 'spring' already"):
        _freeze(tournament)


def test_an_empty_board_is_frozen_as_it_is(broker: Redis) -> None:
    season = _freeze(make.planned())
    assert (season.n_counted, season.n_agents) == (0, 3)


def _begin(board: Leaderboard, name: str, mode: SeasonMode = SeasonMode.RESET) -> Season:
    return seasons.begin(board, name, mode=mode, actor=ANNA, reason="monthly", now=make.NOW)


def _play(broker: Redis, board: Leaderboard, n_matches: int) -> None:
    """Play a tournament whose results follow from seats and places alone."""
    agents = [register_spelled_agent(text, game="skill_game") for text in make.LEVELS]
    plan = TournamentPlan(name="more", n_matches=n_matches)
    planning.plan_tournament(
        schedule_tournament(plan, leaderboard=board, agents=agents), now=make.NOW
    )
    make.play_all(broker, lambda row: make.result(row, ranks=[[0, 1], [0, 0]][row.seats[0] % 2]))
    rater.rate(board.pk, now=make.later(9))


def _stored(board: Leaderboard) -> tuple[object, ...]:
    ratings = Rating.objects.filter(leaderboard=board).order_by("agent_id")
    pairs = PairCount.objects.filter(leaderboard=board).order_by("first_id", "second_id")
    board.refresh_from_db()
    return (
        list(ratings.values_list("mu", "sd", "live_mu", "live_sigma", "prefix_mu", "prefix_sigma")),
        list(ratings.values_list("agent_id", *rater.COUNTERS)),
        list(pairs.values_list("first_id", "second_id", *PAIR_COUNTERS)),
        (board.n_counted, board.n_settled, board.results_hash, board.spread, board.seat_mu),
    )


def test_after_a_reset_the_ratings_are_those_of_a_board_with_the_season_only(
    broker: Redis,
) -> None:
    board = _rated(broker).leaderboard
    ended = _begin(board, "summer")
    assert (ended.name, ended.n_counted) == ("before summer", 12)
    board.refresh_from_db()
    assert (board.season_name, board.season_first_sequence) == ("summer", 13)
    _play(broker, board, 18)
    only = open_leaderboard("only", game="skill_game")
    _play(broker, only, 18)
    assert _stored(board) == _stored(only)
    rerating.request_rerating(board, actor=ANNA, reason="sure", now=make.NOW)
    difference = rerating.rerate(board, now=make.NOW)
    assert difference is not None
    assert difference.is_none
    assert _stored(board) == _stored(only)
    assert _freeze(board.tournaments.earliest("pk"), "kept").n_counted == 18


def test_a_reset_shows_the_prior_at_once_and_is_settled_again(broker: Redis) -> None:
    board = _rated(broker).leaderboard
    _begin(board, "summer")
    assert set(Rating.objects.values_list("mu", "sd", "n_matches")) == {(MU, SIGMA, 0)}
    assert not PairCount.objects.exists()
    assert rater.rate_all(now=make.later(1)) == [board.pk]
    board.refresh_from_db()
    assert (board.n_counted, bool(board.results_hash)) == (0, True)
    assert Outcome.objects.count() == 12


def test_what_was_planned_before_counts_no_more(broker: Redis) -> None:
    tournament = make.planned(12)
    board = tournament.leaderboard
    order = make.ordered(tournament, 4)
    rater.settle_board(board.pk, now=make.NOW)
    _begin(board, "summer")
    recording.record_report(make.finished(order), now=make.NOW)
    assert not rater.rate(board.pk, now=make.later(1))
    assert not Uncounted.objects.exists()
    _play(broker, board, 6)
    board.refresh_from_db()
    assert (board.n_counted, Outcome.objects.count()) == (6, 18)


def test_a_fit_that_was_under_way_is_not_stored_after_a_reset(broker: Redis) -> None:
    board = _rated(broker).leaderboard
    old = Leaderboard.objects.get(pk=board.pk)
    ratings = list(Rating.objects.order_by("agent_id").values_list("pk", "agent_id"))
    fitted = fit_ratings(old, [agent for _, agent in ratings])
    _begin(board, "summer")
    assert not rater._store_settled(old, [pk for pk, _ in ratings], fitted, now=make.NOW)


def test_a_season_that_carries_over_goes_on_counting(broker: Redis) -> None:
    board = _rated(broker).leaderboard
    before = _stored(board)
    ended = _begin(board, "summer", SeasonMode.CARRY)
    assert _stored(board) == before
    assert ended.n_counted == 12
    assert _begin(board, "autumn", SeasonMode.CARRY).name == "summer"
    actions = AuditRow.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["leaderboard.begin"] * 2


def test_a_season_begins_with_a_name_of_its_own(broker: Redis) -> None:
    board = _rated(broker).leaderboard
    _begin(board, "summer", SeasonMode.CARRY)
    for taken in ("summer", "before summer"):
        with pytest.raises(BadInputError, match="already"):
            _begin(board, taken)


def test_campaigns_and_tests_see_the_season_only(broker: Redis) -> None:
    tournament = make.planned(8, agents=make.LEVELS[:2])
    make.play_all(broker)
    board = tournament.leaderboard
    rater.rate(board.pk, now=make.NOW)
    agents = list(tournament.agents.order_by("pk"))
    pair = [agent.pk for agent in agents]
    plan = CampaignPlan(name="which", question="best", max_matches=50)
    campaign = starting.start_campaign(plan, leaderboard=board, agents=agents)
    assert (campaign.n_known, len(paired_blocks.load_blocks(board, *pair).outcomes)) == (8, 4)
    _begin(board, "summer")
    campaign.refresh_from_db()
    board.refresh_from_db()
    assert (campaign.n_known, starting.count_known(board, agents).n_matches) == (0, 0)
    assert paired_blocks.load_blocks(board, *pair).outcomes == []
