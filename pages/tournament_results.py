"""What a tournament itself has said so far: its standings, who won, and who beat whom in it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arena.pairing import registry as pairings
from matches.models import Rating, Tournament
from matches.ratings import entrants, tournament_counts
from matches.ratings.tournament_counts import OwnCounts
from matches.store.bulk import among
from matches.store.fast_store import get_or_make
from pages.brackets import InRounds
from pages.contenders import Contender, read_contenders
from pages.crosstables import MAX_ENTRANTS
from pages.records import Record, add_seats
from pages.round_tables import MOST_RANKED, RankedAgent

EVERY_S = 5.0
MOST_NAMED = 5
_STATES = Tournament.State


class Line(NamedTuple):
    """An entrant of the standings; place None where nothing places it."""

    place: int | None
    agent: Contender
    record: Record
    rating: str
    points: str = ""
    n_byes: int = 0
    reached: str = ""

    @property
    def score(self) -> float | None:
        """Its share of the points in percent, None before its first match."""
        record = self.record
        return 100 * (record.wins + record.draws / 2) / record.n if record.n else None


class Results(NamedTuple):
    """The standings, and who beat whom among the first of them.

    by_rating: who meets whom is chosen by results, so shares of points compare nobody. is_whole:
    every outcome that there is was counted. met: (first, second, won, drawn, lost).
    """

    lines: list[Line]
    met: list[tuple[int, int, int, int, int]]
    n_entrants: int
    n_matches: int
    is_whole: bool
    by_rating: bool

    @property
    def is_cut(self) -> bool:
        """Return True where there are more entrants than lines."""
        return self.n_entrants > len(self.lines)

    @property
    def records(self) -> dict[tuple[int, int], Record]:
        """The records of the first against each other."""
        return add_seats(self.met)


def describe_results(tournament: Tournament, in_rounds: InRounds | None) -> Results:
    """Return what its own matches say or said some seconds ago, made once for all who look."""
    counted = getattr(tournament, "counted", None)
    mark = (
        f"{tournament.n_planned} {tournament.n_done} {tournament.n_void} "
        f"{tournament.leaderboard.results_hash} {counted.n_matches if counted else 0}"
    )
    return get_or_make(
        f"results.{tournament.pk}",
        mark,
        lambda: read_results(tournament, in_rounds),
        form=Results,
        every_s=EVERY_S,
    )


def read_results(tournament: Tournament, in_rounds: InRounds | None) -> Results:
    """Return what its own matches say now; nothing grows with what was played."""
    agents = entrants.entrants_of(tournament)
    counts = tournament_counts.read_counts(tournament)
    rated = Rating.objects.filter(
        leaderboard=tournament.leaderboard_id, agent__in=among(agents), n_matches__gt=0
    )
    mu = dict(rated.values_list("agent_id", "mu"))
    is_by_rating = in_rounds is None and tournament.pairing in pairings.adaptive_names()
    if in_rounds is not None:
        lines = _list_in_rounds(in_rounds.table, counts, mu)
    else:
        lines = _list_lines(agents, counts, mu, is_by_rating=is_by_rating)
    first = [line.agent.pk for line in lines[:MAX_ENTRANTS]]
    meetings = tournament_counts.read_meetings(tournament, first, counts.tail)
    return Results(
        lines,
        [(*pair, *won) for pair, won in meetings.items()],
        len(agents),
        counts.n_matches,
        counts.is_whole,
        is_by_rating,
    )


def _list_lines(
    agents: Sequence[int], counts: OwnCounts, mu: Mapping[int, float], *, is_by_rating: bool
) -> list[Line]:
    """Return the standings by share of points, or by rating; agents with neither come last."""
    records = {agent: Record(*counts.agents.get(agent, ())) for agent in agents}

    def measure(agent: int) -> float | None:
        record = records[agent]
        # A rating places an agent that other tournaments rated and this one had no need of.
        if is_by_rating:
            return mu.get(agent)
        return (record.wins + record.draws / 2) / record.n if record.n else None

    strength = {agent: measure(agent) for agent in agents}
    # Sorting keeps the order of equals, in which they entered.
    order = sorted(agents, key=lambda agent: (strength[agent] is None, -(strength[agent] or 0.0)))
    contenders = read_contenders(order[:MOST_RANKED])
    lines, place = list[Line](), 1
    for number, agent in enumerate(order[:MOST_RANKED], 1):
        if number == 1 or strength[agent] != strength[order[number - 2]]:
            place = number
        is_placed = strength[agent] is not None
        lines.append(
            Line(
                place if is_placed else None,
                contenders[agent],
                records[agent],
                _format_rating(mu, agent),
            )
        )
    return lines


def _list_in_rounds(
    table: Sequence[RankedAgent], counts: OwnCounts, mu: Mapping[int, float]
) -> list[Line]:
    return [
        Line(
            row.rank,
            row.agent,
            Record(*counts.agents.get(row.agent.pk, ())),
            _format_rating(mu, row.agent.pk),
            row.points,
            row.n_byes,
            row.reached,
        )
        for row in table
    ]


def _format_rating(mu: Mapping[int, float], agent: int) -> str:
    return f"{mu[agent]:.2f}" if agent in mu else ""


class Headline(NamedTuple):
    """Who won or leads: `verb` the agents, each after what stands before it, then what with."""

    verb: str
    agents: list[tuple[str, Contender]]
    n_more: int
    tail: str


def describe_first(
    tournament: Tournament, results: Results, in_rounds: InRounds | None
) -> Headline | None:
    """Return who won or leads, None before anybody does: shared first places are said plainly."""
    first = [line for line in results.lines if line.place == 1]
    if in_rounds is not None and not _has_leader(tournament, in_rounds):
        return None
    if not first or (in_rounds is None and not _is_complete(tournament, results)):
        return None
    is_shared = len(first) > 1
    agents = [line.agent for line in first[:MOST_NAMED]]
    n_more = len(first) - len(agents)
    separators = ["", *[", "] * (len(agents) - 1)]
    if is_shared and not n_more:
        separators[-1] = " and "
    return Headline(
        _choose_verb(tournament, is_shared=is_shared, by_rating=results.by_rating),
        list(zip(separators, agents, strict=True)),
        n_more,
        _describe_score(first[0], is_shared=is_shared, by_rating=results.by_rating),
    )


def _is_complete(tournament: Tournament, results: Results) -> bool:
    """Say whether all results are counted; once the tournament is over, the latest ones too."""
    is_latest = results.n_matches == tournament.n_done
    return results.is_whole and (is_latest or tournament.state not in Tournament.OVER)


def _has_leader(tournament: Tournament, in_rounds: InRounds) -> bool:
    if in_rounds.is_decided:
        return True
    # In a bracket nobody leads; points are ahead of others once there are some.
    has_points = any(line.n_blocks for line in in_rounds.table if line.rank == 1)
    return has_points and tournament.state not in Tournament.OVER


def _choose_verb(tournament: Tournament, *, is_shared: bool, by_rating: bool) -> str:
    together = " together" if is_shared else ""
    if tournament.state == _STATES.CANCELLED:
        return f"In the lead{together} when it was cancelled:"
    if tournament.state != _STATES.DONE:
        return f"In the lead{' by rating' if by_rating else ''}{together}:"
    if by_rating:
        return "First by rating:"
    return "First place is shared by" if is_shared else "Won by"


def _describe_score(line: Line, *, is_shared: bool, by_rating: bool) -> str:
    each = " each" if is_shared else ""
    if by_rating:
        return f"with a rating of {line.rating}"
    if line.points:
        return f"with {line.points} point{'' if line.points == '1' else 's'}{each}"
    if line.reached:
        return ""
    return f"with {line.score:.1f} % of the points{each}"
