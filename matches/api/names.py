"""Agents as other rows show them, and as bodies name them."""

from collections.abc import Sequence

from rest_framework import serializers

from matches.api.base import MAX_ID
from matches.errors import BadInputError
from matches.models import Agent

SHOWN_MISSING = 20


class AgentNameSerializer(serializers.ModelSerializer[Agent]):
    """An agent by id and name."""

    class Meta:
        """The least."""

        model = Agent
        fields: tuple[str, ...] = ("id", "name")


def agents_by_id(ids: Sequence[int]) -> list[Agent]:
    """Return the agents in the order given. Raises BadInputError naming those that do not exist."""
    found = Agent.objects.in_bulk([number for number in ids if number <= MAX_ID])
    missing = [number for number in ids if number not in found]
    if missing:
        named = ", ".join(map(str, missing[:SHOWN_MISSING]))
        more = f" and {n} more" if (n := len(missing) - SHOWN_MISSING) > 0 else ""
        raise BadInputError("agents", f"there is no agent with id {named}{more}")
    return [found[number] for number in ids]
