"""Runs checks one by one in a process of their own and writes what becomes of each as it ends.

Whoever started the process reads these lines and stops it when a check takes too long, so that
code that hangs, prints, exits or crashes is named and never waited for.
"""

import json
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import fdopen
from typing import IO

from arena import catalogs
from arena.conformance.base import NamedCheck, run_check

LOADS = "can be loaded"


def report_checks(
    list_checks: Callable[[], list[NamedCheck]], lines: IO[str], *, n_skipped: int
) -> None:
    """Write {"begins": check}, then {"failure": why or "", "note": ...} as JSON, line by line.

    The first check is the loading; n_skipped: how many of the others are not run again. It tells
    how many there are: a process that ends before was ended by a check.
    """
    listed: list[NamedCheck] = []

    _write_event(lines, {"begins": LOADS})
    failure = run_check(lambda: listed.extend(list_checks()))
    _write_event(lines, {"failure": failure, "note": "", "n_checks": len(listed)})
    for name, check in listed[n_skipped:]:
        notes: list[str] = []
        _write_event(lines, {"begins": name})
        failure = run_check(partial(_note_answer, check, notes))
        _write_event(lines, {"failure": failure, "note": "".join(notes)})


def main(
    families: Mapping[str, Callable[[str, Sequence[str]], list[NamedCheck]]],
    arguments: Sequence[str] | None = None,
) -> None:
    """Report the checks of one entry to the open file of that number."""
    parser = ArgumentParser(description="What `evalsite plugin check` starts.")
    parser.add_argument("family", choices=tuple(families))
    parser.add_argument("name")
    parser.add_argument("--folder", required=True, help="of its family: its neighbours may hang")
    parser.add_argument("--game", action="append", default=[])
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--lines", type=int, required=True, metavar="FILE_NUMBER")
    options = parser.parse_args(arguments)
    catalogs.load_only(options.folder, options.name)
    with fdopen(options.lines, "w") as lines:
        list_checks = partial(families[options.family], options.name, options.game)
        report_checks(list_checks, lines, n_skipped=options.skip)


def _note_answer(check: Callable[[], str | None], notes: list[str]) -> None:
    notes.append(check() or "")


def _write_event(lines: IO[str], event: dict[str, object]) -> None:
    lines.write(f"{json.dumps(event)}\n")
    lines.flush()
