"""The settled rating of agents by what a leaderboard knows of them: one fit for all who ask.

Children start from their parents: an agent whose checkpoint was trained from that of another one of
the field has its prior there. In games of two seats the advantage of the first seat is a term.
"""

from collections.abc import Sequence

from django.db.models import QuerySet

from arena.games import registry as games
from arena.ratings.settled import PairCounts, Settled, settle
from matches.models import Agent, Leaderboard, PairCount
from matches.services.rows import among

PAIR_COUNTERS = ("n_first_wins", "n_draws", "n_second_wins")
COUPLE = 2


def evidence(board: Leaderboard, agents: Sequence[int]) -> PairCounts:
    """Return all results of these agents among each other, by position."""
    met = PairCount.objects.filter(
        leaderboard=board, first__in=among(agents), second__in=among(agents)
    )
    return _counts(met, agents)


def fit(
    board: Leaderboard,
    agents: Sequence[int],
    counts: PairCounts | None = None,
    *,
    dispersion: float = 1.0,
) -> Settled:
    """Return the settled ratings by position: cold, so bit-identical.

    counts: of these agents; None: all results of the leaderboard, whose agents they are.
    dispersion: how much more the blocks vary than the model expects (arena.verdicts.blocks).
    """
    known = (
        _counts(PairCount.objects.filter(leaderboard=board), agents) if counts is None else counts
    )
    n_seats = games.get(board.game).spec.n_seats
    return settle(
        known,
        len(agents),
        draw_probability=board.draw_probability,
        weight=1 / (max(1, n_seats - 1) * dispersion),
        parents=parents_of(agents),
        has_seat_term=n_seats == COUPLE,
    )


def parents_of(agents: Sequence[int]) -> list[int] | None:
    """Return of each agent the position of the one it goes on from, or -1; None: all stand alone.

    Several agents may play one checkpoint: the one registered first is the parent.
    """
    trained = Agent.objects.filter(pk__in=among(agents), checkpoint__parent__isnull=False)
    parent_of = dict(trained.values_list("pk", "checkpoint__parent_id"))
    if not parent_of:
        return None
    playing = Agent.objects.filter(pk__in=among(agents), checkpoint__in=set(parent_of.values()))
    first: dict[str, int] = {}
    for pk, checkpoint in playing.order_by("pk").values_list("pk", "checkpoint_id"):
        first.setdefault(str(checkpoint), pk)
    index = {agent: position for position, agent in enumerate(agents)}
    return [
        index[first[parent]] if (parent := parent_of.get(agent)) in first else -1
        for agent in agents
    ]


def _counts(met: QuerySet[PairCount], agents: Sequence[int]) -> PairCounts:
    index = {agent: position for position, agent in enumerate(agents)}
    return PairCounts.from_rows(
        (index[first], index[second], wins, draws, losses)
        for first, second, wins, draws, losses in met.values_list(
            "first_id", "second_id", *PAIR_COUNTERS
        )
    )
