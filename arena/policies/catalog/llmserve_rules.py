"""Sets a server of LLMServe by rules of thumb."""

from arena.games.llmserve.agents import decide_by_rules
from arena.games.llmserve.deciding import SettingsKind

POLICY = SettingsKind("llmserve_rules", "Rules of thumb (LLMServe)", lambda _: decide_by_rules)
