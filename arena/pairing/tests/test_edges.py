"""The edge of the first k: who is to be named meets whom it has never met, and no one else."""

from dataclasses import replace

import numpy as np
import pytest

from arena.conformance.standings import standing
from arena.pairing import edges
from arena.pairing.base import Field, Lineup, Standing
from arena.pairing.catalog import order_information
from arena.pairing.edges import (
    choose_checks,
    choose_order_checks,
    find_crossings,
    sample_first,
)
from arena.pairing.registry import get_adaptive
from arena.ratings.counts import Bools, PairCounts
from arena.ratings.pair_evidence import PairEvidence
from arena.ratings.pair_variance import PairVariance, expect_in_order
from arena.verdicts import registry as questions
from arena.verdicts.base import find_expected_departures

N, BEST, UNMET = 4, 0, 3
SEAT = 2.0
VARIANCES, VARIANCE = np.full((N, N), 4.0), 4.0


def stand(*of_unmet: tuple[int, int, int]) -> Standing:
    """Return a field in which the best has met all but one, or that one with these results."""
    met = [(BEST, other, 1) for other in (1, 2)] * 8
    results = [*met, *((BEST, UNMET, score) for *_, score in of_unmet)]
    here = standing(Field(N, 2), np.array(results))
    return replace(here, mu=np.array([40.0, 30.0, 25.0, 20.0]))


def know_variance(variance: float) -> PairVariance:
    """Return an estimate that leaves no doubt: a thousand pairs, none of which departs further."""
    pairs, zeros = np.zeros(1_000, np.int64), np.zeros(1_000)
    return PairVariance(variance, 9.0, PairEvidence(pairs, pairs + 1, zeros, zeros + 1e-6, N, 1.0))


def check(here: Standing, variance: float, is_in: Bools, n_blocks: int = 4) -> list[Lineup]:
    estimate = know_variance(variance)
    return choose_checks(here, estimate, VARIANCES, is_in, n_blocks, np.random.default_rng(1))


def choose(here: Standing, n_blocks: int = 4) -> list[Lineup]:
    is_in = np.tile(np.arange(N) == BEST, (8, 1))
    return check(here, VARIANCE, is_in, n_blocks)


def test_who_is_to_be_named_meets_whom_it_never_met() -> None:
    assert choose(stand()) == [(BEST, UNMET)]


def test_who_has_won_that_is_not_asked_again_and_who_has_lost_is() -> None:
    won, lost = (BEST, UNMET, 1), (BEST, UNMET, -1)
    assert (BEST, UNMET) not in choose(stand(*[won] * 4))
    assert choose(stand(won, lost)) == [(BEST, UNMET)]


def test_what_is_in_flight_is_not_asked_for_again() -> None:
    assert (BEST, UNMET) not in choose(replace(stand(), n_in_flight={(BEST, UNMET): 2}))


def test_what_is_nearly_sure_is_made_surer_once_nothing_is_more_open() -> None:
    sure = stand(*[(BEST, UNMET, 1)] * 4)
    far_ahead = replace(sure, mu=np.array([60.0, 39.0, 25.0, 20.0]))
    assert choose(far_ahead) == [(BEST, 1)]
    # Of the first two, the second of which is open, nobody is asked for what is sure.
    is_in = np.stack([np.arange(N) == BEST, *np.eye(N, dtype=np.bool_)[1:]])
    is_in[1:, BEST] = True
    assert check(far_ahead, VARIANCE, is_in[1:]) == []


def test_nobody_is_checked_while_it_is_open_who_will_be_named() -> None:
    unsure = np.arange(8)[:, None] % 2 == np.arange(N) % 2
    assert check(stand(), VARIANCE, unsure) == []


def test_whose_lead_is_least_sure_is_met_first() -> None:
    # Who is close behind is asked again, though it always lost.
    close = replace(stand(), mu=np.array([31.0, 30.0, 15.0, 10.0]))
    assert choose(close) == [(BEST, 1), (BEST, UNMET)]
    unmet = replace(stand(), mu=np.array([40.0, 30.0, 25.0, 38.0]))
    assert choose(unmet)[0] == (BEST, UNMET)
    is_in = np.tile(np.arange(N) == BEST, (8, 1))
    surer = check(stand(), 0.0, is_in)
    assert surer == [(BEST, UNMET)]  # as it never met that one
    doubted = check(stand(), 100.0, is_in)
    assert doubted[0] == (BEST, UNMET)
    assert len(doubted) == 3


def test_the_pairing_of_a_question_about_the_first_begins_with_them() -> None:
    pairing = get_adaptive("order_information").configured({"edge": 1})
    here = replace(stand(), covariance=np.eye(N), sd=np.ones(N))
    assert pairing.choose(here, 2, seed=1)[0] == (BEST, UNMET)


def test_in_a_game_of_three_seats_nobody_is_sent_to_meet_one_other() -> None:
    pairing = get_adaptive("order_information").configured({"edge": 1})
    chosen = pairing.choose(standing(Field(N, 3), np.array([(BEST, 1, 1)] * 8)), 2, seed=1)
    assert [len(lineup) for lineup in chosen] == [3, 3]


def test_an_edge_is_crossed_by_those_about_it() -> None:
    mu = np.array([40.0, 30.0, 29.0, 10.0])
    is_in = sample_first(mu, np.eye(N), 2, np.random.default_rng(1))
    assert is_in.sum(axis=1).tolist() == [2] * len(is_in)
    crossings = find_crossings(is_in)
    assert crossings[1, 2] == pytest.approx(1, abs=0.01)
    assert crossings[0, 3] == pytest.approx(1, abs=0.01)
    assert 0 < crossings[0, 1] < 0.5


def test_those_on_one_side_of_a_sure_edge_do_not_cross_it() -> None:
    is_in = np.tile(np.arange(N) < 2, (8, 1))
    crossings = find_crossings(is_in)
    assert crossings[0, 1] == crossings[2, 3] == 0
    assert (crossings[:2, 2:] > 0).all()


def test_most_of_the_blocks_are_checks_and_not_all() -> None:
    empty = PairCounts.from_rows([])
    here = replace(stand(), counts=empty, mu=np.array([26.0, 25.0, 25.0, 25.0]))
    assert len(choose(here)) == 3


def test_the_more_of_a_pair_is_in_flight_the_less_it_is_asked_for() -> None:
    close = replace(stand(), mu=np.array([31.0, 30.0, 29.0, 10.0]))
    assert choose(close)[0] in {(BEST, 1), (BEST, 2)}
    for busy, other in ((1, 2), (2, 1)):
        assert choose(replace(close, n_in_flight={(BEST, busy): 20}))[0] == (BEST, other)


def test_nobody_is_checked_first_for_being_the_first_in_the_list() -> None:
    empty = replace(stand(), counts=PairCounts.from_rows([]), mu=np.full(N, 25.0))
    is_in = np.arange(12)[:, None] % N != np.arange(N)
    estimate = PairVariance(0.0, 0.0)
    chosen = {
        choose_checks(empty, estimate, VARIANCES, is_in, 1, np.random.default_rng(seed))[0]
        for seed in range(60)
    }
    assert {row for row, _ in chosen} == {column for _, column in chosen} == set(range(N))


def check_order(here: Standing, variance: float, n_blocks: int = 8) -> list[Lineup]:
    estimate, rng = know_variance(variance), np.random.default_rng(1)
    return choose_order_checks(here, estimate, VARIANCES, n_blocks, rng)


def test_an_order_of_all_checks_whose_own_lead_is_the_least_sure() -> None:
    # Not BEST against 1 and 2, over whom it always won.
    chosen = check_order(stand(), 2 * VARIANCE)
    assert set(chosen[:2]) == {(1, 2), (2, UNMET)}
    assert set(chosen[2:]) == {(1, UNMET), (BEST, UNMET)}
    busy = replace(stand(), n_in_flight={(1, 2): 8, (2, UNMET): 8})
    assert set(check_order(busy, 2 * VARIANCE)[:2]) == set(chosen[2:])


def test_of_an_order_nobody_is_checked_first_for_being_the_first_in_the_list() -> None:
    empty = replace(stand(), counts=PairCounts.from_rows([]), mu=np.full(N, 25.0))
    rngs = [np.random.default_rng(seed) for seed in range(60)]
    chosen = [choose_order_checks(empty, PairVariance(0.0, 0.0), VARIANCES, 2, r) for r in rngs]
    assert len({pairs[0] for pairs in chosen}) == N * (N - 1) / 2


def test_checks_expect_of_an_order_what_its_verdict_does(monkeypatch: pytest.MonkeyPatch) -> None:
    expected: list[float] = []

    def believe(_estimate: PairVariance, _spread: float, part: float, *, seat: float) -> float:
        assert seat == SEAT
        expected.append(part)
        return VARIANCE

    monkeypatch.setattr(edges, "believe_pair_variance", believe)
    check_order(replace(stand(), seat_advantage=SEAT), VARIANCE)
    assert expected == [expect_in_order(N)]
    assert expected == [find_expected_departures(questions.get("rank_all"), N, is_checked=True)]


@pytest.mark.parametrize("variance", [0.0, VARIANCE])
def test_an_order_is_checked_the_same_whoever_was_registered_first(variance: float) -> None:
    here = stand()
    rows = [(N - 1 - one, N - 1 - other, 1) for one, other in ((BEST, 1), (BEST, 2))] * 8
    mirrored = replace(standing(Field(N, 2), np.array(rows)), mu=here.mu[::-1].copy())
    pairs = {(N - 1 - other, N - 1 - one) for one, other in check_order(mirrored, variance)}
    assert pairs == set(check_order(here, variance))


def test_the_more_pairs_an_order_has_the_less_is_left_open_of_each() -> None:
    def check_neighbours(n: int) -> list[Lineup]:
        met = [(one, other, 1) for one in range(n) for other in range(one + 1, n)] * 5
        here = replace(
            standing(Field(n, 2), np.array(met)), mu=np.linspace(50.0, 53.0 - 3.0 * n, n)
        )
        few = know_variance(0.1)
        return choose_order_checks(here, few, np.full((n, n), 4.0), 99, np.random.default_rng(1))

    assert check_neighbours(N) == []
    assert len(check_neighbours(12)) == 11


def test_half_of_the_blocks_are_checks_of_an_order() -> None:
    assert len(check_order(stand(), VARIANCE, 4)) == 2
    empty = stand(), PairVariance(0.0, 0.0), VARIANCES
    rngs = [np.random.default_rng(seed) for seed in range(8)]
    assert {len(choose_order_checks(*empty, 1, rng)) for rng in rngs} == {0, 1}


def test_where_pairs_surely_do_not_depart_those_who_never_met_meet_for_an_order() -> None:
    unmet = {(BEST, UNMET), (1, 2), (1, UNMET), (2, UNMET)}
    assert set(check_order(stand(), 0.0)) == unmet
    in_flight = dict.fromkeys(unmet, 2)
    assert check_order(replace(stand(), n_in_flight=in_flight), 0.0) == []


def test_one_surprise_between_two_far_apart_lets_them_meet_again_for_an_order() -> None:
    met = [(one, other, 1) for one in range(N) for other in range(one + 1, N)] * 5
    here = standing(Field(N, 2), np.array(met))
    assert check_order(replace(here, mu=stand().mu), 0.0) == []
    met[met.index((BEST, UNMET, 1))] = (BEST, UNMET, -1)
    here = standing(Field(N, 2), np.array(met))
    assert check_order(replace(here, mu=stand().mu), 0.0) == [(BEST, UNMET)]


def test_what_is_open_by_the_ratings_alone_is_left_to_the_information() -> None:
    drawn = [(one, other, 1) for one in range(N) for other in range(N) if one != other]
    here = standing(Field(N, 2), np.array(drawn * 4))
    here = replace(here, mu=np.array([26.0, 25.5, 25.0, 24.5]))
    assert check_order(here, 0.0) == []
    assert len(check_order(here, VARIANCE)) == 4


def test_the_pairing_of_an_order_of_all_begins_with_such_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = replace(stand(), covariance=np.eye(N), sd=np.ones(N))
    monkeypatch.setattr(order_information, "choose_order_checks", lambda *_: [(UNMET, BEST)])
    firsts = [
        get_adaptive("order_information").configured(parameters).choose(here, 2, seed=1)[0]
        for parameters in (
            {"checks": 1},
            {"checks": 1, "edge": N},
            {},
            {"edge": N - 1, "checks": 1},
        )
    ]
    assert [first == (UNMET, BEST) for first in firsts] == [True, True, False, False]
