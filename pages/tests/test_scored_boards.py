"""Boards of one-seat games: mean scores with intervals beside the ratings, and no live rating."""

from dataclasses import replace
from statistics import fmean
from typing import Any

import msgspec
import pytest
from django.test import Client
from redis import Redis

from arena.games import registry as games
from arena.messages import Ending, MatchOrderRow, Reason, ResultRow
from arena.seeding import derive
from matches.models import EntrantCount, Match, Score, Tournament
from matches.ratings import rater, tournament_counts
from matches.ratings.score_gaps import read_gaps
from matches.ratings.standings import format_mean
from matches.tests import boards, factories
from pages.plots import score_gaps, strength
from pages.tests.reading import read_page
from pages.tests.test_strength_plots import trained

pytestmark = pytest.mark.django_db


def _score(row: MatchOrderRow) -> ResultRow:
    coin = derive("coin", row.game_seed, *row.seats)
    if coin % 7 == 0:
        return factories.result(row, ending=Ending.FORFEIT, reason=Reason.CRASH, seat=0)
    played = factories.result(row, ranks=[0])
    actions = " ".join(["50"] * 20)
    return msgspec.structs.replace(
        played, returns=[float(coin % 5 + row.seats[0])], actions=actions
    )


@pytest.fixture
def tournament(broker: Redis) -> Tournament:
    """Return a finished tournament of the dice walk with its ratings."""
    planned = factories.planned(60, game="dice_walk", board="walks")
    boards.play_some(planned, 60, _score)
    rater.rate(planned.leaderboard_id, now=factories.later(1))
    planned.refresh_from_db()
    return planned


def test_the_board_has_mean_scores_in_the_place_of_live_ratings(
    client: Client, tournament: Tournament
) -> None:
    page = read_page(client, "/leaderboards/walks/")
    assert "No live rating: one seat" in page
    assert 'data-field="live"' not in page
    for rating in tournament.leaderboard.rating_set.all():
        assert rating.mean_score is not None
        for text in format_mean(rating.mean_score, rating.score_low, rating.score_high):
            assert f">{text}<" in page
    assert "Better, equal, worse scores than others on the same seeds" in page


def test_rows_can_be_sorted_by_their_mean_score(client: Client, tournament: Tournament) -> None:
    first, last = (
        tournament.leaderboard.rating_set.order_by(order)[0].agent.name
        for order in ("-mean_score", "mean_score")
    )
    page = read_page(client, "/leaderboards/walks/?sort=score")
    assert page.index(f">{first}</a>") < page.index(f">{last}</a>")
    assert 'value="live"' not in page
    assert 'value="score"' in page


@pytest.mark.parametrize("is_forfeit", [False, True])
def test_a_match_says_its_score(client: Client, tournament: Tournament, is_forfeit: bool) -> None:
    match = Match.objects.filter(outcome__is_forfeit=is_forfeit).earliest("pk")
    page = read_page(client, f"/matches/{match.pk}/")
    result = "lost by forfeit" if is_forfeit else f"score {float(match.outcome.returns):g}"
    assert result in " ".join(page.split())
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
        read_page(client, address)


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


def test_the_page_of_two_compares_them_seed_by_seed(client: Client, tournament: Tournament) -> None:
    first, second, _ = (rating.agent for rating in tournament.leaderboard.rating_set.all())
    comparison = read_gaps(tournament.leaderboard, first.pk, second.pk)
    scores = [
        {row.game_seed: row.score or 0.0 for row in Score.objects.filter(agent=agent)}
        for agent in (first, second)
    ]
    leads = [scores[0][seed] - scores[1][seed] for seed in scores[0]]
    assert comparison.mean == pytest.approx(fmean(leads))
    assert [gap.lead for gap in comparison.gaps] == sorted(leads, reverse=True)
    assert comparison.n_better + comparison.n_equal + comparison.n_worse == len(leads) == 20
    assert comparison.low is not None
    assert comparison.high is not None
    assert comparison.low < fmean(leads) < comparison.high
    page = read_page(client, f"/compare/{first.pk}/{second.pk}/")
    assert f"scored higher on {comparison.n_better}" in page
    assert f"/matches/{comparison.gaps[0].matches[0]}/" in page
    assert 'class="score-gaps"' in page
    assert "Their games" not in page


def test_two_without_a_common_seed_are_told_what_to_do(client: Client, broker: Redis) -> None:
    planned = factories.planned(3, game="dice_walk", board="walks")
    first, second, _ = planned.entrant_set.values_list("agent", flat=True)
    assert "No game seed was played by both" in read_page(client, f"/compare/{first}/{second}/")


def test_gaps_of_more_seeds_cost_no_more_queries(
    tournament: Tournament, django_assert_num_queries: Any
) -> None:
    first, second, _ = (rating.agent_id for rating in tournament.leaderboard.rating_set.all())
    with django_assert_num_queries(2):
        read_gaps(tournament.leaderboard, first, second)


def test_forfeits_are_left_out_where_the_least_score_is_not_declared(
    tournament: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = replace(games.get("dice_walk").spec, score_range=None)
    monkeypatch.setattr(type(games.get("dice_walk")), "spec", spec)
    agents = [rating.agent_id for rating in tournament.leaderboard.rating_set.all()]
    comparison = read_gaps(tournament.leaderboard, *agents[:2])
    forfeited = Score.objects.filter(score=None, agent__in=agents[:2])
    assert comparison.n_without == forfeited.values("game_seed").distinct().count() > 0
    assert comparison.gaps[-1].lead is None
    assert comparison.n_better + comparison.n_equal + comparison.n_worse == 20


@pytest.mark.parametrize(
    ("leads", "titles"),
    [
        ([1.0, 1.0, -2.0, 0.0], ["-2: 1 of 4", "0: 1 of 4", "+1: 2 of 4"]),
        ([0.5], ["+0.5: 1 of 1"]),
        ([0.0, 0.0], ["0: 2 of 2"]),
        ([1e6, -1e6], ["-1,000,000: 1 of 2", "+1,000,000: 1 of 2"]),
    ],
)
def test_bars_stand_about_their_differences(leads: list[float], titles: list[str]) -> None:
    drawn = score_gaps.draw_histogram(leads)
    assert drawn is not None
    assert [bar.title.removesuffix(" seeds") for bar in drawn.bars] == titles
    assert len(drawn.marks) <= 9


def test_no_difference_is_no_histogram() -> None:
    assert score_gaps.draw_histogram([]) is None


def test_mean_scores_are_drawn_against_training_steps(
    client: Client, tournament: Tournament
) -> None:
    board = tournament.leaderboard
    assert "Mean score by training step" not in read_page(client, "/leaderboards/walks/")
    for run in ("slow", "fast"):
        for place, agent in enumerate(trained(board, (0, 100, 200, 400), run=run)):
            rated = board.rating_set.filter(agent=agent)
            # The last one of each run has played one seed alone: it has no interval yet.
            ends = {} if place == 3 else {"score_low": 1_190.0, "score_high": 1_250.0}
            rated.update(mean_score=1_200.0 + place, **ends)
    page = read_page(client, "/leaderboards/walks/")
    assert "Mean score by training step" in page
    assert "fast@100, step 100: 1201, 1190 to 1250" in page
    assert "fast@400, step 400: 1203" not in page
    plot = strength.draw_scores(board.pk)
    assert plot is not None
    assert [len(series.points) for series in plot.series] == [3, 3]


def test_scores_of_few_checkpoints_are_listed_and_not_drawn(tournament: Tournament) -> None:
    trained(tournament.leaderboard, (0, 100))
    plot = strength.draw_scores(tournament.leaderboard_id)
    assert plot is not None
    assert plot.is_early
