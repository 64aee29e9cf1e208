"""Seasons: frozen leaderboards that nobody changes."""

import pytest
from redis import Redis

from matches import standings
from matches.errors import BadInputError, ConflictError, LastingRowError
from matches.models import AuditRow, Season, SeasonRow, Tournament
from matches.services import rater, rerating, seasons, voiding
from matches.services.auditing import Actor
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
    ratings = standings.ranked(tournament.leaderboard_id)
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
    voiding.void([match.pk], actor=ANNA, reason="stuck", now=make.NOW)
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
    for rows in (Season.objects.all(), SeasonRow.objects.all()):
        with pytest.raises(LastingRowError):
            rows.update(id=1)
        with pytest.raises(LastingRowError):
            rows.bulk_update([], [])
        with pytest.raises(LastingRowError):
            rows.delete()


def test_a_board_that_is_being_rated_is_not_frozen(broker: Redis) -> None:
    tournament = make.planned()
    make.play_all(broker)
    rater.count(tournament.leaderboard_id, now=make.NOW)
    with pytest.raises(ConflictError, match="in a moment"):
        _freeze(tournament)
    rater.settle_board(tournament.leaderboard_id, now=make.NOW)
    rerating.request(tournament.leaderboard, actor=ANNA, reason="sure", now=make.NOW)
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
