"""What is known of the entrants of a tournament, as pairings and questions read it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from arena.games import registry as games
from arena.pairing.base import Field, Meeting, Standing
from arena.teams import NO_TEAMS, Teams, are_mates, team_size
from matches.models import Campaign, Leaderboard, Match, Tournament
from matches.models.match import parse_numbers
from matches.ratings.evidence import Evidence, find_boards
from matches.ratings.fitting import load_fit, load_sides
from matches.store.catalog import game_teams

_OPEN = frozenset(state.value for state in Match.OPEN)


class _Played(NamedTuple):
    """A match of a block."""

    lineup: str
    state: str
    ranks: str


def entrants_of(tournament: Tournament) -> list[int]:
    """Return the ids of the agents of a tournament in the order of their positions."""
    return list(tournament.entrant_set.values_list("agent_id", flat=True))


def load_standing(
    tournament: Tournament, agents: Sequence[int], *, needs_meetings: bool = False
) -> Standing:
    """Return what is known when more of this tournament is to be paired.

    A campaign goes by what all comparable leaderboards know; else the ratings of the own one are to
    become sure, which are made of its own results.
    """
    board = tournament.leaderboard
    spec = games.get(board.game).spec
    has_question = Campaign.objects.filter(tournament=tournament).exists()
    boards = find_boards(board, agents) if has_question else [board]
    counts = Evidence(board, agents, boards).counts
    settled = load_fit(board, agents, counts).settle()
    return Standing(
        field=Field(len(agents), spec.n_seats, spec.team_size),
        mu=settled.mu,
        covariance=settled.covariance,
        sd=settled.sd,
        spread=settled.spread,
        counts=counts,
        n_in_flight=_count_in_flight(board, agents),
        meetings=load_meetings(tournament, agents) if needs_meetings else (),
        draw_probability=settled.draw_probability,
        seeding=tuple(tournament.seeding),
        sides=load_sides(board, agents) if spec.teams else None,
        seat_advantage=settled.seat.mu if settled.seat else 0.0,
    )


def _count_in_flight(board: Leaderboard, agents: Sequence[int]) -> Mapping[tuple[int, int], int]:
    """Return how many matches of each two agents are planned and not closed, whatever for."""
    index = {agent: position for position, agent in enumerate(agents)}
    opened = Match.objects.filter(Match.is_open(), leaderboard=board).order_by("sequence")
    n_open: Counter[tuple[int, int]] = Counter()
    for lineup in opened.values_list("lineup", flat=True).iterator(chunk_size=2_000):
        players = sorted(index[agent] for agent in parse_numbers(lineup) if agent in index)
        # Of one seat, how many an agent has in flight: who plays its next seed turns on that.
        n_open.update(
            [(players[0], players[0])]
            if lineup.isdecimal() and players
            else combinations(players, 2)
        )
    return n_open


def load_meetings(tournament: Tournament, agents: Sequence[int]) -> list[Meeting]:
    """Return the blocks of a tournament in planned order, with the points of those that are over.

    A match that is void or cancelled gives nobody points, unless it was played again.
    """
    index = {agent: position for position, agent in enumerate(agents)}
    teams = game_teams(tournament.leaderboard.game)
    rows = Match.objects.filter(tournament=tournament).order_by("sequence")
    blocks: dict[int, dict[int, _Played]] = {}
    for block, rotation, *played in rows.values_list(
        "block", "rotation", "lineup", "state", "outcome__ranks"
    ):
        blocks.setdefault(block, {})[rotation] = _Played(*played)
    return [_score_meeting(list(matches.values()), index, teams) for matches in blocks.values()]


def _score_meeting(matches: Sequence[_Played], index: Mapping[int, int], teams: Teams) -> Meeting:
    lineup = [index[agent] for agent in parse_numbers(matches[0].lineup)]
    total = dict.fromkeys(lineup, 0.0)
    for match in matches:
        if match.state in _OPEN:
            return Meeting(tuple(lineup), 0, None)
        if match.state == Match.State.DONE:
            for agent, won in zip(
                parse_numbers(match.lineup), score_seats(match.ranks, teams), strict=True
            ):
                total[index[agent]] += won
    return Meeting(tuple(lineup), 0, tuple(total.values()))


def score_seats(ranks: str, teams: Teams = NO_TEAMS) -> list[float]:
    """Return the points of each seat: the share of its opponents that it beat, a draw one half."""
    placed = parse_numbers(ranks)
    n_opponents = max(1, len(placed) - team_size(teams))
    return [
        sum(
            (rank < other_rank) + (rank == other_rank) / 2
            for other, other_rank in enumerate(placed)
            if other != seat and not are_mates(teams, seat, other)
        )
        / n_opponents
        for seat, rank in enumerate(placed)
    ]
