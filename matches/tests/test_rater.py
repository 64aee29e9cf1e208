"""The rater: ratings are a function of the outcomes, whatever order they arrive in."""

from collections.abc import Sequence
from datetime import timedelta
from random import Random

import pytest
from redis import Redis

from arena.messages import Ending, MatchOrder, MatchOrderRow, Reason, ResultRow
from arena.ratings.base import Constants
from arena.ratings.live import fold_matches
from arena.seeding import derive
from matches.ledger import recording
from matches.ledger.tournaments import cancel_tournament
from matches.models import Leaderboard, Match, Outcome, PairCount, Rating, Tournament, Uncounted
from matches.models.match import parse_numbers
from matches.ratings import rater, snapshots
from matches.ratings.fitting import fit_ratings
from matches.tests import factories as make

pytestmark = pytest.mark.django_db


def _drawn(row: MatchOrderRow) -> ResultRow:
    """Return a result that depends on the match only; about one match in forty fails for good."""
    coin = derive("coin", row.game_seed, *row.seats) % 40
    if coin == 0:
        return make.result(row, ending=Ending.FAILED, reason=Reason.ERROR)
    return make.result(row, ranks=[[0, 1], [1, 0], [0, 0]][coin % 3])


def _record(rows: Sequence[ResultRow], order: MatchOrder) -> None:
    recording.record_report(make.reported(order, rows, is_last=False), now=make.NOW)


def _ratings(tournament: Tournament) -> list[tuple[float, ...]]:
    rows = Rating.objects.filter(leaderboard=tournament.leaderboard).order_by("agent_id")
    return list(rows.values_list("mu", "sd", "live_mu", "live_sigma", "prefix_mu", "prefix_sigma"))


def _shuffled(name: str, order_seed: int, n_matches: int) -> list[tuple[float, ...]]:
    """Play a tournament whose results arrive shuffled, doubled and cut in pieces of any size."""
    tournament = make.planned(n_matches, board=name, seed=3)
    rng = Random(order_seed)
    while Match.objects.filter(tournament=tournament, state=Match.State.PENDING).exists():
        order = make.ordered(tournament)
        make.start(order)
        rows = [_drawn(row) for row in order.matches]
        rows += rng.sample(rows, len(rows) // 10)
        rng.shuffle(rows)
        while rows:
            n = rng.randint(1, 400)
            _record(rows[:n], order)
            rows = rows[n:]
            rater.rate(tournament.leaderboard_id, now=make.later(rng.random() * 10))
    rater.rate(tournament.leaderboard_id, now=make.later(100))
    return _ratings(tournament)


@pytest.mark.slow
@pytest.mark.parametrize("n_matches", [1_500, pytest.param(5_000, marks=pytest.mark.long)])
def test_twenty_orders_of_arrival_give_the_same_bits(broker: Redis, n_matches: int) -> None:
    runs = [_shuffled(f"board-{seed}", seed, n_matches) for seed in range(20)]
    assert Match.objects.filter(state=Match.State.VOID).exists()
    assert all(run == runs[0] for run in runs)


def test_the_live_rating_is_the_fold_of_all_outcomes_in_planned_order(broker: Redis) -> None:
    _shuffled("board", 1, 200)
    board = Leaderboard.objects.get()
    agents = list(Rating.objects.order_by("agent_id").values_list("agent_id", flat=True))
    mus, sigmas = [25.0] * len(agents), [25 / 3] * len(agents)
    outcomes = Outcome.objects.order_by("match__sequence").values_list("match__lineup", "ranks")
    played = [
        ([agents.index(agent) for agent in parse_numbers(lineup)], parse_numbers(ranks))
        for lineup, ranks in outcomes
    ]
    fold_matches(mus, sigmas, played, Constants(draw_probability=board.draw_probability))
    live_ratings = Rating.objects.order_by("agent_id").values_list("live_mu", "live_sigma")
    assert list(live_ratings) == list(zip(mus, sigmas, strict=True))


def test_counting_again_counts_nothing(broker: Redis) -> None:
    tournament = make.planned(20)
    order = make.ordered(tournament, 10)
    _record([make.first_wins(row) for row in order.matches], order)
    assert rater.rate(tournament.leaderboard_id, now=make.NOW)
    before = _ratings(tournament)
    assert not rater.rate(tournament.leaderboard_id, now=make.later(10))
    assert _ratings(tournament) == before
    assert sum(PairCount.objects.values_list("n_first_wins", flat=True)) == 10


def test_every_match_adds_one_win_and_one_loss_or_two_draws(broker: Redis) -> None:
    _shuffled("board", 2, 100)
    n_outcomes = Outcome.objects.count()
    counts = Rating.objects.values_list("n_matches", "n_wins", "n_draws", "n_losses")
    n_matches, wins, draws, losses = (sum(column) for column in zip(*counts, strict=True))
    assert n_matches == 2 * n_outcomes == wins + draws + losses
    assert wins == losses
    assert Leaderboard.objects.get().n_counted == n_outcomes


def test_what_waits_behind_an_open_match_is_shown_but_not_passed(broker: Redis) -> None:
    tournament = make.planned(10)
    order = make.ordered(tournament)
    first, *others = order.matches
    _record([make.first_wins(row) for row in others], order)
    rater.rate(tournament.leaderboard_id, now=make.NOW)
    board = Leaderboard.objects.get()
    assert (board.prefix_sequence, board.n_counted, Uncounted.objects.count()) == (0, 9, 9)
    assert set(Rating.objects.values_list("prefix_mu", flat=True)) == {25.0}
    assert set(Rating.objects.values_list("live_mu", flat=True)) != {25.0}
    _record([make.first_wins(first)], order)
    rater.rate(tournament.leaderboard_id, now=make.later(1))
    board.refresh_from_db()
    assert (board.prefix_sequence, Uncounted.objects.count()) == (10, 0)


def test_cancelled_matches_are_passed(broker: Redis) -> None:
    tournament = make.planned(10)
    order = make.ordered(tournament)
    _record([make.first_wins(order.matches[5])], order)
    cancel_tournament(tournament, now=make.NOW)
    rater.rate(tournament.leaderboard_id, now=make.NOW)
    assert Leaderboard.objects.get().prefix_sequence == 10
    assert not Uncounted.objects.exists()


def test_a_busy_board_is_rated_twice_a_second_at_most(broker: Redis) -> None:
    tournament = make.planned(10)
    order = make.ordered(tournament)
    for index, (seconds, is_rated) in enumerate([(0, True), (0.3, False), (0.6, True)]):
        _record([make.first_wins(order.matches[index])], order)
        assert rater.rate(tournament.leaderboard_id, now=make.later(seconds)) is is_rated


def test_a_forfeit_is_counted_as_a_loss_and_as_a_forfeit(broker: Redis) -> None:
    tournament = make.planned(2, agents=("level:1", "level:2"))
    order = make.ordered(tournament)
    row = order.matches[0]
    crash = make.result(row, ending=Ending.FORFEIT, reason=Reason.CRASH, seat=0)
    _record([crash], order)
    rater.rate(tournament.leaderboard_id, now=make.NOW)
    guilty = Rating.objects.get(agent_id=Match.objects.get(sequence=1).agent_ids[0])
    assert (guilty.n_losses, guilty.n_forfeits) == (1, 1)


def test_snapshots_are_taken_once_a_minute_and_hold_all_ratings(broker: Redis) -> None:
    tournament = make.planned(10)
    order = make.ordered(tournament)
    for index, (seconds, n_taken) in enumerate([(0, 1), (30, 0), (61, 1)]):
        _record([make.first_wins(order.matches[index])], order)
        rater.rate(tournament.leaderboard_id, now=make.later(seconds))
        assert snapshots.take_due(now=make.later(seconds)) == n_taken
    newest = tournament.leaderboard.ratingsnapshot_set.order_by("-taken_at").first()
    assert newest is not None
    ratings = Rating.objects.order_by("agent_id").values_list(*snapshots.COLUMNS)
    assert [tuple(row) for row in snapshots.read_rows(newest)] == list(ratings)


def test_snapshots_are_taken_once_a_minute_after_the_clock_was_set_back(broker: Redis) -> None:
    tournament = make.planned(10)
    order = make.ordered(tournament)
    for index, (seconds, n_taken) in enumerate([(3600, 1), (0, 1), (1, 0), (2, 0), (61, 1)]):
        _record([make.first_wins(order.matches[index])], order)
        rater.rate(tournament.leaderboard_id, now=make.later(seconds))
        assert snapshots.take_due(now=make.later(seconds)) == n_taken, seconds


def _report(tournament: Tournament, order: MatchOrder, index: int, *, at: float) -> bool:
    """Record one result of an order; say whether that changed ratings."""
    _record([make.first_wins(order.matches[index])], order)
    return rater.rate(tournament.leaderboard_id, now=make.later(at))


def test_a_large_field_is_fitted_less_often_until_it_is_idle(broker: Redis) -> None:
    tournament = make.planned(6, agents=[f"level:{n}" for n in range(100)])
    order = make.ordered(tournament)
    n_settled = []
    for index, at in enumerate((0.0, 0.6, 1.2, 1.3, 1.9, 2.0)):
        assert _report(tournament, order, index, at=at) is (at != 1.3)
        n_settled.append(Leaderboard.objects.get().n_settled)
    assert n_settled == [1, 1, 3, 3, 3, 6]
    board = Leaderboard.objects.get()
    agents = list(Rating.objects.order_by("agent_id").values_list("agent_id", flat=True))
    cold = fit_ratings(board, agents)
    ratings = Rating.objects.order_by("agent_id").values_list("mu", "sd")
    assert list(ratings) == list(zip(cold.mu.tolist(), cold.sd.tolist(), strict=True))


def test_what_was_not_fitted_is_so_later_though_nothing_new_comes(broker: Redis) -> None:
    tournament = make.planned(6, agents=[f"level:{n}" for n in range(100)])
    order = make.ordered(tournament)
    _report(tournament, order, 0, at=0)
    _report(tournament, order, 1, at=0.6)
    assert rater.rate_all(now=make.later(0.9)) == []
    assert rater.rate_all(now=make.later(1.1)) == [tournament.leaderboard_id]
    assert rater.rate_all(now=make.later(9)) == []
    assert Leaderboard.objects.get().n_settled == 2


def test_a_board_is_rated_less_often_the_more_waits_behind_its_first_open_match(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rater, "INTERVAL_PER_WAITING", timedelta(seconds=1))
    tournament = make.planned(10)
    order = make.ordered(tournament)
    _record([make.first_wins(row) for row in order.matches[1:5]], order)
    assert rater.rate(tournament.leaderboard_id, now=make.NOW)
    assert [_report(tournament, order, 5 + n, at=at) for n, at in enumerate((4.5, 6.5))] == [
        False,
        True,
    ]
    _record([make.first_wins(row) for row in order.matches], order)
    assert rater.rate(tournament.leaderboard_id, now=make.later(6.6))
    assert Leaderboard.objects.get().prefix_sequence == 10
