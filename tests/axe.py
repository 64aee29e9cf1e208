"""Accessibility of the page that a browser shows, as axe-core finds it."""

import os
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from selenium import webdriver

SOURCE = Path(__file__).resolve().parent.parent / "node_modules" / "axe-core" / "axe.min.js"
MISSING = "axe-core is missing: `./run status`, or `npm ci` in this folder, fetches it"
GRAVE = {"serious", "critical"}
RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then((found) => done(found.violations));
"""


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


def violations(chrome: webdriver.Chrome) -> list[Violation]:
    """Return what axe-core has against the page as it is shown now."""
    found = cast(Any, chrome).execute_async_script(source() + RUN)
    return [_violation(one) for one in found]


def _violation(found: dict[str, Any]) -> Violation:
    # In words of its own: which colours have which contrast, which role allows no such child.
    places = [f"{node['target']}: {node['failureSummary']}" for node in found["nodes"]]
    return Violation(found["id"], found["impact"], places)
