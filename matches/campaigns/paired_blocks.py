"""Evidence by seed block: what two agents got of both games on one seed."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np
from django.db.models import Q

from arena.messages import Reason
from arena.ratings.counts import Floats
from arena.verdicts.dispersion import measure_dispersion
from matches.models import Leaderboard, Match, Seat, Tournament
from matches.models.match import join_numbers, parse_numbers
from matches.ratings.entrants import points
from matches.ratings.evidence import boards_of
from matches.store.bulk import among

N_CELLS = 5
"""0, 1/2, 1, 3/2 and 2 points of two games."""
N_LOOKED_AT = 2_000
"""Matches, the newest ones, in whose blocks the dispersion is measured."""
_TWO = 2


@dataclass(frozen=True)
class Evidence:
    """The blocks of two agents that are over, in planned order: the cell of each, 0..4."""

    outcomes: Sequence[int]

    @property
    def counts(self) -> list[int]:
        """How often the first agent got 0, 1/2, 1, 3/2 and 2 points."""
        return [self.outcomes.count(cell) for cell in range(N_CELLS)]

    def first(self, n_blocks: int) -> "Evidence":
        """Return the first so many blocks."""
        return Evidence(self.outcomes[:n_blocks])


def between(
    leaderboard: Leaderboard, first: int, second: int, *, own: Tournament | None = None
) -> Evidence:
    """Return the blocks of two agents that are known of their game, whatever they were for.

    Of each comparable leaderboard its season; of each tournament the blocks of the two up to the
    first that is open (matches.ratings.closed_prefix), in the order in which they were
    planned. A block counts once both of its games are over; one that is void never does. own: the
    tournament of the test, whose blocks come last: what others find out meanwhile was no part of
    the plan and changes nothing in the order of it.
    """
    lineups = (join_numbers((first, second)), join_numbers((second, first)))
    boards = {board.pk: board for board in boards_of(leaderboard, (first, second))}
    met = Match.objects.filter(
        pk__in=Seat.objects.filter(agent=first).values("match_id"),
        leaderboard__in=list(boards),
        lineup__in=lineups,
        tournament__is_rated=True,
    ).exclude(_is_limited(leaderboard))
    columns = ("tournament_id", "leaderboard_id", "sequence", *_Planned._fields[:-1])
    by_plan: dict[int, list[_Planned]] = {}
    for tournament, board, sequence, *game in met.order_by("pk").values_list(
        *columns, "outcome__ranks"
    ):
        if sequence >= boards[board].season_first_sequence:
            by_plan.setdefault(tournament, []).append(_Planned(*game))
    last = 0 if own is None else own.pk
    plans = sorted(by_plan, key=lambda tournament: (tournament == last, tournament))
    games = (game for plan in plans for game in _prefix(by_plan[plan], is_own=plan == last))
    return Evidence(list(_outcomes(games, first)))


class _Planned(NamedTuple):
    """A match of the two."""

    state: str
    attempt: int
    game_seed: int
    lineup: str
    ranks: str | None


def _outcomes(games: Iterable[_Planned], agent: int) -> Iterator[int]:
    """Yield the cell of each block of an agent when its second game is there."""
    blocks: dict[int, dict[str, float]] = {}
    for game in games:
        block = blocks.setdefault(game.game_seed, {})
        # The same game again, in another tournament of the same seed set, says nothing new.
        if game.lineup not in block:
            block[game.lineup] = points(game.ranks or "")[parse_numbers(game.lineup).index(agent)]
            if len(block) == _TWO:
                yield round(2 * sum(block.values()))


def _prefix(matches: Sequence[_Planned], *, is_own: bool) -> Iterator[_Planned]:
    """Yield the matches that are done, up to the first that may still come out one way or other.

    That is an open or a cancelled one; of another tournament one that was never sent is passed.
    """
    for match in matches:
        if match.state == Match.State.DONE:
            yield match
        elif match.state != Match.State.VOID and (is_own or match.attempt):
            return


def dispersion_among(
    leaderboard: Leaderboard,
    agents: Sequence[int],
    mu: Floats,
    *,
    late: Collection[int] = (),
) -> float:
    """Return how much more the blocks of agents of this mu vary than the model expects, 1 or more.

    Of a game of two seats; measured in the newest matches of the leaderboards that know them, but
    for the late ones.
    """
    index = {agent: position for position, agent in enumerate(agents)}
    cells = Counter(_cells(leaderboard, index, late))
    pairs = sorted({(first, second) for first, second, _ in cells})
    outcomes = [[cells[(*pair, cell)] for cell in range(N_CELLS)] for pair in pairs]
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, _TWO).T
    table = np.array(outcomes, dtype=np.int64).reshape(-1, N_CELLS)
    return measure_dispersion(
        mu, first, second, table, draw_probability=leaderboard.draw_probability
    )


def _cells(
    leaderboard: Leaderboard, index: Mapping[int, int], late: Collection[int]
) -> Iterator[tuple[int, int, int]]:
    """Yield the two agents of each whole block, by position, and what the first one got."""
    blocks: dict[tuple[int, int, int], dict[str, float]] = {}
    for seed, lineup, ranks in _newest(leaderboard, list(index), late):
        met = [index[agent] for agent in parse_numbers(lineup) if agent in index]
        if len(met) == _TWO:
            first, second = sorted(met)
            games = blocks.setdefault((seed, first, second), {})
            games[lineup] = points(ranks)[met.index(first)]
    for (_, first, second), games in blocks.items():
        if len(games) == _TWO:
            yield first, second, round(2 * sum(games.values()))


def _newest(
    leaderboard: Leaderboard, agents: Sequence[int], late: Collection[int]
) -> Iterator[tuple[int, str, str]]:
    """Yield game seed, lineup and ranks of newest matches: of each board by what it has."""
    boards = boards_of(leaderboard, agents)
    n_all = sum(board.n_counted for board in boards)
    for board in boards:
        share = board.n_counted / n_all if n_all else 1.0
        played = Match.objects.filter(
            leaderboard=board,
            state=Match.State.DONE,
            tournament__is_rated=True,
            sequence__gte=board.season_first_sequence,
        ).exclude(_is_limited(leaderboard))
        if late:
            played = played.exclude(pk__in=among(sorted(late)))
        rows = played.order_by("-sequence").values_list("game_seed", "lineup", "outcome__ranks")
        yield from rows[: ceil(N_LOOKED_AT * share)]


def _is_limited(leaderboard: Leaderboard) -> Q:
    """Return the condition of matches elsewhere that a time limit decided."""
    timed_out = Q(outcome__is_forfeit=True, outcome__reason=Reason.TIMEOUT.value)
    return timed_out & ~Q(leaderboard=leaderboard)
