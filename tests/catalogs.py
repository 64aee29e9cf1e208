"""What the conformance tests of all catalogs share: each entry against each check."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from arena.games.showdown.installed import is_playable

needs_simulator = pytest.mark.skipif(
    not is_playable(), reason="needs Node.js and ./run tools install showdown"
)


def each(names: Sequence[str]) -> pytest.MarkDecorator:
    """Run a test with every name of a catalog."""
    return pytest.mark.parametrize("name", names)


def each_game(names: Sequence[str], argument: str = "name") -> pytest.MarkDecorator:
    """Run a test with every game of the catalog that can be played here.

    Of those that one simulator plays, all but the last one are long.
    """
    of_simulator = [name for name in names if name.startswith("showdown")]
    marks = {name: [needs_simulator, pytest.mark.long] for name in of_simulator}
    marks |= {name: [needs_simulator] for name in of_simulator[-1:]}
    marked = [pytest.param(name, marks=marks.get(name, [])) for name in names]
    return pytest.mark.parametrize(argument, marked)


def each_check(checks: Sequence[Callable[..., None]]) -> pytest.MarkDecorator:
    """Run a test with every check of a family."""
    return pytest.mark.parametrize("check", checks, ids=lambda check: check.__name__)


def assert_named(entry: Any, name: str) -> None:
    """Refuse an entry whose id is not the name of its file, or that has no title."""
    assert entry.id == name
    assert entry.title
