"""What matches need: of a planned one, and of all that are pending, each kind once, by index."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from django.db import connection

from arena.errors import ArenaError
from arena.games import registry as games
from arena.games.base import SERVER
from arena.needs import Needs
from arena.policies import registry as policies
from arena.programs import name_capability
from matches.models import Agent
from matches.models.choices import Placement
from matches.store.bulk import among

# From one kind to the next along the index match_to_send: a million that need the same cost one
# step. The state stands in the text because PostgreSQL uses partial indexes for constants only.
_STEPS = """
    WITH RECURSIVE step(tournament, needs) AS (
        SELECT id, CAST('' AS text) FROM matches_tournament WHERE id IN ({ids})
        UNION ALL
        SELECT step.tournament, (
            SELECT min(needs) FROM matches_match
            WHERE tournament_id = step.tournament AND state = 'pending' AND needs > step.needs
        ) FROM step WHERE step.needs IS NOT NULL
    )
    SELECT tournament, needs FROM step WHERE needs <> ''
"""


def needs_of_match(game: str, placements: Collection[str], programs: Collection[str] = ()) -> Needs:
    """Return what a match of a game needs whose agents' networks run in these places.

    programs: the capabilities of those that decide for its agents. Raises NeedsError.
    """
    spec = games.get(game).spec
    return Needs.of_match(
        spec.capability,
        has_local=Placement.LOCAL in placements,
        asks_gpu=Placement.GPU in placements,
        asks_server=spec.served == SERVER,
        programs=programs,
    )


def read_programs_of(agents: Sequence[int]) -> Mapping[int, list[str]]:
    """Return the capabilities of the programs that agents ask, by agent; most ask none."""
    asking = dict[int, list[str]]()
    rows = Agent.objects.filter(pk__in=among(agents)).values_list("pk", "policy", "parameters")
    for pk, kind, parameters in rows:
        # One whose file is gone or broken here is sent nowhere (ledger.code_versions).
        with suppress(ArenaError):
            if names := policies.list_programs(kind, parameters):
                asking[pk] = [name_capability(name) for name in names]
    return asking


def read_pending_needs(tournaments: Collection[int]) -> dict[int, list[Needs]]:
    """Return by tournament what its pending matches need; those without any are left out."""
    if not tournaments:
        return {}
    pending = defaultdict(list)
    with connection.cursor() as cursor:
        # Keys of our own, whole numbers: nothing to quote.
        cursor.execute(_STEPS.format(ids=", ".join(str(int(pk)) for pk in tournaments)))
        for tournament, needs in cursor.fetchall():
            pending[tournament].append(Needs(needs))
    return {pk: sorted(needs) for pk, needs in pending.items()}


def list_pending_needs(tournament: int) -> list[Needs]:
    """Return what the pending matches of a tournament need."""
    return read_pending_needs([tournament]).get(tournament, [])
