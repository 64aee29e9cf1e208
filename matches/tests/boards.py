"""Arrange leaderboards as the real parts make them: planned, sent, played, recorded and rated."""

from collections.abc import Callable, Sequence
from datetime import datetime
from random import Random

from arena.games import registry as games
from arena.games.base import forfeit_ranks
from arena.messages import Ending, MatchOrderRow, Reason, ResultRow
from matches.ledger import recording
from matches.models import Match, Tournament
from matches.ratings import rater
from matches.tests import factories
from matches.tests.factories import NOW, later

SEARCHERS = ("random", "greedy", "alphabeta:1", "alphabeta:2", "alphabeta:4", "mcts:20", "mcts:100")

Play = Callable[[MatchOrderRow], ResultRow]


def planned_board(
    name: str = "connect-four", *, agents: Sequence[str] = SEARCHERS, n_matches: int = 420
) -> Tournament:
    """Return a tournament of search agents whose matches are pending."""
    return factories.planned(n_matches, agents=agents, game="connect_four", board=name)


def by_strength(seed: int = 1, *, forfeits: float = 0.01) -> Play:
    """Return results in which later entrants win more often, with some draws and forfeits."""
    rng = Random(seed)
    pairs: dict[int, list[int]] = {}

    def play(row: MatchOrderRow) -> ResultRow:
        if row.match not in pairs:
            # All at once: a query for each match took a quarter of the time of a board.
            pairs.update(
                (match.pk, match.agent_ids) for match in Match.objects.filter(pk__gte=row.match)
            )
        first, second = pairs[row.match]
        if rng.random() < forfeits:
            guilty = rng.randrange(2)
            return factories.result(
                row,
                ending=Ending.FORFEIT,
                ranks=forfeit_ranks(guilty, 2),
                reason=Reason.ILLEGAL,
                seat=guilty,
            )
        if rng.random() < 0.06:
            return factories.result(row, ranks=[0, 0])
        wins = rng.random() < 1 / (1 + 10 ** ((second - first) / 4))
        return factories.result(row, ranks=[0, 1] if wins else [1, 0])

    return play


def play_some(tournament: Tournament, n_matches: int, play: Play, *, now: datetime = NOW) -> None:
    """Send, play and record so many of the pending matches."""
    factories.alive(now=now)
    needs = games.get(tournament.leaderboard.game).spec.capability
    order = factories.ordered(tournament, n_matches, needs=needs, now=now)
    factories.start(order, now=now)
    recording.record_report(factories.finished(order, play), now=now)


def played_board(name: str = "connect-four", *, n_matches: int = 420) -> Tournament:
    """Return a finished tournament with its ratings."""
    tournament = planned_board(name, n_matches=n_matches)
    play_some(tournament, n_matches, by_strength())
    rater.rate(tournament.leaderboard_id, now=later(1))
    tournament.refresh_from_db()
    return tournament
