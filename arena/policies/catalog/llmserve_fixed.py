"""Sets a server of LLMServe to the same in every window."""

from collections.abc import Mapping
from typing import Final

from arena.games.llmserve.agents import Decide, Fixed
from arena.games.llmserve.deciding import SettingsKind, take_settings
from arena.parameters import Parameter, Value

ID: Final = "llmserve_fixed"
_SETTINGS = Parameter(
    "settings", "32/0.6/3/INT8/together/on", "batch cap/KV/depth/tier/together or apart/on or off"
)


def _make_rule(values: Mapping[str, Value]) -> Decide:
    return Fixed(take_settings(ID, values, _SETTINGS.name)).decide


POLICY = SettingsKind(ID, "Always the same (LLMServe)", _make_rule, (_SETTINGS,))
