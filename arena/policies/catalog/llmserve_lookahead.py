"""Sets a server of LLMServe with the requests that are yet to come before its eyes: it cheats."""

from collections.abc import Mapping
from typing import Final

from arena.games.llmserve.agents import Decide, Lookahead
from arena.games.llmserve.deciding import SettingsKind
from arena.parameters import Parameter, Value

ID: Final = "llmserve_lookahead"
_WINDOWS = Parameter("windows", 4, "that are played ahead for each setting that is tried", 1, 20)


def _make_rule(values: Mapping[str, Value]) -> Decide:
    return Lookahead(int(values[_WINDOWS.name])).decide


POLICY = SettingsKind(
    ID, "Knows what comes (LLMServe), a bound", _make_rule, (_WINDOWS,), version=2
)
