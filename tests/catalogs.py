"""What the conformance tests of all catalogs share: each entry against each check."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest


def each(names: Sequence[str]) -> pytest.MarkDecorator:
    """Run a test with every name of a catalog."""
    return pytest.mark.parametrize("name", names)


def each_check(checks: Sequence[Callable[..., None]]) -> pytest.MarkDecorator:
    """Run a test with every check of a family."""
    return pytest.mark.parametrize("check", checks, ids=lambda check: check.__name__)


def assert_named(entry: Any, name: str) -> None:
    """Refuse an entry whose id is not the name of its file, or that has no title."""
    assert entry.id == name
    assert entry.title
