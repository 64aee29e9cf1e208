"""The share of the points and how sure it is."""

import pytest

from pages.records import Record


@pytest.mark.parametrize(
    ("record", "interval"),
    [
        (Record(3, 0, 0), "44 to 100"),
        (Record(0, 0, 3), "0 to 56"),
        (Record(1, 0, 1), "9 to 91"),
        (Record(0, 2, 0), "9 to 91"),
        (Record(600, 0, 400), "57 to 63"),
    ],
)
def test_few_matches_leave_much_open(record: Record, interval: str) -> None:
    assert record.interval == interval
