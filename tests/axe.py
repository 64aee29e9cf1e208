"""Accessibility of the page that a browser shows, as axe-core finds it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from selenium import webdriver

SOURCE = Path(__file__).resolve().parent.parent / "node_modules" / "axe-core" / "axe.min.js"
MISSING = "axe-core is missing: `./run status`, or `npm ci` in this folder, fetches it"
GRAVE = {"serious", "critical"}
RUN = """
const [only, done] = arguments;
const options = {resultTypes: ["violations"], ...(only && {runOnly: only})};
axe.run(document, options).then((found) => done(found.violations));
"""
OF_COLOURS = ("color-contrast", "link-in-text-block")
"""The rules whose verdict is another in the dark."""


class Violation(NamedTuple):
    """A rule that the page breaks: how bad that is, and where."""

    rule: str
    impact: str
    places: list[str]

    @property
    def is_grave(self) -> bool:
        """Tell whether it keeps somebody from reading or using the page."""
        return self.impact in GRAVE


def source() -> str:
    """Return axe-core, or skip where it is missing; in CI that is a failure."""
    if not SOURCE.exists():
        assert not os.environ.get("CI"), MISSING
        pytest.skip(MISSING)
    return SOURCE.read_text()


def violations(chrome: webdriver.Chrome, *, only: Sequence[str] = ()) -> list[Violation]:
    """Return what axe-core has against the page as it is shown now; by these rules, or all."""
    results = cast(Any, chrome).execute_async_script(source() + RUN, list(only) or None)
    return [_violation(one) for one in results]


def _violation(result: dict[str, Any]) -> Violation:
    # In words of its own: which colours have which contrast, which role allows no such child.
    places = [f"{node['target']}: {node['failureSummary']}" for node in result["nodes"]]
    return Violation(result["id"], result["impact"], places)
