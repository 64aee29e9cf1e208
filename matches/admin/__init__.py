"""The admin, an operator's tool: shows everything, asks before every act, edits no result."""

from matches.admin import (
    accounts,
    agents,
    audit,
    beat,
    campaigns,
    checkpoints,
    leaderboards,
    lockouts,
    matches,
    nodes,
    schedules,
    tokens,
    tournaments,
)

__all__ = [
    "accounts",
    "agents",
    "audit",
    "beat",
    "campaigns",
    "checkpoints",
    "leaderboards",
    "lockouts",
    "matches",
    "nodes",
    "schedules",
    "tokens",
    "tournaments",
]
