"""How times are written: in UTC with a mark that a script can read, and everywhere alike."""

import re
from datetime import UTC, datetime, timedelta, timezone
from math import inf

import pytest
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User

from arena.catalogs import PLUGINS
from matches.store.formats import format_pace, hide_folders
from pages.templatetags.readable import change, cut_middle, moment, number, span, told_to

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


@pytest.mark.parametrize(
    ("value", "n_places", "text"),
    [(1234567, 0, "1,234,567"), (2**60, 0, f"{2**60:,}"), (2.345, 2, "2.35"), (None, 0, "")],
)
def test_numbers_are_written_with_their_thousands_apart(
    value: float | None, n_places: int, text: str
) -> None:
    assert number(value, n_places) == text


@pytest.mark.parametrize(
    ("matches_per_s", "text"),
    [
        (2, "2.0 matches/s"),
        (0.05, "3 matches/min"),
        (1e-6, "<0.01 matches/min"),
        (0, "0 matches/min"),
    ],
)
def test_a_pace_that_is_hardly_one_is_no_power_of_ten(matches_per_s: float, text: str) -> None:
    assert format_pace(matches_per_s) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(-0.004, "0.00"), (0.0, "0.00"), (0.005001, "+0.01"), (-1234.5, "-1,234.50"), (None, "")],
)
def test_a_change_that_rounds_to_nothing_has_no_sign(value: float | None, text: str) -> None:
    assert change(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.44, "0.4 s"),
        (40, "40 s"),
        (119, "119 s"),
        (154.2, "2.6 min"),
        (720, "12 min"),
        (12_600, "3.5 h"),
        (172_800, "2 d"),
        (1e9, "32 years"),
        (1e300, ">1,000,000,000 years"),
        (inf, ">1,000,000,000 years"),
    ],
)
def test_a_length_of_time_is_no_more_exact_than_it_is_read(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_only_staff_reads_where_files_lie() -> None:
    text = "a /srv/x/tool.js lacks './run x', http://a.b/c/d and 1/2: '/srv/y' and /run"
    assert told_to(text, User(is_staff=True)) == text
    hidden = "a …/tool.js lacks './run x', http://a.b/c/d and 1/2: '…/y' and /run"
    assert told_to(text, User()) == hidden
    assert told_to(text, AnonymousUser()) == hidden


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("PLUGINS names /srv/a/one:/srv/b/two, which", "PLUGINS names …/one:…/two, which"),
        ("cannot open:/srv/x/y.so", "cannot open:…/y.so"),
        ("file:///srv/x/y.py or /srv//x/y", "file:…/y.py or …/y"),
        ("http://[::1]:80/c/d, ws://a/b/c", "http://[::1]:80/c/d, ws://a/b/c"),
        ("/srv/my plug ins/games/x.py: no", "…/x.py: no"),
        ("/srv/My Games/x.py or /opt/a b/c d.py", "…/x.py or …/c d.py"),
    ],
)
def test_each_of_several_folders_is_hidden(text: str, hidden: str) -> None:
    assert told_to(text, AnonymousUser()) == hidden


@pytest.mark.parametrize(
    "folder", ["/srv/my [old] plug-ins", "/srv/a, b (2)/c", "/srv/one two three four five/six"]
)
def test_a_folder_of_plugins_is_hidden_whatever_its_name_holds(
    monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.setenv(PLUGINS, folder)
    text = f"no {folder}/games/x (1).py, as '{folder}/y.py' in {folder}"
    name = folder.rpartition("/")[2]
    assert told_to(text, AnonymousUser()) == f"no …/x (1).py, as '…/y.py' in …/{name}"
    assert folder in hide_folders(text, sent=folder)


def test_an_address_that_holds_the_name_of_a_folder_is_no_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(PLUGINS, "/srv")
    text = "see https://host/srv/x"
    assert hide_folders(f"{text}, no /srv/a.py") == f"{text}, no \N{HORIZONTAL ELLIPSIS}/a.py"


def test_templates_write_times_and_numbers_by_our_filters_only() -> None:
    # stringformat makes ids and values of forms, and no number that is read.
    forbidden = "date|time|timesince|timeuntil|floatformat|intcomma|naturaltime|filesizeformat"
    others = [
        f"{path.name}: {tag}"
        for path in (settings.BASE_DIR / "templates").rglob("*.html")
        for tag in re.findall(rf"{{[{{%][^}}]*\|\s*(?:{forbidden})\b[^}}]*}}", path.read_text())
    ]
    assert others == []


def test_a_long_name_keeps_the_end_in_which_those_of_a_run_differ() -> None:
    assert cut_middle("selfplay@4096") == "selfplay@4096"
    cut = [cut_middle(f"connect-four-first-run@{step}") for step in (1_000, 64_000)]
    assert cut == ["connect…un@1000", "connect…n@64000"]


def test_a_path_that_the_reader_wrote_is_left_as_it_was_written() -> None:
    message = hide_folders(
        "/mine/a.bin is no agent: /srv/x/y.py", sent="{'agents': ['/mine/a.bin']}"
    )
    assert message == "/mine/a.bin is no agent: …/y.py"
