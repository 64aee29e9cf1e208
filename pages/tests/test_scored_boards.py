"""Boards of one-seat games: mean scores with intervals beside the ratings, and no live rating."""

from html import unescape

import msgspec
import pytest
from django.test import Client
from redis import Redis

from arena.messages import Ending, MatchOrderRow, Reason, ResultRow
from arena.seeding import derive
from matches.models import EntrantCount, Match, Tournament
from matches.ratings import rater, tournament_counts
from matches.tests import boards, factories

pytestmark = pytest.mark.django_db


def _score(row: MatchOrderRow) -> ResultRow:
    coin = derive("coin", row.game_seed, *row.seats)
    if coin % 7 == 0:
        return factories.result(row, ending=Ending.FORFEIT, reason=Reason.CRASH, seat=0)
    agent = Match.objects.get(pk=row.match).agent_ids[0]
    played = factories.result(row, ranks=[0])
    actions = " ".join(["50"] * 20)
    return msgspec.structs.replace(played, returns=[float(coin % 5 + agent)], actions=actions)


@pytest.fixture
def tournament(broker: Redis) -> Tournament:
    """Return a finished tournament of the dice walk with its ratings."""
    planned = factories.planned(60, game="dice_walk", board="walks")
    boards.play_some(planned, 60, _score)
    rater.rate(planned.leaderboard_id, now=factories.later(1))
    planned.refresh_from_db()
    return planned


def _get(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return unescape(answer.content.decode())


def test_the_board_has_mean_scores_in_the_place_of_live_ratings(
    client: Client, tournament: Tournament
) -> None:
    page = _get(client, "/leaderboards/walks/")
    assert "No live rating: one seat" in page
    assert 'data-field="live"' not in page
    for rating in tournament.leaderboard.rating_set.all():
        assert f">{rating.mean_score:.2f}<" in page
        assert f">{rating.score_low:.2f} to {rating.score_high:.2f}<" in page
    assert "Better, equal, worse scores than others on the same seeds" in page


def test_rows_can_be_sorted_by_their_mean_score(client: Client, tournament: Tournament) -> None:
    first, last = (
        tournament.leaderboard.rating_set.order_by(order)[0].agent.name
        for order in ("-mean_score", "mean_score")
    )
    page = _get(client, "/leaderboards/walks/?sort=score")
    assert page.index(f">{first}</a>") < page.index(f">{last}</a>")
    assert 'value="live"' not in page
    assert 'value="score"' in page


@pytest.mark.parametrize("is_forfeit", [False, True])
def test_a_match_says_its_score(client: Client, tournament: Tournament, is_forfeit: bool) -> None:
    match = Match.objects.filter(outcome__is_forfeit=is_forfeit).earliest("pk")
    page = _get(client, f"/matches/{match.pk}/")
    wanted = "lost by forfeit" if is_forfeit else f"score {float(match.outcome.returns):g}"
    assert wanted in " ".join(page.split())
    if not is_forfeit:
        assert "The walk is over" in page


def test_the_other_pages_answer(client: Client, tournament: Tournament) -> None:
    first, second, _ = (rating.agent_id for rating in tournament.leaderboard.rating_set.all())
    for address in (
        f"/tournaments/{tournament.pk}/",
        f"/agents/{first}/",
        f"/compare/{first}/{second}/",
        f"/compare/?agent={first}&agent={second}",
        "/matches/?leaderboard=walks",
        "/",
    ):
        _get(client, address)


def test_a_tournament_places_its_entrants_by_their_results_on_equal_seeds(
    tournament: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = tournament_counts.read_counts(tournament)
    assert {agent: sum(won) for agent, won in counts.agents.items()} == {
        rating.agent_id: 2 * 20 for rating in tournament.leaderboard.rating_set.all()
    }
    rated = tournament.leaderboard.rating_set.values_list(
        "agent_id", "n_wins", "n_draws", "n_losses"
    )
    assert counts.agents == {agent: tuple(won) for agent, *won in rated}
    # Counted in parts: episodes of a block meet those of it that were counted before.
    monkeypatch.setattr(tournament_counts, "CHUNK", 7)
    monkeypatch.setattr(tournament_counts, "N_LEFT", 0)
    while tournament_counts.count_missing():
        pass
    stored = EntrantCount.objects.values_list("agent_id", "n_wins", "n_draws", "n_losses")
    assert {agent: tuple(won) for agent, *won in stored} == counts.agents
