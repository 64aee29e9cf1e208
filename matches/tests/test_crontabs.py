"""Crontabs: when something was and will be due, as beat has it."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from celery.schedules import crontab
from hypothesis import given
from hypothesis import strategies as st

from matches.campaigns import crontabs
from matches.errors import BadInputError

NOW = datetime(2026, 3, 14, 12, 30, 20, tzinfo=UTC)


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "timezone", "last", "following"),
    [
        ("30 4 * * *", "UTC", "2026-03-14 04:30", "2026-03-15 04:30"),
        ("*/15 * * * *", "UTC", "2026-03-14 12:30", "2026-03-14 12:45"),
        ("0 9 * * mon-fri", "Europe/Berlin", "2026-03-13 08:00", "2026-03-16 08:00"),
        ("0 0 29 2 *", "UTC", "2024-02-29 00:00", "2028-02-29 00:00"),
        ("0 12 13 * 5", "UTC", "2026-03-13 12:00", "2026-11-13 12:00"),
        # On 29 March clocks in Berlin jump from 2 to 3: that day has no half past two.
        ("30 2 29,30 3 *", "Europe/Berlin", "2025-03-29 01:30", "2026-03-30 00:30"),
    ],
)
def test_the_times_before_and_after(text: str, timezone: str, last: str, following: str) -> None:
    schedule = crontabs.parse_crontab(text, timezone, now=NOW)
    assert (schedule.last(now=NOW), schedule.next(now=NOW)) == (_at(last), _at(following))


def test_a_time_that_is_now_is_the_last_one_and_not_the_next() -> None:
    now = _at("2026-03-14 12:30")
    schedule = crontabs.parse_crontab("30 * * * *", "UTC", now=now)
    assert (schedule.last(now=now), schedule.next(now=now)) == (now, _at("2026-03-14 13:30"))


def test_celery_has_the_same_next_time() -> None:
    rng = Random(3)
    for _ in range(50):
        parts = [rng.choice(["*", "*/7", "5", "1-3"]) for _ in range(3)]
        text = " ".join([*parts, rng.choice(["*", "2-11"]), rng.choice(["*", "1,3", "sat"])])
        now = NOW + timedelta(minutes=rng.randrange(500_000))
        names = dict(zip(crontabs.PARTS, text.split(), strict=True))
        theirs = crontab(**names, nowfun=lambda now=now: now)
        expected = now + theirs.remaining_estimate(now)
        assert crontabs.parse_crontab(text, "UTC", now=now).next(now=now) == expected, text


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("0 0 31 2 *", "is never due"),
        ("61 * * * *", "is none"),
        ("a b c d e", "is none"),
        ("*/0 * * * *", "is none"),
        ("0 4 * *", "must have five parts"),
        ("@daily", "must have five parts"),
    ],
)
def test_what_is_no_crontab_is_refused_with_an_example(text: str, refusal: str) -> None:
    with pytest.raises(BadInputError, match=refusal) as caught:
        crontabs.parse_crontab(text, "UTC", now=NOW)
    assert caught.value.field == "crontab"


@pytest.mark.parametrize("timezone", ["", "Mars/Base", "../etc", "x" * 300, "Europe"])
def test_a_time_zone_that_is_not_known_is_refused(timezone: str) -> None:
    with pytest.raises(BadInputError, match="Europe/Berlin") as caught:
        crontabs.parse_crontab("0 4 * * *", timezone, now=NOW)
    assert caught.value.field == "timezone"


@given(st.text(alphabet="0123456789*/,-LW#?adfmnostuwe ", max_size=30))
def test_whatever_is_written_is_read_or_refused(text: str) -> None:
    try:
        schedule = crontabs.parse_crontab(f"{text} * *", "UTC", now=NOW)
    except BadInputError:
        return
    following = schedule.next(now=NOW)
    assert following is not None
    assert following > NOW
