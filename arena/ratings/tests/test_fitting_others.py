"""Who fits an agent: values by hand, and what must hold of any two strengths."""

from math import inf, nan, sqrt
from statistics import NormalDist

import pytest
import trueskill
from hypothesis import given
from hypothesis import strategies as st

from arena.ratings.base import BETA, RatingError
from arena.ratings.fitting_others import (
    BEST_SHARE,
    CERTAIN,
    OPPONENT,
    TEACHER,
    Rules,
    Strength,
    choose,
    compare,
    seek,
)

STRENGTHS = st.builds(Strength, st.floats(-50, 100), st.floats(0, 9))
RULES = Rules()


def _rank(purpose: str, own: Strength, *others: Strength, rules: Rules | None = RULES) -> list[int]:
    meetings = {place: compare(own, other, rules) for place, other in enumerate(others)}
    return choose(meetings, purpose)


def test_two_equal_agents_that_are_known_share_the_points() -> None:
    meeting = compare(Strength(30, 0), Strength(30, 0), RULES)
    assert (meeting.share, meeting.quality, meeting.p_stronger) == (0.5, 1.0, 0.5)


def test_the_quality_is_that_of_trueskill() -> None:
    meeting = compare(Strength(25, 3), Strength(30, 4), RULES)
    expected = trueskill.quality_1vs1(trueskill.Rating(25, 3), trueskill.Rating(30, 4))
    assert meeting.quality == pytest.approx(expected)
    assert meeting.lead == 5
    assert meeting.p_stronger == pytest.approx(NormalDist().cdf(1))


def test_a_gap_of_beta_leaves_the_learner_a_quarter() -> None:
    meeting = compare(Strength(25, 1), Strength(25 + BETA, 1), RULES)
    assert meeting.share == pytest.approx(0.24, abs=0.01)
    assert meeting.share_low is not None
    assert meeting.share_high is not None
    assert meeting.share_low < BEST_SHARE < meeting.share_high


@given(STRENGTHS, STRENGTHS)
def test_what_one_may_expect_the_other_may_not(own: Strength, other: Strength) -> None:
    here, there = compare(own, other, RULES), compare(other, own, RULES)
    assert here.share is not None
    assert there.share is not None
    assert here.share + there.share == pytest.approx(1)
    assert here.p_stronger + there.p_stronger == pytest.approx(1)
    assert here.quality == pytest.approx(there.quality)
    assert 0 <= here.quality <= 1


@given(STRENGTHS, STRENGTHS)
def test_intervals_hold_what_is_likeliest(own: Strength, other: Strength) -> None:
    meeting = compare(own, other, RULES)
    assert meeting.low <= meeting.lead <= meeting.high
    assert meeting.share_low is not None
    assert meeting.share is not None
    assert meeting.share_high is not None
    assert meeting.share_low <= meeting.share <= meeting.share_high


def test_the_closest_opponent_comes_first_and_one_that_is_hardly_known_last() -> None:
    others = Strength(26, 1), Strength(25, 8), Strength(24.5, 1), Strength(25, 1)
    assert _rank(OPPONENT, Strength(25, 1), *others) == [3, 2, 0, 1]


def test_a_teacher_is_surely_stronger_and_not_out_of_reach() -> None:
    others = {
        "weaker": Strength(20, 1),
        "perhaps stronger": Strength(27, 1),
        "far above": Strength(40, 1),
        "a little stronger": Strength(28, 1),
        "one beta above": Strength(25 + BETA, 1),
        "stronger, but hardly known": Strength(25 + BETA, 5),
    }
    chosen = _rank(TEACHER, Strength(25, 1), *others.values())
    assert [list(others)[place] for place in chosen] == ["one beta above", "a little stronger"]


def test_in_a_game_of_one_seat_the_next_surely_higher_score_teaches() -> None:
    others = Strength(500, 1), Strength(120, 5), Strength(101, 5), Strength(90, 1)
    assert _rank(TEACHER, Strength(100, 5), *others, rules=None) == [1, 0]
    assert _rank(OPPONENT, Strength(100, 5), *others, rules=None) == [2, 3, 1, 0]
    assert compare(Strength(1, 1), Strength(2, 1), None).share is None


def test_without_doubt_the_higher_one_is_stronger() -> None:
    chances = [compare(Strength(1, 0), Strength(one, 0), None).p_stronger for one in (0, 1, 2)]
    assert chances == [0, 0.5, 1]


def test_more_players_a_side_make_a_lead_count_less() -> None:
    own, other = Strength(25, 0), Strength(30, 0)
    shares = [compare(own, other, Rules(n)).share for n in (2, 4)]
    assert shares[0] is not None
    assert shares[1] is not None
    assert shares[0] < shares[1] < 0.5
    assert compare(own, Strength(25 + 5 * sqrt(2), 0), Rules(4)).share == pytest.approx(shares[0])


def test_whom_to_look_for_is_about_where_the_best_lies() -> None:
    own = Strength(25, 2)
    assert seek(own, OPPONENT, RULES) == seek(own, OPPONENT, None) == 25
    teacher = compare(own, Strength(seek(own, TEACHER, RULES), 0), RULES)
    assert teacher.share == pytest.approx(BEST_SHARE, abs=0.01)
    surely_higher = compare(own, Strength(seek(own, TEACHER, None), 0), None)
    assert surely_higher.p_stronger == pytest.approx(CERTAIN)


@pytest.mark.parametrize("wrong", [Strength(nan, 1), Strength(1, inf), Strength(1, -1)])
def test_what_is_no_strength_is_refused(wrong: Strength) -> None:
    for pair in ((wrong, Strength(1, 1)), (Strength(1, 1), wrong)):
        with pytest.raises(RatingError, match="must be finite"):
            compare(*pair, RULES)
