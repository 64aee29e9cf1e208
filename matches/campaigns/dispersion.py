"""How much the blocks of a game of teams vary: what a side got of all games on one seed."""

from collections.abc import Collection, Sequence
from math import sqrt

import numpy as np

from arena.games import registry as games
from arena.ratings.base import BETA
from arena.ratings.counts import Floats
from arena.ratings.teamcounts import TeamSide, split_sides
from arena.verdicts.dispersion import measure_sum_dispersion
from matches.campaigns.paired_blocks import N_LOOKED_AT
from matches.models import Leaderboard, Match
from matches.models.match import parse_numbers
from matches.store.bulk import among

_POINTS = (1.0, 0.5, 0.0)


def dispersion_among(
    leaderboard: Leaderboard,
    agents: Sequence[int],
    mu: Floats,
    *,
    late: Collection[int] = (),
) -> float:
    """Return how much more the blocks of agents of this mu vary than the model expects, 1 or more.

    Measured in the newest matches of the leaderboard, but for the late ones. A rotation that only
    lets mates change their seats may repeat a game, and then says less than another one.
    """
    rating = dict(zip(agents, mu.tolist(), strict=True))
    spec = games.get(leaderboard.game).spec
    blocks: dict[tuple[int, TeamSide, TeamSide], dict[str, float]] = {}
    for seed, lineup, ranks in _newest(leaderboard, late):
        seats = parse_numbers(lineup)
        if all(agent in rating for agent in seats):
            for first, second, kind in split_sides(seats, parse_numbers(ranks), spec.teams):
                # The same game again, in another tournament of the same seed set, says nothing new.
                blocks.setdefault((seed, first, second), {})[lineup] = _POINTS[kind]
    unit = sqrt(2 * spec.team_size) * BETA
    ahead = [
        (sum(rating[one] for one in first) - sum(rating[one] for one in second)) / unit
        for _, first, second in blocks
    ]
    return measure_sum_dispersion(
        np.array(ahead),
        np.array([len(points) for points in blocks.values()], dtype=np.int64),
        np.array([sum(points.values()) for points in blocks.values()]),
        draw_probability=leaderboard.draw_probability,
    )


def _newest(leaderboard: Leaderboard, late: Collection[int]) -> list[tuple[int, str, str]]:
    played = Match.objects.filter(
        leaderboard=leaderboard,
        state=Match.State.DONE,
        tournament__is_rated=True,
        sequence__gte=leaderboard.season_first_sequence,
    ).order_by("-sequence")
    if late:
        played = played.exclude(pk__in=among(sorted(late)))
    return list(played.values_list("game_seed", "lineup", "outcome__ranks")[:N_LOOKED_AT])
