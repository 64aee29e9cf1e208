"""The ratings of a leaderboard or a season as a file: by rank, with the filters of the page."""

from collections.abc import Iterator
from itertools import islice

from matches.models import Leaderboard, Rating, Season, SeasonRow
from matches.ratings import standings
from matches.store.bulk import among
from pages.downloads.files import MAX_ROWS, ROWS_A_PIECE, Column, Line, Table
from pages.filters import View, filter_agents

_NUMBERS = (
    *(Column(name, float) for name in ("mu", "sd", "low", "high", "live_mu", "live_sigma")),
    *(Column(f"n_{name}", int) for name in ("matches", "wins", "draws", "losses", "forfeits")),
)
_AGENT = (Column("rank", int), Column("agent", int), Column("name", str))
_KIND = (Column("kind", str), Column("run", str), Column("step", int))


def make_table(board: Leaderboard, view: View) -> Table:
    """Return the ratings of the agents that the view asks for, by their rank on the whole board."""
    return Table(board.name, (*_AGENT, *_KIND, *_NUMBERS), _list_ratings(board, view))


def make_season_table(season: Season) -> Table:
    """Return the ranks of a season: names and numbers as they were then."""
    name = f"{season.leaderboard.name}-season-{season.pk}"
    return Table(name, (*_AGENT, *_NUMBERS), _list_ranks(season))


def _list_ranks(season: Season) -> Iterator[Line]:
    last, ranked = 0, season.rows.order_by("rank")
    while piece := list(ranked.filter(rank__gt=last)[:ROWS_A_PIECE]):
        for row in piece:
            yield (row.rank, row.agent_id, row.name, *_list_numbers(row))
        last = piece[-1].rank


def _list_ratings(board: Leaderboard, view: View) -> Iterator[Line]:
    matching = None if view.is_whole else set(filter_agents(board, view))
    # The keys at once, for their order; the rows of a large board would take half a gigabyte.
    keys = standings.rank_ratings(board.pk).values_list("pk", "agent_id")[:MAX_ROWS]
    ranks = {
        pk: rank
        for rank, (pk, agent) in enumerate(keys, 1)
        if matching is None or agent in matching
    }
    whole, ordered = Rating.objects.select_related("agent__checkpoint"), iter(ranks)
    while piece := list(islice(ordered, ROWS_A_PIECE)):
        rows = whole.filter(pk__in=among(piece)).in_bulk()
        yield from (_list_rating(ranks[pk], rows[pk]) for pk in piece if pk in rows)


def _list_rating(rank: int, rating: Rating) -> Line:
    agent, weights = rating.agent, rating.agent.checkpoint
    trained = (weights.run, weights.step) if weights else (None, None)
    return (rank, agent.pk, agent.name, agent.policy, *trained, *_list_numbers(rating))


def _list_numbers(row: Rating | SeasonRow) -> Line:
    return (
        *(row.mu, row.sd, row.low, row.high, row.live_mu, row.live_sigma),
        *(row.n_matches, row.n_wins, row.n_draws, row.n_losses, row.n_forfeits),
    )
