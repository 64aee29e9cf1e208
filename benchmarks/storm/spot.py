"""Spot nodes: matches whose agents take their time and count it, and what the books say of nodes.

What an interrupted match had cost stands in no outcome: its agents write a byte for each slice of
time that they have spent. How long a decision takes follows from its action, so that the outcomes
say how many slices were of use.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.storm import oracle

KIND = "unhurried"
AGENTS = tuple(f"{KIND}:{number}" for number in range(8))
SLICE_S = 0.02
# Of a match, two decisions: 0.2 to 5 s.
SHORTEST_S, LONGEST_S, N_LEVELS = 0.1, 2.5, 100
PRICE, ON_DEMAND_PRICE = 0.36, 1.2
SLOTS, N_NODES = 2, 8
NODES = tuple(f"node-{number + 1}" for number in range(N_NODES))
NOTICE_S = 2.0
# Of the notice, what matches in play may use: the rest is for reports and the end of processes.
DRAIN_S = 1.2
_POLICY = '''"""Takes its time, by the action that it chooses, and counts it."""

import os
import time

from arena.parameters import Parameter
from arena.policies.base import accepted

COUNT, SLICE_S = {count!r}, {slice_s!r}
SLICES = {slices!r}


class UnhurriedPolicy:
    def act(self, rows):
        return [self.decide(row) for row in rows]

    def decide(self, row):
        action = row.pick(row.state.legal_actions())
        if not SLICE_S:
            return action
        file = os.open(COUNT, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            for _ in range(SLICES[action]):
                time.sleep(SLICE_S)
                # Whole, whatever dies: one write that appends.
                os.write(file, b".")
        finally:
            os.close(file)
        return action


class UnhurriedKind:
    id = {kind!r}
    title = "Unhurried"
    is_batched = False
    parameters = (Parameter("number", 0, "tells agents apart", 0),)

    def refusal(self, spec):
        return None

    def build(self, game, parameters):
        accepted(self, game, parameters)
        return UnhurriedPolicy()


POLICY = UnhurriedKind()
'''
BOOKED = """
SELECT machine_class, SUM(node_s), SUM(priced_s), SUM(money), SUM(thrown_s)
FROM matches_nodecost GROUP BY machine_class
"""
LIVED = """
SELECT COUNT(*), SUM(busy_s), SUM(busy_s * price) / 3600,
       SUM((julianday(heard_at) - julianday(began_at)) * 86400.0)
FROM matches_noderun
"""
PLAYED = "SELECT SUM(played_s) FROM matches_tournament"
HOUR_S = 3_600
# Of sums of floats; days of the database's clock have milliseconds.
NEARLY = 0.01


def count_slices(action: int) -> int:
    """Return how many slices the decision for an action takes: lengths are even in logarithm."""
    length_s = SHORTEST_S * (LONGEST_S / SHORTEST_S) ** (action / (N_LEVELS - 1))
    slices: int = round(length_s / SLICE_S)
    return slices


def write_policy(folder: Path, *, slice_s: float) -> Path:
    """Write the plug-in into a folder of plug-ins; return that folder."""
    policies = folder / "plugins" / "policies"
    policies.mkdir(parents=True)
    text = _POLICY.format(
        count=str(folder / "slices"),
        slice_s=slice_s,
        slices=[count_slices(action) for action in range(N_LEVELS)],
        kind=KIND,
    )
    (policies / f"{KIND}.py").write_text(text)
    return policies.parent


def make_settings(folder: Path, *, slice_s: float) -> dict[str, str]:
    """Return the settings of a stack of spot nodes."""
    return {
        "EVALSITE_PLUGINS": str(write_policy(folder, slice_s=slice_s)),
        "EVALSITE_CLASS": "spot",
        "EVALSITE_PRICE": f"{PRICE}",
        "EVALSITE_PRICE_ON_DEMAND": f"{ON_DEMAND_PRICE}",
        "EVALSITE_NOTICE_S": f"{DRAIN_S}",
        "EVALSITE_ACTIONS_S": "1",
    }


def count_spent(folder: Path) -> int:
    """Return how many slices agents have spent in all."""
    file = folder / "slices"
    return file.stat().st_size if file.exists() else 0


def count_useful(outcomes: Iterable[oracle.Row]) -> int:
    """Return how many slices the actions of the outcomes take."""
    return sum(count_slices(int(action)) for row in outcomes for action in str(row[-1]).split())


def read_books(url: str) -> dict[str, Any]:
    """Return node-hours and money as the books have them, and whether they add up."""
    with oracle.connect(url) as database:
        classes = database.execute(BOOKED).fetchall()
        n_runs, busy_s, busy_money, lived_s = database.execute(LIVED).fetchone()
        (played_s,) = database.execute(PLAYED).fetchone()
    node_s, priced_s, money, thrown_s = (
        sum(column) for column in list(zip(*classes, strict=True))[1:]
    )
    parts = ((node_s, busy_s), (priced_s, busy_s), (money, busy_money))
    adds_up = all(abs(booked - lived) <= NEARLY for booked, lived in parts) and node_s <= lived_s
    return {
        "node_hours": round(lived_s / HOUR_S, 4),
        "node_hours_with_orders": round(node_s / HOUR_S, 4),
        "node_hours_idle": round((lived_s - busy_s) / HOUR_S, 4),
        "node_hours_by_class": {row[0]: round(row[1] / HOUR_S, 4) for row in classes},
        "money": round(money, 4),
        "saved": round(ON_DEMAND_PRICE * priced_s / HOUR_S - money, 4),
        "books_add_up": adds_up,
        "booked_thrown_away_share": round(thrown_s / (played_s + thrown_s), 4),
        "runs": n_runs,
    }
