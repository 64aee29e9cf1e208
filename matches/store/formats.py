"""How numbers and lengths of time are written: by pages, the admin, explanations and pushes alike.

Moments are written by pages/templatetags/readable.py, as a script puts them in the viewer's zone.
"""

import re
from datetime import datetime
from math import floor, log10
from pathlib import Path

from django.conf import settings

from arena.catalogs import list_plugin_folders

_UNITS = ((31_557_600, "years"), (86_400, "d"), (3_600, "h"), (60, "min"))
_LONGEST_S = 1e9 * _UNITS[0][0]
"""From here on a length of time, which may be infinite, is a slip of what measured it."""
_IN_SPANS_FROM_S = 120
_FEW, _MANY = 10, 100
"""Below the one a length of time has a decimal; from the other on no number of a line has one."""


_SLOWEST = 0.01
"""Matches a minute of which a pace is no number any more."""
_HIDDEN = "\N{HORIZONTAL ELLIPSIS}"
_WORD, _STEM = r"[^\s/:;,'\"()]+", r"[^\s/:;,'\"().]+"
# An absolute path of two parts or more, also behind the colon of a list; `http://` begins none.
# A folder may have spaces: up to four words, of which only the last has a dot, as a file's has.
_FOLDERS = re.compile(rf"(?<![\w./])(?!(?<=:)//[^/])(?:/+(?:{_STEM} ){{0,3}}{_WORD})+(?=/+{_WORD})")


def format_number(value: float, n_places: int = 0) -> str:
    """Return a number with its thousands apart and so many decimals; nothing has no sign."""
    # An integer may be longer than a float keeps.
    if isinstance(value, int) and not n_places:
        return f"{value:,}"
    return f"{value:z,.{n_places}f}"


def format_signed(value: float, n_places: int = 2) -> str:
    """Return a number with its sign; one that rounds to nothing has none."""
    rounded = round(value, n_places)
    return f"{rounded:+,.{n_places}f}" if rounded else f"{0:.{n_places}f}"


def format_short(value: float) -> str:
    """Return a measured number: one decimal while it says something."""
    return format_number(value, 0 if value >= _MANY or value == int(value) else 1)


def format_percent(
    probability: float, *, is_column: bool = False, is_estimate: bool = False
) -> str:
    """Return a probability as people read it, never rounded to 0 or 100 %.

    is_column: always with one decimal, so that numbers stand one below the other; there nothing is
    certain, as what is shown was computed by integration. is_estimate: nor is it in this text.
    """
    least = 0.001 if is_column else 0.0005  # in text half of the last place
    space = " " if is_column else "\N{NO-BREAK SPACE}"
    if is_column or is_estimate or probability not in (0, 1):
        if probability < least:
            return f"<0.1{space}%"
        if probability > 1 - least:
            return f">99.9{space}%"
    number = f"{100 * probability:.1f}" if is_column else f"{round(100 * probability, 1):g}"
    return f"{number}{space}%"


def format_score(value: float, doubt: float | None) -> str:
    """Return a score with as many decimals as its doubt, half an interval, has two digits for."""
    if not doubt:
        return f"{value:,.6g}"
    return format_number(float(value), min(6, max(0, 1 - floor(log10(doubt)))))


def format_count(n: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun: 1 order, 2 orders. several: the plural that takes no s."""
    return f"{n:,} {singular}" if n == 1 else f"{n:,} {plural or f'{singular}s'}"


def format_pace(matches_per_s: float) -> str:
    """Return how fast matches end: a second, or a minute where it is less than one a second."""
    if matches_per_s >= 1:
        return f"{matches_per_s:,.1f} matches/s"
    if 0 < 60 * matches_per_s < _SLOWEST:
        return f"<{_SLOWEST} matches/min"
    return f"{60 * matches_per_s:.2g} matches/min"


def format_span(seconds: float) -> str:
    """Return a length of time in words: 0.4 s, 40 s, 2.6 min, 12 min, 3.5 h, 2 d, 158 years."""
    if seconds >= _LONGEST_S:
        return f">{_LONGEST_S / _UNITS[0][0]:,.0f} years"
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= 2 * size), (1, "s"))
    number = seconds / size
    return f"{round(number, 1):g} {unit}" if number < _FEW else f"{number:,.0f} {unit}"


def format_brief(seconds: float) -> str:
    """Return a length of time that may be short, with two figures: 40 µs, 12 ms, 1.3 s."""
    if seconds >= _IN_SPANS_FROM_S:
        return format_span(seconds)
    # Rounded first, so that 0.996 s is 1 s.
    rounded = float(f"{seconds:.2g}")
    for size, unit in ((1, "s"), (1e-3, "ms")):
        if rounded >= size:
            return f"{rounded / size:.3g} {unit}"
    return f"{max(1, round(rounded * 1e6))} µs"


def age_s(since: datetime | None, *, now: datetime) -> float | None:
    """Return how long ago that was, in seconds; None when nobody knows."""
    return None if since is None else max(0.0, (now - since).total_seconds())


def format_ago(since: datetime | None, *, now: datetime) -> str:
    """Return ` 40 s ago`, or nothing when nobody knows when."""
    age = age_s(since, now=now)
    return "" if age is None else f" {format_span(age)} ago"


def format_since(since: datetime | None, *, now: datetime) -> str:
    """Return ` for 40 s`, or nothing when nobody knows since when."""
    age = age_s(since, now=now)
    return "" if age is None else f" for {format_span(age)}"


def hide_folders(text: str, *, sent: str = "") -> str:
    """Return a text in which paths of this machine have their last part alone.

    What a game or plug-in lacks is for every reader to know, and where it lies for who operates.
    sent: what the reader wrote; a path in it is left as it was written.
    """
    for folder in _list_own_folders():
        if str(folder) not in sent:
            # Their names may hold what else would end a path: commas, brackets, many spaces.
            # Behind a letter, a dot or a slash the text is part of another path, or of an address.
            own = rf"(?<![\w./]){re.escape(str(folder))}"
            text = re.sub(f"{own}/", "/_/", text)
            name = folder.name.replace("\\", r"\\")
            text = re.sub(rf"{own}(?!\w)", f"/_/{name}", text)
    return _FOLDERS.sub(lambda path: path[0] if path[0] in sent else _HIDDEN, text)


def _list_own_folders() -> list[Path]:
    """Return the folders of plug-ins, of data and of the code, the innermost first."""
    folders = (*list_plugin_folders(""), Path(settings.VAR), Path(settings.BASE_DIR))
    absolute = (folder for folder in folders if folder.is_absolute() and folder.name)
    return sorted(absolute, key=lambda folder: len(folder.parts), reverse=True)
