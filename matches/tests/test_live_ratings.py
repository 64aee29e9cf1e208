"""Live ratings beyond an open match: what is remembered between two counts changes no bit."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from redis import Redis

from arena.ratings.base import MU, SIGMA, Constants
from arena.ratings.live import fold_matches
from arena.teams import NO_TEAMS
from matches.ledger import planning, recording
from matches.ledger.tournaments import pause_tournament, resume_tournament, schedule_tournament
from matches.models import Leaderboard, Match
from matches.models.match import parse_numbers
from matches.plans import TournamentPlan
from matches.ratings import live_ratings, rater, rerating
from matches.ratings.counting import Result
from matches.ratings.live_ratings import LiveRating, Rules, Tail
from matches.store import bulk as rows_of
from matches.tests import factories as make

RULES = Rules(Constants(), NO_TEAMS)
N_AGENTS = 6


def drawn(n: int, rng: Random) -> list[Result]:
    """Return outcomes in planned order."""
    return [
        Result(
            sequence,
            sequence,
            True,
            ",".join(map(str, rng.sample(range(N_AGENTS), 2))),
            rng.choice(["0,1", "1,0", "0,0"]),
            -1,
        )
        for sequence in range(1, n + 1)
    ]


def folded(results: Sequence[Result]) -> list[tuple[float, float]]:
    """Return the ratings after all of these, folded at once."""
    mus, sigmas = [MU] * N_AGENTS, [SIGMA] * N_AGENTS
    played = [(parse_numbers(result.lineup), parse_numbers(result.ranks)) for result in results]
    fold_matches(mus, sigmas, played, RULES.constants, RULES.teams)
    return list(zip(mus, sigmas, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_any_order_of_arrival_and_any_prefix_gives_the_same_bits(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_ratings, "N_A_MARK", 3)
    rng = Random(seed)
    waiting, there = drawn(120, rng), list[Result]()
    states, tail, prefix = {agent: LiveRating(MU, SIGMA) for agent in range(N_AGENTS)}, Tail([]), 0
    while waiting:
        n_ahead = rng.choice([3, 8, 40])
        new = rng.sample(waiting[:n_ahead], min(len(waiting), rng.randint(1, 5), n_ahead))
        waiting = [result for result in waiting if result not in new]
        there += new
        tail.add(sorted(new, key=lambda result: result.sequence))
        if rng.random() < 0.3:
            prefix = (waiting[0].sequence if waiting else 121) - 1
            tail.pass_to(prefix, states, RULES)
        in_order = sorted(there, key=lambda result: result.sequence)
        assert list(tail.shown(states, RULES).values()) == folded(in_order)
        assert list(states.values()) == folded([one for one in in_order if one.sequence <= prefix])


@pytest.fixture
def paused(broker: Redis) -> Leaderboard:
    """Return a board of a hundred agents whose first tournament is paused in its middle."""
    tournament = make.planned(20, agents=[f"level:{level}" for level in range(100)])
    order = make.ordered(tournament, 10)
    recording.record_report(make.finished(order), now=make.NOW)
    rater.rate(tournament.leaderboard_id, now=make.NOW)
    pause_tournament(tournament)
    return tournament.leaderboard


def play_more(board: Leaderboard, seed: int, *, at: float) -> None:
    """Play twelve matches of another tournament to their end, and count."""
    agents = [rating.agent for rating in board.rating_set.order_by("agent_id")[:3]]
    plan = TournamentPlan(name="more", n_matches=12, seed=seed)
    tournament = schedule_tournament(plan, leaderboard=board, agents=agents)
    planning.plan_tournament(tournament, now=make.later(at))
    order = make.ordered(tournament, now=make.later(at))
    recording.record_report(make.finished(order), now=make.later(at))
    assert rater.count_outcomes(board.pk, now=make.later(at))


@pytest.mark.django_db(transaction=True)
def test_behind_a_paused_tournament_only_what_is_new_is_read(
    paused: Leaderboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_ratings._remembered.clear()
    play_more(paused, 1, at=10)
    read: list[int] = []
    uncounted = rater.read_uncounted

    def counting(*args: Any, **options: Any) -> list[Result]:
        results = uncounted(*args, **options)
        read.append(len(results))
        return results

    monkeypatch.setattr(rater, "read_uncounted", counting)
    for seed in (2, 3):
        play_more(paused, seed, at=10.0 * seed)
    assert read == [12, 12]
    again = rerating.rerate(paused, now=make.later(90))
    assert again is not None
    assert again.is_none
    live_ratings._remembered.clear()
    play_more(paused, 4, at=100)
    assert read[-1] == 48, "forgotten, all that lies behind the open match is read"


@pytest.mark.django_db(transaction=True)
def test_a_tournament_that_is_resumed_is_folded_in_its_place(paused: Leaderboard) -> None:
    for seed in (2, 3):
        play_more(paused, seed, at=10.0 * seed)
    tournament = paused.tournaments.order_by("pk")[0]
    resume_tournament(tournament, now=make.later(110))
    order = make.ordered(tournament, now=make.later(110))
    recording.record_report(make.finished(order), now=make.later(110))
    rater.rate(paused.pk, now=make.later(120))
    assert not Match.objects.filter(Match.is_open()).exists()
    assert Leaderboard.objects.get().prefix_sequence == 20 + 24
    difference = rerating.rerate(paused, now=make.later(130))
    assert difference is not None
    assert difference.is_none


@pytest.mark.django_db
def test_only_ratings_that_changed_are_written(
    paused: Leaderboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []

    def counting(model: Any, columns: Any, rows: Sequence[Any]) -> None:
        written.append(len(rows))
        rows_of.update_rows(model, columns, rows)

    monkeypatch.setattr(rater, "update_rows", counting)
    play_more(paused, 1, at=10)
    assert written == [3, 3], "of three agents, by counters and by live rating"
    rater.settle_board(paused.pk, now=make.later(11))
    Leaderboard.objects.update(results_hash="")
    rater.settle_board(paused.pk, now=make.later(12))
    assert written[-1] == 0, "the same ratings again"
