"""Games and seats in words, the same on every page."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from arena.errors import ArenaError
from arena.games import registry as games
from arena.messages import Reason
from arena.ratings.base import Constants
from arena.ratings.live import update_ranked
from arena.teams import are_mates, team_size
from matches.models import Attempt, Match, Outcome, Rating
from matches.models.match import parse_numbers
from matches.ratings.score_counting import read_score
from matches.store.catalog import game_teams
from matches.store.formats import format_count

PAIR = 2
_LIVE = ("live_mu", "live_sigma")


_WON = ("won", "place 1", "place 1, shared")
_FAULTS: dict[str, str] = {
    Reason.CRASH: "it crashed",
    Reason.ILLEGAL: "an illegal move",
    Reason.INVALID: "an invalid answer",
    Reason.TIMEOUT: "it took too long",
}


# Characters of an error within a sentence; the table of attempts has all of it.
_MOST_SAID = 120
_OF_A_MOVE = (Reason.ILLEGAL, Reason.INVALID)
# What errors are told with: their class before the words, and the line of code behind them.
_CODE = re.compile(r"^[\w.]*Error: |\s\([\w.<>]+:\d+\)$")


class Record(NamedTuple):
    """What the three counts of an agent's results are called: in full, and in a narrow column."""

    title: str
    label: str


_OF_TWO = Record("Wins, draws, losses", "W / D / L")
# Who shares the first place of three has not drawn: somebody did worse.
_OF_MORE = Record("First place alone, first place shared, a lower place", "1st / =1st / lower")


_OF_ONE = Record(
    "Better, equal, worse scores than others on the same seeds", "+ / = / \N{MINUS SIGN}"
)


def name_record(game: str) -> Record:
    """Return what wins, draws and losses are called in a game of so many sides."""
    try:
        spec = games.get(game).spec
    except ArenaError:
        return _OF_TWO  # the file of the game is gone or broken: its results are still shown
    if spec.is_scored:
        return _OF_ONE
    return _OF_TWO if spec.n_sides == PAIR else _OF_MORE


def list_seats(match: Match, *, game: str) -> list[dict[str, Any]]:
    """Return who sat where and how it ended for each, in words; team mates one after the other.

    struck: how a match that is void had ended, which counts no more; its result is empty.
    """
    outcome = getattr(match, "outcome", None)
    is_void = match.state == Match.State.VOID
    ranks = parse_numbers(outcome.ranks) if outcome else []
    teams = game_teams(game)
    team_of = dict(enumerate(teams))
    # Seats are taken from the prefetched rows: ordering them in the database would ask it again.
    rows = sorted(match.seat_rows.all(), key=lambda row: (team_of.get(row.seat, 0), row.seat))
    seats = [
        {
            "seat": row.seat,
            "team": team_of[row.seat] + 1 if teams else None,
            "joins": before is not None and are_mates(teams, before.seat, row.seat),
            "agent": row.agent,
            "result": _describe_seat(outcome, ranks, row.seat, team_size(teams)) if outcome else "",
            "struck": "",
            "is_guilty": outcome is not None and outcome.guilty_seat == row.seat and not is_void,
            "fault": tell_reason(outcome) if outcome else "",
        }
        for before, row in zip([None, *rows], rows, strict=False)
    ]
    if is_void:
        return [{**seat, "result": "", "struck": seat["result"]} for seat in seats]
    return seats


def tell_result(match: Match, seats: Sequence[Mapping[str, Any]]) -> str:
    """Return who won and how a recorded match ended, in one sentence."""
    outcome = match.outcome
    n_moves = len(outcome.actions.split())
    length = f" after {format_count(n_moves, 'move')}" if n_moves else ""
    # Of what was played elsewhere the moves are not known.
    by_the_rules = f" by the rules{length}" if n_moves else ""
    results = {seat["seat"]: seat["result"] or seat["struck"] for seat in seats}
    winners = " and ".join(str(seat["agent"]) for seat in seats if results[seat["seat"]] in _WON)
    if outcome.is_forfeit:
        guilty = next(seat["agent"] for seat in seats if seat["seat"] == outcome.guilty_seat)
        lost = f"{guilty} lost by forfeit{length}: {tell_fault(match)}."
        return f"{winners} won. {lost}" if winners else lost
    if len(seats) == 1:
        return f"{results[seats[0]['seat']].capitalize()}{by_the_rules}."
    return f"{winners} won{by_the_rules}." if winners else f"A draw{by_the_rules}."


def tell_reason(outcome: Outcome) -> str:
    """Return in words why a seat lost by forfeit."""
    return _FAULTS.get(outcome.reason, outcome.reason)


def tell_fault(match: Match) -> str:
    """Return why a seat lost by forfeit, and the move or answer that it made where that is known.

    Reads the attempts of the match where they did not come with it.
    """
    reason = tell_reason(match.outcome)
    forfeits = [
        attempt.detail
        for attempt in match.attempts.all()
        if attempt.ending == Attempt.Ending.FORFEIT
    ]
    detail = _CODE.sub("", forfeits[-1]) if forfeits else ""
    detail = detail if len(detail) <= _MOST_SAID else f"{detail[:_MOST_SAID]}…"
    # Where it crashed or took too long, the attempt says more than a sentence can hold.
    return f"{reason} ({detail})" if detail and match.outcome.reason in _OF_A_MOVE else reason


def weigh_result(match: Match) -> dict[int, float]:
    """Return by seat how far such a result moves the live ratings as they are now.

    What it moved when it came cannot be told from later ones: ratings are kept by the minute. Empty
    for a match that is not rated, or whose agents have no rating yet.
    """
    board = match.tournament.leaderboard
    if not match.tournament.is_rated or match.state != Match.State.DONE:
        return {}
    rows = Rating.objects.filter(leaderboard=board, agent__in=match.agent_ids)
    ratings = {agent: live for agent, *live in rows.values_list("agent_id", *_LIVE)}
    try:
        before = [(mu, sigma) for mu, sigma in map(ratings.__getitem__, match.agent_ids)]
        constants = Constants(draw_probability=board.draw_probability)
        teams = games.get(board.game).spec.teams
        after = update_ranked(before, parse_numbers(match.outcome.ranks), constants, teams)
    except (KeyError, ArenaError):
        return {}
    return {seat: mu - before[seat][0] for seat, (mu, _) in enumerate(after)}


def _describe_seat(outcome: Outcome, ranks: list[int], seat: int, size: int) -> str:
    if len(ranks) > 1:
        return _describe_rank(ranks, seat, size)
    score = read_score(outcome.returns)
    return "lost" if score is None else f"score {score:,.6g}"


def _describe_rank(ranks: list[int], seat: int, size: int) -> str:
    rank = ranks[seat]
    if ranks.count(rank) == len(ranks):
        return "draw"
    if len(ranks) == PAIR * size:
        return "lost" if rank else "won"
    # Mates share a rank, so that places are counted in teams.
    place = f"place {rank // size + 1}"
    return f"{place}, shared" if ranks.count(rank) > size else place
