"""The paired blocks of two agents: what the first got of both games on one seed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from matches.models import Leaderboard, Match, Seat, Tournament
from matches.models.match import join_numbers, parse_numbers
from matches.ratings.entrants import score_seats
from matches.ratings.evidence import find_boards, is_limited_elsewhere

# 0, 1/2, 1, 3/2 and 2 points of two games.
N_CELLS = 5
GAMES_OF_BLOCK = 2


@dataclass(frozen=True)
class PairedBlocks:
    """The blocks of two agents that are over, in planned order: the cell of each, 0..4."""

    outcomes: Sequence[int]

    @property
    def counts(self) -> list[int]:
        """How often the first agent got 0, 1/2, 1, 3/2 and 2 points."""
        return [self.outcomes.count(cell) for cell in range(N_CELLS)]

    def first(self, n_blocks: int) -> "PairedBlocks":
        """Return the first so many blocks."""
        return PairedBlocks(self.outcomes[:n_blocks])


def load_blocks(
    leaderboard: Leaderboard,
    first: int,
    second: int,
    *,
    boards: Sequence[Leaderboard] | None = None,
    own: Tournament | None = None,
) -> PairedBlocks:
    """Return the blocks of two agents that are known of their game, whatever they were for.

    Of each comparable leaderboard its season; of each tournament the blocks of the two up to the
    first that is open (matches.ratings.closed_prefix), in the order in which they were
    planned. A block counts once both of its games are over; one that is void never does.

    boards: those that know the two, where they were found already. own: the tournament of the test,
    whose blocks come last.
    """
    lineups = (join_numbers((first, second)), join_numbers((second, first)))
    searched = find_boards(leaderboard, (first, second)) if boards is None else boards
    season_starts = {board.pk: board.season_first_sequence for board in searched}
    matches = Match.objects.filter(
        pk__in=Seat.objects.filter(agent=first).values("match_id"),
        leaderboard__in=list(season_starts),
        lineup__in=lineups,
        tournament__is_rated=True,
        tournament__imported=None,  # no games of one seed
    ).exclude(is_limited_elsewhere(leaderboard))
    columns = ("tournament_id", "leaderboard_id", "sequence", *_PlannedMatch._fields[:-1])
    by_plan: dict[int, list[_PlannedMatch]] = {}
    for tournament, board, sequence, *game in matches.order_by("pk").values_list(
        *columns, "outcome__ranks"
    ):
        if sequence >= season_starts[board]:
            by_plan.setdefault(tournament, []).append(_PlannedMatch(*game))
    # The own one last: what others find out meanwhile was no part of its plan.
    last = 0 if own is None else own.pk
    plans = sorted(by_plan, key=lambda tournament: (tournament == last, tournament))
    games = (game for plan in plans for game in _closed_prefix(by_plan[plan], is_own=plan == last))
    return PairedBlocks(list(_read_outcomes(games, first)))


class _PlannedMatch(NamedTuple):
    """A match of the two."""

    state: str
    attempt: int
    game_seed: int
    lineup: str
    ranks: str | None


def _read_outcomes(games: Iterable[_PlannedMatch], agent: int) -> Iterator[int]:
    """Yield the cell of each block of an agent when its second game is there."""
    blocks: dict[int, dict[str, float]] = {}
    for game in games:
        block = blocks.setdefault(game.game_seed, {})
        # The same game again, in another tournament of the same seed set, says nothing new.
        if game.lineup not in block:
            seat = parse_numbers(game.lineup).index(agent)
            block[game.lineup] = score_seats(game.ranks or "")[seat]
            if len(block) == GAMES_OF_BLOCK:
                yield round(2 * sum(block.values()))


def _closed_prefix(matches: Sequence[_PlannedMatch], *, is_own: bool) -> Iterator[_PlannedMatch]:
    """Yield the matches that are done, up to the first that may still come out one way or other.

    That is an open or a cancelled one; of another tournament one that was never sent is passed.
    """
    for match in matches:
        if match.state == Match.State.DONE:
            yield match
        elif match.state != Match.State.VOID and (is_own or match.attempt):
            return
