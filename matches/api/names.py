"""Agents as other rows show them."""

from rest_framework import serializers

from matches.models import Agent


class AgentNameSerializer(serializers.ModelSerializer[Agent]):
    """An agent by id and name."""

    class Meta:
        """The least."""

        model = Agent
        fields: tuple[str, ...] = ("id", "name")
