"""Where a checkpoint comes from: its ancestors and children, with the agents that play them."""

from typing import NamedTuple

from django.db import connection
from django.db.models import Min

from matches.models import Agent, Checkpoint

MAX_ANCESTORS = 12
MAX_CHILDREN = 12

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


def of_checkpoint(checkpoint: Checkpoint, *, game: str) -> Lineage:
    """Return the kin of a checkpoint: five queries, however long the line is."""
    with connection.cursor() as cursor:
        cursor.execute(_ANCESTORS, [checkpoint.sha256, MAX_ANCESTORS])
        line = [sha256 for (sha256,) in cursor.fetchall()]
    above = Checkpoint.objects.in_bulk(line, field_name="sha256")
    children = list(checkpoint.children.order_by("step", "pk")[:MAX_CHILDREN])
    hashes = [*line, *(child.sha256 for child in children)]
    playing = _playing(hashes, game)
    return Lineage(
        ancestors=[Kin(above[sha256], playing.get(sha256)) for sha256 in line],
        children=[Kin(child, playing.get(child.sha256)) for child in children],
    )


def _playing(hashes: list[str], game: str) -> dict[str, Agent]:
    """Return an agent per checkpoint: the first one that was registered with it."""
    of_game = Agent.objects.filter(checkpoint__sha256__in=hashes, game=game).order_by()
    first = dict(of_game.values_list("checkpoint_id").annotate(Min("pk")))
    agents = Agent.objects.in_bulk(first.values())
    return {sha256: agents[pk] for sha256, pk in first.items()}
