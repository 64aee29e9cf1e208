"""Agents in quarantine, whose matches wait."""

from django.db.models import QuerySet

from matches.models import Agent

MAX_NAMED = 3
"""Agents that are named; of more it is said that there are more."""


def list_held(agents: QuerySet[Agent]) -> list[str]:
    """Return which of the agents must be released before their matches are sent."""
    held = list(agents.filter(quarantined_at__isnull=False).order_by("pk")[: MAX_NAMED + 1])
    found = [
        f"agent {agent.name} to be released: in quarantine, {agent.quarantine_reason}"
        for agent in held[:MAX_NAMED]
    ]
    return found + (["more agents to be released"] if len(held) > MAX_NAMED else [])
