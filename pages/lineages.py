"""Where a checkpoint comes from: its ancestors and children, with the agents that play them."""

from typing import NamedTuple

from django.db import connection
from django.db.models import Min

from matches.models import Agent, Checkpoint

MAX_ANCESTORS = 12
MAX_CHILDREN = 12
MAX_OLDER = 5

# One recursive query: a step at a time would be a query per ancestor. The depth is bounded in it.
_ANCESTORS = """
WITH RECURSIVE line (sha256, parent_id, depth) AS (
    SELECT sha256, parent_id, 0 FROM matches_checkpoint WHERE sha256 = %s
    UNION ALL
    SELECT parent.sha256, parent.parent_id, depth + 1
    FROM matches_checkpoint parent JOIN line ON parent.sha256 = line.parent_id
    WHERE depth < %s
)
SELECT sha256 FROM line WHERE depth > 0 ORDER BY depth
"""


class Kin(NamedTuple):
    """A checkpoint, and an agent of the game that plays it, if there is one."""

    checkpoint: Checkpoint
    agent: Agent | None


class Lineage(NamedTuple):
    """The ancestors, the parent first, and the children."""

    ancestors: list[Kin]
    children: list[Kin]


def trace_lineage(agent: Agent) -> Lineage | None:
    """Return the kin of the agent's checkpoint, if it has one: five queries, however many kin."""
    checkpoint = agent.checkpoint
    if checkpoint is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(_ANCESTORS, [checkpoint.sha256, MAX_ANCESTORS])
        ancestors = [sha256 for (sha256,) in cursor.fetchall()]
    rows = Checkpoint.objects.in_bulk(ancestors, field_name="sha256")
    children = list(checkpoint.children.order_by("step", "pk")[:MAX_CHILDREN])
    hashes = [*ancestors, *(child.sha256 for child in children)]
    # Several agents may play one checkpoint: the first that was registered stands for it.
    of_game = Agent.objects.filter(checkpoint__sha256__in=hashes, game=agent.game).order_by()
    first = dict(of_game.values_list("checkpoint_id").annotate(Min("pk")))
    agents = Agent.objects.in_bulk(first.values())
    players = {sha256: agents[pk] for sha256, pk in first.items()}
    return Lineage(
        ancestors=[Kin(rows[sha256], players.get(sha256)) for sha256 in ancestors],
        children=[Kin(child, players.get(child.sha256)) for child in children],
    )


def list_older_versions(agent: Agent) -> list[Agent]:
    """Return the versions of the agent's code before this one, the newest first."""
    versions: list[Agent] = []
    older = agent.older.first()
    while older is not None and len(versions) < MAX_OLDER:
        versions.append(older)
        older = older.older.first()
    return versions
