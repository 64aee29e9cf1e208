"""The roofline: what more bytes, more requests and more drafts cost, and where sides change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.games.llmserve.hardware import CHUNK, Deployment, deploy, expect_tokens
from arena.games.llmserve.settings import CHOICES, Settings, choose

FP16, INT8, INT4 = range(3)


def deployed(tier: int = INT8, *, depth: int = 0, is_split: bool = False) -> Deployment:
    return deploy(Settings(64, 0.5, depth, tier, is_split, False))


def pace_s(n: float, *, tier: int = INT8, depth: int = 0, acceptance: float = 0.7) -> float:
    """Return the seconds between two tokens of each of n requests with 400 tokens kept."""
    iteration_s = deployed(tier, depth=depth).iteration_s(n, 400 * n)
    return iteration_s / expect_tokens(acceptance, depth)


def test_an_iteration_takes_what_the_data_sheets_say() -> None:
    # 69 GB at 70 % of 90 % of four times 1.555 TB/s, and 4 ms.
    assert deployed().iteration_s(0, 0) == pytest.approx(69e9 / 3.9186e12 + 0.004, rel=1e-6)
    # 512 tokens of twice 69e9 operations, 1.6 times as fast as FP16.
    assert deployed().iteration_s(0, 0, CHUNK) == pytest.approx(
        512 * 138e9 / (1.6 * 561.6e12) + 0.004, rel=1e-6
    )


@pytest.mark.parametrize(("tier", "free_gb"), [(FP16, 16.0), (INT8, 85.0), (INT4, 117.43)])
def test_the_memory_that_weights_leave_is_what_the_cache_can_get(tier: int, free_gb: float) -> None:
    assert deployed(tier).pool * 327_680 == pytest.approx(0.5 * free_gb * 1e9)
    taken = deployed(tier).memory * 160e9
    assert taken == pytest.approx(160e9 - 0.5 * free_gb * 1e9)


def test_weights_that_do_not_fit_twice_are_not_split() -> None:
    assert deployed(FP16, is_split=True) == deployed(FP16)
    assert deployed(INT8, is_split=True).settings.is_split


def test_int4_is_fastest_for_few_and_int8_for_many_and_for_prompts() -> None:
    assert pace_s(4, tier=INT4) < pace_s(4, tier=INT8) < pace_s(4, tier=FP16)
    assert pace_s(256, tier=INT8) < pace_s(256, tier=INT4)
    assert deployed(INT8).token_s < deployed(FP16).token_s < deployed(INT4).token_s


def test_speculation_pays_for_few_requests_and_costs_with_many() -> None:
    assert pace_s(8, depth=3) < 0.6 * pace_s(8)
    assert pace_s(256, depth=3) > pace_s(256)
    assert pace_s(8, depth=3, acceptance=0.05) > pace_s(8)


def test_a_chunk_of_prompts_makes_what_is_decoded_late_unless_it_is_read_elsewhere() -> None:
    alone, apart = deployed(), deployed(is_split=True)
    assert alone.iteration_s(16, 6_400) < 0.030
    assert alone.iteration_s(16, 6_400, CHUNK) > 0.080
    assert apart.token_s == pytest.approx(alone.token_s * 2 * 0.90 / 0.95)


def test_loading_other_weights_takes_time_and_other_settings_do_not() -> None:
    before = deployed()
    assert deployed(depth=4).change_s(before) == 0.0
    assert deployed(INT4).change_s(before) == pytest.approx(0.53 * 69e9 / 4 / 25e9 + 0.3)
    assert deployed(is_split=True).change_s(before) == pytest.approx(69e9 / 2 / 25e9 + 0.3)


@given(st.floats(0, 512), st.floats(0, 1e6), st.floats(0, 512), st.integers(0, 2))
def test_more_to_do_never_takes_less(n: float, context: float, prompt: float, tier: int) -> None:
    one = deployed(tier)
    base_s = one.iteration_s(n, context, prompt)
    assert base_s <= one.iteration_s(n + 1, context, prompt)
    assert base_s <= one.iteration_s(n, context + 1_000, prompt)
    assert base_s <= one.iteration_s(n, context, prompt + 1)


@given(st.floats(0.05, 0.92), st.integers(0, 7))
def test_a_deeper_draft_yields_more_and_at_most_one_more(acceptance: float, depth: int) -> None:
    less, more = (expect_tokens(acceptance, d) for d in (depth, depth + 1))
    assert less < more <= less + acceptance + 1e-12
    assert more == pytest.approx((1 - acceptance ** (depth + 2)) / (1 - acceptance))


def test_choices_cover_the_ranges_and_are_twelve_at_most() -> None:
    assert [len(choices) for choices in CHOICES] == [12, 10, 9, 3, 2, 2]
    assert choose([0, 0, 0, 0, 0, 0]) == Settings(1, 0.1, 0, FP16, False, False)
    assert choose([11, 9, 8, 2, 1, 1]) == Settings(512, 1.0, 8, INT4, True, True)
