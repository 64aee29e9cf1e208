"""The admin, an operator's tool: shows everything, asks before every act, edits no result."""

# Django imports this package alone: each module registers its pages when it is imported.
from matches.admin import (  # noqa: F401
    agents,
    audit,
    campaigns,
    checkpoints,
    imports,
    leaderboards,
    matches,
    nodes,
    schedules,
    third_party,
    tokens,
    tournaments,
)
