"""Sets a server of LLMServe to one of two settings, by the length of its queue."""

from collections.abc import Mapping
from typing import Final

from arena.games.llmserve.agents import Decide, Switch
from arena.games.llmserve.deciding import SettingsKind, take_settings
from arena.parameters import Parameter, Value

ID: Final = "llmserve_switch"
_QUEUE = Parameter("queue_depth", 10.0, "requests that wait, from which on it is crowded", 0.5, 1e6)
_CALM = Parameter("calm", "32/0.6/4/INT8/together/on", "settings with a short queue")
_CROWDED = Parameter("crowded", "64/0.6/1/INT8/together/on", "settings with a long one")


def _make_rule(values: Mapping[str, Value]) -> Decide:
    calm, crowded = (take_settings(ID, values, parameter.name) for parameter in (_CALM, _CROWDED))
    return Switch(calm, crowded, float(values[_QUEUE.name])).decide


POLICY = SettingsKind(ID, "Two settings (LLMServe)", _make_rule, (_QUEUE, _CALM, _CROWDED))
