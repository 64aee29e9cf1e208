"""The admin: registers agents, schedules tournaments, shows matches with their attempts."""

from matches.admin import (
    accounts,
    agents,
    checkpoints,
    leaderboards,
    lockouts,
    matches,
    nodes,
    schedules,
    tournaments,
)

__all__ = [
    "accounts",
    "agents",
    "checkpoints",
    "leaderboards",
    "lockouts",
    "matches",
    "nodes",
    "schedules",
    "tournaments",
]
