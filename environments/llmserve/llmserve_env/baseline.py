"""The deterministic baseline: the rules by which the platform's heuristic agent decides.

`make_baseline` is the one place that says which rules these are.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

from llmserve_env.models import ServeAction, ServeObservation, read_sight
from llmserve_env.simulator.agents import decide_by_rules
from llmserve_env.simulator.settings import FIRST
from llmserve_env.simulator.simulator import Server

Policy = Callable[[ServeObservation], ServeAction]


class Rules:
    """Decides each window by rules, from what was seen and what was set before."""

    def __init__(self) -> None:
        """Begin with what the server runs with before the first window."""
        self._last = FIRST

    def __call__(self, observation: ServeObservation) -> ServeAction:
        """Return the settings for the next window."""
        # The rules read nothing of a server but its sight.
        shown = cast(Server, SimpleNamespace(sight=read_sight(observation)))
        self._last = decide_by_rules(shown, self._last)
        return ServeAction.from_settings(self._last)


def make_baseline() -> Policy:
    """Return the deterministic baseline for one episode."""
    return Rules()
