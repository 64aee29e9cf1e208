"""How times are written: in UTC with a mark that a script can read, and everywhere alike."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.conf import settings

from pages.templatetags.readable import moment, span

AT = datetime(2026, 3, 1, 23, 5, 9, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("minute", "2026-03-01 21:05"),
        ("second", "2026-03-01 21:05:09"),
        ("day", "2026-03-01"),
        ("clock", "21:05:09"),
    ],
)
def test_a_time_is_written_in_utc_for_who_has_no_script(form: str, text: str) -> None:
    assert moment(AT, form) == (
        f'<time datetime="2026-03-01T21:05:09Z" data-form="{form}" '
        f'title="2026-03-01 21:05:09 UTC">{text}</time>'
    )


def test_what_never_happened_is_no_time() -> None:
    assert moment(None) == span(None) == ""
    assert span(720) == "12 min"
    assert moment(AT.astimezone(UTC)) == moment(AT)


def test_templates_write_times_by_our_filter_only() -> None:
    others = [
        f"{path.name}: {found}"
        for path in (settings.BASE_DIR / "templates").rglob("*.html")
        for found in re.findall(
            r"\{\{[^}]*\|\s*(?:date|time|timesince|timeuntil)\b[^}]*\}\}", path.read_text()
        )
    ]
    assert others == []
