"""One-seat games: episodes on equal seeds are compared by score, in whatever order they come."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from redis import Redis

from arena.messages import Ending, MatchOrder, MatchOrderRow, Reason, ResultRow
from arena.seeding import derive
from matches.ledger import planning, recording, voiding
from matches.ledger.reuse import list_differing_matches
from matches.ledger.tournaments import schedule_tournament
from matches.models import Leaderboard, Match, PairCount, Rating, Score, Tournament
from matches.plans import TournamentPlan
from matches.ratings import fitting, rater, rerating
from matches.ratings.results_files import write_results
from matches.store.auditing import Actor
from matches.tests import factories as make

pytestmark = pytest.mark.django_db
ANNA = Actor("anna")
N_SEEDS = 12


def _scored(row: MatchOrderRow) -> ResultRow:
    """Return an episode whose score depends on agent and seed; now and then a forfeit."""
    coin = derive("coin", row.game_seed, *row.seats)
    if coin % 17 == 0:
        return make.result(row, ending=Ending.FORFEIT, reason=Reason.CRASH, seat=0)
    score = float(coin % 5 + row.seats[0])
    return msgspec.structs.replace(make.result(row, ranks=[0]), returns=[score])


def _planned(board: str = "walks", n_seeds: int = N_SEEDS, **plan: Any) -> Tournament:
    return make.planned(3 * n_seeds, game="dice_walk", board=board, **plan)


def _plan_again(first: Tournament, **plan: Any) -> Tournament:
    """Return another tournament of the same agents on the same board and seed set."""
    again = schedule_tournament(
        TournamentPlan(name="again", n_matches=first.n_matches, **plan),
        leaderboard=first.leaderboard,
        agents=list(first.agents.order_by("entrant__position")),
    )
    planning.plan_tournament(again, now=make.NOW)
    again.refresh_from_db()
    return again


def _record(order: MatchOrder, rows: Sequence[ResultRow], *, at: float = 0) -> None:
    recording.record_report(make.reported(order, rows, is_last=False), now=make.later(at))


def _play(tournament: Tournament) -> None:
    order = make.ordered(tournament)
    make.start(order)
    _record(order, [_scored(row) for row in order.matches])
    rater.rate(tournament.leaderboard_id, now=make.NOW)


def _numbers(board: str = "walks") -> list[Any]:
    """Return all that follows from the episodes of a board; agents by their order."""
    of = {"leaderboard__name": board}
    ratings = Rating.objects.filter(**of).order_by("agent_id")
    pairs = PairCount.objects.filter(**of).order_by("first", "second")
    columns = ("mu", "sd", "live_mu", *rater.COUNTERS, *rater.MEANS)
    counts = pairs.values_list("first", "second", *fitting.PAIR_COUNTERS)
    boards = Leaderboard.objects.filter(name=board)
    return [
        list(ratings.values_list(*columns)),
        [row for row in counts if any(row[2:])],
        list(boards.values_list("n_counted", "n_settled", "spread")),
    ]


def test_each_two_on_a_seed_are_one_result_by_score(broker: Redis) -> None:
    tournament = _planned(n_seeds=4)
    _play(tournament)
    assert Score.objects.count() == 12
    for pair in PairCount.objects.all():
        scores = [
            {row.game_seed: row.score for row in Score.objects.filter(agent=agent)}
            for agent in (pair.first_id, pair.second_id)
        ]
        low = float("-inf")
        gaps = [(scores[0][s] or low, scores[1][s] or low) for s in scores[0]]
        by_score = [
            sum(kind(one, other) for one, other in gaps)
            for kind in (float.__gt__, float.__eq__, float.__lt__)
        ]
        assert [pair.n_first_wins, pair.n_draws, pair.n_second_wins] == by_score
    for rating in Rating.objects.all():
        assert rating.n_matches == 4
        assert rating.n_wins + rating.n_draws + rating.n_losses == 2 * 4
    assert Leaderboard.objects.get().n_settled == 12


def test_the_order_of_arrival_changes_no_bit(broker: Redis) -> None:
    """In parts, with doubles and void episodes; arena/ratings/tests has 20 orders of the rules."""
    outcomes = []
    for turn in range(4):
        rng, name = Random(turn), f"walks-{turn}"
        # Played again, as the boards would otherwise know each other's episodes.
        tournament = _planned(name, seed=7, replays=True)
        order = make.ordered(tournament)
        make.start(order)
        rows = [_scored(row) for row in order.matches]
        struck = [order.matches[n].match for n in (5, 18, 30)]
        rng.shuffle(rows)
        cut = rng.randrange(len(rows))
        for part, at in ((rows[:cut], 1), (rows[:cut][-3:], 2), (rows[cut:], 3), (rows[:5], 4)):
            _record(order, part, at=at)
            rater.rate(tournament.leaderboard_id, now=make.later(10 * turn + at))
            if at == rng.choice((1, 3)):
                voiding.void_matches(struck, actor=ANNA, reason="x", now=make.later(at))
                rerating.rerate_due(now=make.later(10 * turn + at))
        voiding.void_matches(struck, actor=ANNA, reason="x", now=make.later(5))
        rerating.rerate_due(now=make.later(10 * turn + 6))
        rater.rate(tournament.leaderboard_id, now=make.later(10 * turn + 9))
        outcomes.append(_numbers(name))
    assert outcomes[0][2][0][:2] == (33, 33)
    assert all(one == outcomes[0] for one in outcomes)


def test_a_void_episode_takes_its_results_back(broker: Redis) -> None:
    _play(_planned())
    struck = Match.objects.order_by("sequence")[4]
    before = {row.pk: row.n_matches for row in Rating.objects.all()}
    voiding.void_matches([struck.pk], actor=ANNA, reason="x", now=make.NOW)
    rerating.rerate_due(now=make.later(5))
    assert not Score.objects.filter(pk=struck.pk).exists()
    for rating in Rating.objects.all():
        is_struck = rating.agent_id in struck.agent_ids
        assert rating.n_matches == before[rating.pk] - is_struck
        n_results = rating.n_wins + rating.n_draws + rating.n_losses
        assert n_results == 2 * N_SEEDS - (2 if is_struck else 1)


def test_rating_again_changes_nothing(broker: Redis) -> None:
    _play(_planned())
    before = _numbers()
    board = Leaderboard.objects.get()
    rerating.request_rerating(board, actor=ANNA, reason="to be sure", now=make.NOW)
    difference = rerating.rerate(board, now=make.later(5))
    assert difference is not None
    assert difference.is_none
    assert _numbers() == before


def test_the_mean_score_is_that_of_a_plain_loop_with_an_interval_around_it(broker: Redis) -> None:
    _play(_planned())
    for rating in Rating.objects.all():
        episodes = Score.objects.filter(agent=rating.agent_id)
        scores = [0.0 if row.score is None else row.score for row in episodes]  # a forfeit: least
        assert rating.mean_score == sum(scores) / N_SEEDS
        assert rating.score_low is not None
        assert rating.score_high is not None
        assert rating.score_low < rating.mean_score < rating.score_high


def test_exported_results_name_the_seed_on_which_an_episode_is_played_again(
    broker: Redis, tmp_path: Path
) -> None:
    tournament = _planned()
    _play(tournament)
    write_results(tournament.leaderboard, "parquet", path := tmp_path / "results.parquet")
    rows = pq.read_table(path).to_pylist()
    planned = Match.objects.order_by("sequence").values_list("game_seed", flat=True)
    assert [row["game_seed"] for row in rows] == list(planned)


def test_the_live_rating_stays_as_nobody_meets_anybody(broker: Redis) -> None:
    _play(_planned(n_seeds=3))
    assert set(Rating.objects.values_list("live_mu", "live_sigma")) == {(25.0, 25 / 3)}


def test_a_known_episode_is_taken_over_and_one_that_scores_otherwise_is_named(
    broker: Redis,
) -> None:
    first = _planned(n_seeds=3)
    _play(first)
    second = _plan_again(first)
    assert (second.n_done, second.n_known) == (9, 9)
    again = _plan_again(first, replays=True)
    order = make.ordered(again)
    make.start(order)
    rows = [_scored(row) for row in order.matches]
    scored = [n for n, row in enumerate(rows) if row.returns]
    rows[scored[0]] = msgspec.structs.replace(rows[scored[0]], returns=[99.0])
    _record(order, rows)
    rater.rate(again.leaderboard_id, now=make.later(5))
    again.refresh_from_db()
    ((pk, _),) = list_differing_matches(again, 5)
    assert again.n_differing == 1
    assert Match.objects.get(pk=pk).is_differing
    # What was played before counts once.
    assert Leaderboard.objects.get().n_counted == Score.objects.count() == 9
