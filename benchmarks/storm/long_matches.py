"""Chess between agents that take their time and count how often they decide.

What a killed node had played is counted nowhere else: its agents write a byte for each decision.
"""

from pathlib import Path

KIND = "deliberate"
AGENTS = tuple(f"{KIND}:{number}" for number in range(4))
_POLICY = '''"""Plays any legal action, after a while, and counts its decisions."""

import os
import time

from arena.parameters import Parameter
from arena.policies.base import accepted

COUNT, MOVE_S = {count!r}, {move_s!r}


class DeliberatePolicy:
    def act(self, rows):
        time.sleep(MOVE_S * len(rows))
        # Whole, whatever dies: one write that appends.
        file = os.open(COUNT, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, b"." * len(rows))
        os.close(file)
        return [row.pick(row.state.legal_actions()) for row in rows]


class DeliberateKind:
    id = {kind!r}
    title = "Deliberate"
    is_batched = False
    parameters = (Parameter("number", 0, "tells agents apart", 0),)

    def refusal(self, spec):
        return None

    def build(self, game, parameters):
        accepted(self, game, parameters)
        return DeliberatePolicy()


POLICY = DeliberateKind()
'''


def write_policy(folder: Path, move_s: float) -> Path:
    """Write the plug-in into a folder of plug-ins; return that folder."""
    policies = folder / "plugins" / "policies"
    policies.mkdir(parents=True)
    text = _POLICY.format(count=str(folder / "decisions"), move_s=move_s, kind=KIND)
    (policies / f"{KIND}.py").write_text(text)
    return policies.parent


def count_decisions(folder: Path) -> int:
    """Return how often agents decided in all."""
    count = folder / "decisions"
    return count.stat().st_size if count.exists() else 0
