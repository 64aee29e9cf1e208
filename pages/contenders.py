"""Agents as tables and brackets name them: small enough to be kept for all who look."""

from collections.abc import Sequence
from typing import NamedTuple

from matches.models import Agent
from matches.store.bulk import among


class Contender(NamedTuple):
    """An agent of a bracket or table."""

    pk: int
    name: str

    def __str__(self) -> str:
        return self.name


def read_contenders(agents: Sequence[int]) -> dict[int, Contender]:
    """Return the agents by id: one query."""
    rows = Agent.objects.filter(pk__in=among(agents))
    return {agent.pk: Contender(agent.pk, str(agent)) for agent in rows}
