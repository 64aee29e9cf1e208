"""Rating again from all outcomes: the same bits, unless something was struck."""

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from arena.messages import Ending, MatchOrderRow, Reason, ResultRow
from arena.seeding import derive
from matches import control, dispatch
from matches.errors import BadInputError
from matches.ledger import planning, recording, voiding
from matches.models import AuditRow, Leaderboard, Match, PairCount, Rating, Tournament, Uncounted
from matches.ratings import fitting, rater, rerating
from matches.ratings.rerating import Difference
from matches.store.auditing import Actor
from matches.tests import factories as make

pytestmark = pytest.mark.django_db
ANNA = Actor("anna")
NUMBERS = (
    *("agent_id", "mu", "sd", "live_mu", "live_sigma", "prefix_mu", "prefix_sigma"),
    *rater.COUNTERS,
)


def _drawn(row: MatchOrderRow) -> ResultRow:
    """Return a result that depends on the match only."""
    coin = derive("coin", row.game_seed, *row.seats) % 30
    if coin == 0:
        return make.result(row, ending=Ending.FORFEIT, reason=Reason.CRASH, seat=1)
    return make.result(row, ranks=[[0, 1], [1, 0], [0, 0]][coin % 3])


def _rated(n_matches: int = 60, n_played: int = 1_000) -> Tournament:
    """Return a tournament of which so many matches are played and rated, the last ones first."""
    tournament = make.planned(n_matches)
    order = make.ordered(tournament)
    make.start(order)
    rows = [_drawn(row) for row in order.matches[::-1][:n_played]]
    for n, cut in enumerate((rows[:7], rows[7:])):
        recording.record_report(make.reported(order, cut, is_last=False), now=make.NOW)
        rater.rate(tournament.leaderboard_id, now=make.later(n))
    return tournament


def _numbers() -> list[Any]:
    ratings = Rating.objects.order_by("agent_id").values_list(*NUMBERS)
    pairs = PairCount.objects.order_by("first", "second").values_list(
        "first", "second", *fitting.PAIR_COUNTERS
    )
    board = Leaderboard.objects.values_list(
        "n_counted", "n_settled", "prefix_sequence", "results_hash", "spread"
    )
    return [list(ratings), list(pairs), list(board)]


def _ask() -> None:
    board = Leaderboard.objects.get()
    rerating.request_rerating(board, actor=ANNA, reason="to be sure", now=make.NOW)


def _strike(*matches: Match) -> None:
    voiding.void_matches([m.pk for m in matches], actor=ANNA, reason="stuck", now=make.NOW)


def _audited(action: str) -> dict[str, int]:
    touched: dict[str, int] = AuditRow.objects.filter(action=action).latest("pk").touched
    return touched


@pytest.mark.parametrize("n_played", [60, 59, 20])
def test_nothing_changes_when_nothing_was_struck(broker: Redis, n_played: int) -> None:
    _rated(n_played=n_played)
    before = _numbers()
    _ask()
    assert Leaderboard.objects.get().is_rerating
    assert rerating.rerate(Leaderboard.objects.get(), now=make.later(5)) == Difference(
        n_played, n_played, 0, 0
    )
    assert _numbers() == before
    assert not rerating.is_due()
    assert _audited("leaderboard.settled") == {"n_agents": 0}


def test_the_outcomes_are_read_in_chunks(broker: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    _rated()
    before = _numbers()
    monkeypatch.setattr(rerating, "CHUNK", 7)
    _ask()
    assert rerating.rerate_due(now=make.later(5)) == [Leaderboard.objects.get().pk]
    assert _numbers() == before


def test_what_was_stored_wrongly_is_found_and_put_right(broker: Redis) -> None:
    _rated()
    before = _numbers()
    first, second = Rating.objects.order_by("pk")[:2]
    Rating.objects.filter(pk=first.pk).update(n_wins=99)
    Rating.objects.filter(pk=second.pk).update(prefix_mu=1.0)
    pairs = list(PairCount.objects.order_by("pk")[:2])
    PairCount.objects.filter(pk=pairs[0].pk).delete()
    PairCount.objects.filter(pk=pairs[1].pk).update(n_draws=50)
    _ask()
    rerating.rerate_due(now=make.later(5))
    assert _numbers() == before
    counts = {"n_outcomes": 60, "n_outcomes_before": 60, "n_agents": 2, "n_pairs": 2}
    assert _audited("leaderboard.rerated") == counts


def test_a_pair_that_met_in_struck_matches_only_never_met(broker: Redis) -> None:
    tournament = make.planned(6)
    make.play_all(broker)
    rater.rate(tournament.leaderboard_id, now=make.NOW)
    first, second = Rating.objects.order_by("pk").values_list("agent_id", flat=True)[:2]
    _strike(*Match.objects.filter(lineup__in=(f"{first},{second}", f"{second},{first}")))
    rerating.rerate_due(now=make.later(5))
    assert not PairCount.objects.filter(first__in=(first, second), second__in=(first, second))


def _of(tournament: Tournament, n: int) -> Match:
    return Match.objects.filter(tournament=tournament).order_by("sequence")[n]


@pytest.mark.parametrize("n_played", [60, 45])
def test_struck_outcomes_count_as_if_they_never_came(broker: Redis, n_played: int) -> None:
    tournament = _rated(n_played=n_played)
    struck = [_of(tournament, n) for n in (20, 33, 40)]
    _strike(*struck)
    rerating.rerate_due(now=make.later(5))
    after = _numbers()
    assert Leaderboard.objects.get().n_counted == n_played - 3
    # The same from nothing: every number is made anew by counting what is left.
    Rating.objects.update(**dict.fromkeys(rater.COUNTERS, 0), prefix_mu=25.0, prefix_sigma=25 / 3)
    PairCount.objects.all().delete()
    Uncounted.objects.all().delete()
    Uncounted.objects.bulk_create(
        Uncounted(match=m, leaderboard_id=m.leaderboard_id, sequence=m.sequence)
        for m in Match.objects.filter(state=Match.State.DONE)
    )
    Leaderboard.objects.update(n_counted=0, n_settled=0, prefix_sequence=0, results_hash="")
    rater.rate(tournament.leaderboard_id, now=make.later(20))
    assert _numbers() == after


def test_a_match_struck_meanwhile_has_it_done_once_more(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = _rated()
    _ask()
    real: Callable[..., None] = rerating._read_up_to

    def read(*args: Any) -> None:
        real(*args)
        monkeypatch.setattr(rerating, "_read_up_to", real)
        _strike(_of(tournament, 5))

    monkeypatch.setattr(rerating, "_read_up_to", read)
    assert rerating.rerate_due(now=make.later(5)) == []
    assert rerating.is_due()
    assert rerating.rerate_due(now=make.later(6)) == [tournament.leaderboard_id]
    assert Leaderboard.objects.get().n_counted == 59


def test_outcomes_that_come_meanwhile_are_counted_once(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = make.planned(60)
    order = make.ordered(tournament)
    make.start(order)
    rows = [_drawn(row) for row in order.matches]
    recording.record_report(make.reported(order, rows[:50], is_last=False), now=make.NOW)
    rater.rate(tournament.leaderboard_id, now=make.NOW)
    real: Callable[..., None] = rerating._read_up_to

    def read(*args: Any) -> None:
        real(*args)
        monkeypatch.setattr(rerating, "_read_up_to", real)
        recording.record_report(make.reported(order, rows[50:]), now=make.NOW)

    monkeypatch.setattr(rerating, "_read_up_to", read)
    _ask()
    difference = rerating.rerate(Leaderboard.objects.get(), now=make.later(5))
    assert difference == Difference(60, 60, 0, 0)


def test_an_older_fit_does_not_overwrite_what_was_rated_again(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = _rated()
    board = Leaderboard.objects.get()
    agents = list(Rating.objects.order_by("agent_id").values_list("agent_id", flat=True))
    pks = list(Rating.objects.order_by("agent_id").values_list("pk", flat=True))
    older = fitting.fit_ratings(board, agents)
    _strike(_of(tournament, 5))
    rerating.rerate_due(now=make.later(5))
    after = _numbers()
    assert not rater._store_settled(board, pks, older, now=make.later(6))
    assert _numbers() == after


def test_a_board_left_unsettled_is_settled_later(broker: Redis) -> None:
    tournament = make.planned()
    make.play_all(broker)
    rater.count_outcomes(tournament.leaderboard_id, now=make.NOW)
    Leaderboard.objects.update(fitted_at=make.NOW)
    assert rater.rate_all(now=make.later(0.3)) == []
    assert rater.rate_all(now=make.later(0.6)) == [tournament.leaderboard_id]
    assert rater.rate_all(now=make.later(80)) == []


def test_control_rates_again_what_was_asked(broker: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    woken = list[bool]()
    monkeypatch.setattr(dispatch, "wake_rerater", lambda: woken.append(True))
    _rated()
    control.do_duties(now=make.later(4))
    assert woken == []
    _ask()
    control.do_duties(now=make.later(5))
    assert woken == [True]
    control.rerate_boards(now=make.later(6))
    assert not rerating.is_due()


def test_a_reason_is_wanted(broker: Redis) -> None:
    tournament = _rated()
    with pytest.raises(BadInputError, match=r"^reason: "):
        rerating.request_rerating(tournament.leaderboard, actor=ANNA, reason=" ", now=make.NOW)


def test_a_board_without_any_outcome_is_rated_again_too(broker: Redis) -> None:
    tournament = make.planned(6)
    planning.plan_scheduled(now=make.NOW)
    make.play_all(broker)
    rater.rate(tournament.leaderboard_id, now=make.NOW)
    _strike(*Match.objects.all())
    rerating.rerate_due(now=make.later(5))
    assert {(r.mu, r.live_mu, r.n_matches) for r in Rating.objects.all()} == {(25.0, 25.0, 0)}
    assert rater.rate_all(now=make.later(99)) == []
