"""The scores of a tournament's agents by seed: what questions about mean scores are judged by."""

from collections.abc import Sequence
from math import inf

import numpy as np
from django.db.models import Count

from arena.games import registry as games
from arena.games.base import GameSpec
from arena.ratings.counts import Floats
from arena.verdicts.score_questions import PlayedScores
from matches.errors import MatchError
from matches.models import Match, Outcome, Tournament


class ScoreRangeError(MatchError):
    """A game gave a score outside of the range that it declares: no bound on its mean holds."""


def load_scores(tournament: Tournament, agents: Sequence[int]) -> PlayedScores:
    """Return the scores of agents in a tournament of one seat: [agents, blocks], NaN where open.

    Each block is one game seed for all. A forfeit is the least score of the game. A block with a
    void episode is left out for all agents: it would be a gap for ever. Raises ScoreRangeError.
    """
    spec = games.get(tournament.leaderboard.game).spec
    assert spec.score_range is not None  # who asks by scores was refused without
    places = {agent: place for place, agent in enumerate(agents)}
    played = Outcome.objects.filter(match__tournament=tournament, match__state=Match.State.DONE)
    rows = list(played.values_list("match__lineup", "match__block", "returns", "is_forfeit"))
    n_blocks = 1 + max((block for _, block, _, _ in rows), default=-1)
    scores = np.full((len(agents), n_blocks), np.nan)
    for lineup, block, returns, is_forfeit in rows:
        scores[places[int(lineup)], block] = spec.score_range[0] if is_forfeit else float(returns)
    _check_range(scores, spec)
    voids = tournament.matches.filter(state=Match.State.VOID, block__lt=n_blocks)
    void_blocks = sorted(set(voids.values_list("block", flat=True)))
    return PlayedScores(np.delete(scores, void_blocks, axis=1), spec.score_range)


def count_planned_seeds(tournament: Tournament, agents: Sequence[int]) -> list[int]:
    """Return how many seeds are planned for each agent, those in flight included."""
    planned = tournament.matches.values_list("lineup").order_by()
    counts = {int(agent): n for agent, n in planned.annotate(n=Count("pk"))}
    return [counts.get(agent, 0) for agent in agents]


def _check_range(scores: Floats, spec: GameSpec) -> None:
    low, high = spec.score_range or (-inf, inf)
    strange = scores[(scores < low) | (scores > high)]
    if strange.size:
        raise ScoreRangeError(
            f"{spec.id} gave a score of {strange[0]:g}, outside of the {low:g} to {high:g} that it "
            "declares as score_range: no answer by mean scores would hold"
        )
