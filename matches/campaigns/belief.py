"""What follows from the evidence on the entrants of a campaign, and how much that evidence weighs.

It weighs less where blocks vary more than the rating model expects. A block is all games on one
seed: of two seats two games, of teams one of each rotation.
"""

from collections.abc import Iterator, Sequence
from math import ceil, sqrt
from typing import NamedTuple

import numpy as np

from arena.games import registry as games
from arena.pairing.base import COUPLE
from arena.policies import registry as policies
from arena.ratings.base import BETA
from arena.ratings.settled import SettledRatings
from arena.ratings.teamcounts import TeamSide, split_sides
from arena.verdicts import evidence as weighing
from arena.verdicts.beliefs import Belief, form_belief
from arena.verdicts.dispersion import measure_sum_dispersion
from arena.verdicts.evidence import ModelChecks
from arena.verdicts.seed_blocks import SeedBlocks
from matches.campaigns.paired_blocks import GAMES_OF_BLOCK
from matches.models import Agent, ImportBatch, Match
from matches.models.match import parse_numbers
from matches.ratings.entrants import score_seats
from matches.ratings.evidence import Evidence, is_limited_elsewhere
from matches.ratings.fitting import load_fit
from matches.store import selectors
from matches.store.bulk import among

# Matches, the newest ones, in whose blocks it is measured how well the model fits.
N_LOOKED_AT = 2_000
_POINTS = (1.0, 0.5, 0.0)
_DREW = 1


class Inference(NamedTuple):
    """What is believed, and how well the model fits; None where that is not looked at."""

    belief: Belief
    checks: ModelChecks | None


def infer_belief(evidence: Evidence, *, expected_departures: float = 0.0) -> Belief:
    """Return what is believed of the agents, by position; expected_departures: of the question."""
    return infer_and_check(evidence, expected_departures=expected_departures).belief


def infer_and_check(evidence: Evidence, *, expected_departures: float = 0.0) -> Inference:
    """Return what is believed of the agents, by position, and how well the model fits.

    Results that depart from the rating model hold less evidence than it says: see
    arena.verdicts.evidence.
    """
    board, counts = evidence.board, evidence.counts
    late_sides = evidence.late.sides_on(board)
    fit = load_fit(board, evidence.agents, counts, late_sides=late_sides)
    spec = games.get(board.game).spec
    if spec.n_seats == COUPLE:
        may_change = _may_change(evidence.agents)
        blocks = list_blocks(evidence, may_change=may_change)
        inferred = weighing.infer_belief(
            counts,
            blocks,
            fit.settle_weighted,
            expected_departures=expected_departures,
            may_change=may_change,
        )
        return Inference(*inferred)
    settled = fit.settle()
    # Their variance is measured about the first fit, so a second one is needed to use it.
    factor = 1.0 if spec.is_scored else estimate_dispersion(evidence, settled)
    if factor > 1:
        settled = fit.settle(dispersion=factor)
    n_opponents = spec.n_seats - spec.team_size
    if spec.is_scored:
        n_opponents = round(2 / fit.weight) - 1  # of an episode: the others of its block
    return Inference(form_belief(settled, counts, n_opponents=max(1, n_opponents)), None)


def _may_change(agents: Sequence[int]) -> bool:
    """Return whether an agent may have changed since it played, as other people's programs may."""
    rows = Agent.objects.filter(pk__in=among(agents)).values_list("policy", "parameters")
    return any(policies.may_change(kind, parameters) for kind, parameters in rows)


def list_blocks(evidence: Evidence, *, may_change: bool = False) -> SeedBlocks:
    """Return the newest blocks of which both games are over, by position, in planned order.

    may_change: whether a game that is played again, in another tournament of the same seed set,
    tells how its agents are by then. Else it replaces the first.
    """
    index = {agent: position for position, agent in enumerate(evidence.agents)}
    blocks = list[tuple[tuple[int, int, int], dict[int, int]]]()
    newest: dict[tuple[int, int, int], dict[int, int]] = {}
    # In the order in which they were planned, on whatever leaderboard.
    for _, seed, lineup, ranks in sorted(_read_newest(evidence)):
        players = [index[agent] for agent in parse_numbers(lineup) if agent in index]
        if len(players) == COUPLE:
            first, second = sorted(players)
            block, seat = (seed, first, second), players.index(first)
            if block not in newest or (may_change and seat in newest[block]):
                newest[block] = {}
                blocks.append((block, newest[block]))
            newest[block][seat] = round(2 * score_seats(ranks)[seat] - 1)
    rows = [
        (*block, played[0], played[1]) for block, played in blocks if len(played) == GAMES_OF_BLOCK
    ]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3 + GAMES_OF_BLOCK)
    return SeedBlocks(table[:, 1], table[:, 2], table[:, 3:], table[:, 0])


def estimate_dispersion(evidence: Evidence, settled: SettledRatings) -> float:
    """Return how much more blocks of two sides vary than ratings expect, 1 or more.

    Of teams, or of each two of several seats. Measured in the newest matches of all leaderboards
    that count, which for teams is this one.
    """
    rating = dict(zip(evidence.agents, settled.mu.tolist(), strict=True))
    spec = games.get(evidence.board.game).spec
    teams = spec.teams or tuple(range(spec.n_seats))
    blocks: dict[tuple[int, TeamSide, TeamSide], dict[str, float]] = {}
    for _, seed, lineup, ranks in _read_newest(evidence):
        seats = parse_numbers(lineup)
        if all(agent in rating for agent in seats):
            for first, second, kind in split_sides(seats, parse_numbers(ranks), teams):
                # A rank that several share says nothing of the two (arena.ratings.rankings).
                if kind == _DREW and not spec.has_draws:
                    continue
                # The same game again, in another tournament of the same seed set, says nothing new.
                # A rotation that only lets mates change seats may repeat one, and then says less.
                blocks.setdefault((seed, first, second), {})[lineup] = _POINTS[kind]
    unit = sqrt(2 * spec.team_size) * BETA
    leads = [
        (sum(rating[agent] for agent in first) - sum(rating[agent] for agent in second)) / unit
        for _, first, second in blocks
    ]
    return measure_sum_dispersion(
        np.array(leads),
        np.array([len(points) for points in blocks.values()], dtype=np.int64),
        np.array([sum(points.values()) for points in blocks.values()]),
        draw_probability=settled.draw_probability if spec.has_draws else 0.0,
    )


def _read_newest(evidence: Evidence) -> Iterator[tuple[int, int, str, str]]:
    """Yield key, game seed, lineup and ranks of newest matches: of each board by what it has.

    Imported ones are passed over: none is of a block, so they would only hide those that are.
    """
    boards = [board.pk for board in evidence.boards]
    batches = ImportBatch.objects.filter(leaderboard__in=boards)
    imported = list(batches.values_list("tournament", flat=True))
    n_played = [
        max(0, board.n_counted - (selectors.count_imported(board) if imported else 0))
        for board in evidence.boards
    ]
    n_all = sum(n_played)
    late = sorted(evidence.late.matches)
    for board, n_of_board in zip(evidence.boards, n_played, strict=True):
        share = n_of_board / n_all if n_all else 1.0
        played = Match.objects.filter(
            leaderboard=board,
            state=Match.State.DONE,
            tournament__is_rated=True,
            sequence__gte=board.season_first_sequence,
        ).exclude(is_limited_elsewhere(evidence.board))
        if imported:
            played = played.exclude(tournament__in=among(imported))
        if late:
            played = played.exclude(pk__in=among(late))
        columns = ("pk", "game_seed", "lineup", "outcome__ranks")
        rows = played.order_by("-sequence").values_list(*columns)
        yield from rows[: ceil(N_LOOKED_AT * share)]
