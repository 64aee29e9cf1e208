"""The table of a task: its agents by mean score, and how far one of them is ahead of each other."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from arena.games.base import GameSpec
from matches.models import Agent, Leaderboard, Rating
from matches.ratings import axes, standings
from matches.ratings.score_leads import N_ERRORS, Lead, PlayedEpisode, read_leads
from matches.store.catalog import policy_title
from matches.store.formats import format_percent, format_score
from pages.lists.address import BadAddressError

MOST_AGENTS = 40
MAX_BOARDS = 6


class Row(NamedTuple):
    """An agent as it is shown; low, at, high: its place on the axis, None where nothing is drawn.

    lead: that of the chosen agent over it, with its standard error. ahead: on which share of the
    seeds that agent scored higher; clearly: by more than the margin of the game. All of them are
    empty for the chosen agent itself.
    """

    agent: Agent
    kind: str
    mean: str
    interval: str
    n_episodes: int
    is_chosen: bool
    lead: str = ""
    error: str = ""
    low: float | None = None
    at: float | None = None
    high: float | None = None
    n_seeds: int | None = None
    ahead: str = ""
    clearly: str = ""
    verdict: str = ""


class LeadTable(NamedTuple):
    """A task, the leaderboard that is read, those it can be read of, and its agents.

    chosen: whose lead is shown, None where nobody has played; episodes: of it, to be watched, the
    best and the worst; n_read: how many of its seeds were read, where it has played more.
    """

    spec: GameSpec
    boards: Sequence[Leaderboard]
    board: Leaderboard | None
    chosen: Agent | None = None
    rows: Sequence[Row] = ()
    axis: axes.Axis | None = None
    episodes: Sequence[tuple[str, PlayedEpisode]] = ()
    n_read: int = 0
    is_cut: bool = False
    are_more: bool = False


def list_boards(game: str) -> list[Leaderboard]:
    """Return the first leaderboards of a game that have counted something: listed ones, pinned."""
    boards = Leaderboard.objects.filter(game=game, is_rated=True, n_counted__gt=0)
    order = ("-is_listed", "-is_pinned", "-n_counted", "-pk")
    return list(boards.order_by(*order)[:MAX_BOARDS])


def make_lead_table(
    spec: GameSpec, *, board: Leaderboard | None = None, agent: Agent | None = None
) -> LeadTable:
    """Return the table of a task: five queries, however many agents and matches there are.

    board, agent: what is asked for; else the first leaderboard, and of its checkpoints the one of
    the highest mean score, without any the agent. Raises BadAddressError: it has not played there.
    """
    boards = list_boards(spec.id)
    board = board or (boards[0] if boards else None)
    table = LeadTable(spec, boards, board)
    if board is None:
        return table
    ratings, are_more = _read_ratings(board, agent)
    chosen = agent or _choose_agent(ratings)
    if chosen is None:
        return table
    others = [rating.agent_id for rating in ratings if rating.agent_id != chosen.pk]
    leads = read_leads(board, chosen.pk, others)
    rows = [_describe_row(rating, leads.by_agent.get(rating.agent_id)) for rating in ratings]
    return table._replace(
        chosen=chosen,
        rows=rows,
        axis=_fit_axis(rows),
        episodes=_choose_episodes(leads.own.values(), spec.score_margin),
        n_read=len(leads.own),
        is_cut=leads.is_cut,
        are_more=are_more,
    )


def _read_ratings(board: Leaderboard, agent: Agent | None) -> tuple[list[Rating], bool]:
    """Return the ratings of the first agents and of the chosen one, the highest mean first.

    And whether there are more. Raises BadAddressError: that agent has played nothing there.
    """
    played = standings.rank_played(board.pk)
    first = list(played[: MOST_AGENTS + 1])
    ratings = first[:MOST_AGENTS]
    if agent is not None and agent.pk not in {rating.agent_id for rating in ratings}:
        rating_of_agent = list(played.filter(agent=agent))
        if not rating_of_agent:
            raise BadAddressError(f"{agent} has no episode that counts on {board}: choose another")
        ratings += rating_of_agent
    return sorted(ratings, key=_make_sort_key), len(first) > MOST_AGENTS


def _choose_agent(ratings: Sequence[Rating]) -> Agent | None:
    """Return the first agent that is a checkpoint, without one the first."""
    agents = [rating.agent for rating in ratings]
    checkpoints = [agent for agent in agents if agent.checkpoint_id]
    return next(iter([*checkpoints, *agents]), None)


def _make_sort_key(rating: Rating) -> tuple[bool, float, int]:
    return rating.mean_score is None, -(rating.mean_score or 0.0), rating.agent_id


def _fit_axis(rows: Sequence[Row]) -> axes.Axis | None:
    """Return an axis that holds 0 and all leads with their errors; None where there are none."""
    ends = [end for row in rows for end in (row.low, row.high) if end is not None]
    return axes.fit_axis_to([0.0, *ends]) if ends else None


def _describe_row(rating: Rating, lead: Lead | None) -> Row:
    mean, interval = "", ""
    if rating.mean_score is not None:
        ends = rating.score_low, rating.score_high
        mean, interval = standings.format_mean(rating.mean_score, *ends)
    kind = policy_title(rating.agent.policy)
    row = Row(rating.agent, kind, mean, interval, rating.n_matches, is_chosen=lead is None)
    return row._replace(**_describe_lead(lead)) if lead else row


def _describe_lead(lead: Lead) -> dict[str, Any]:
    if not lead.n_seeds:
        return {"n_seeds": 0, "verdict": "no common seed"}
    cells: dict[str, Any] = {
        "n_seeds": lead.n_seeds,
        "ahead": format_percent(lead.n_higher / lead.n_seeds),
        "clearly": format_percent(lead.n_better / lead.n_seeds),
        "verdict": _tell_apart(lead),
    }
    if lead.mean is not None:
        cells["lead"] = _format_lead(lead.mean, lead.error)
    if lead.mean is not None and lead.error is not None:
        cells["error"] = format_score(lead.error, lead.error)
        reach = N_ERRORS * lead.error
        ends = lead.mean - reach, lead.mean, lead.mean + reach
        cells |= zip(("low", "at", "high"), (float(f"{end:.6g}") for end in ends), strict=True)
    return cells


def _format_lead(mean: float, error: float | None) -> str:
    number = format_score(mean, error)
    return f"+{number}" if mean > 0 and number.strip("0.") else number


def _tell_apart(lead: Lead) -> str:
    if not lead.is_enough:
        return "too few seeds"
    if lead.n_equal == lead.n_seeds:
        # By the rules of the game they are equal, however sure a difference below its margin is.
        return "level"
    if not lead.is_apart:
        return "no"
    return "yes, ahead" if (lead.mean or 0.0) > 0 else "yes, behind"


def _choose_episodes(
    played: Iterable[PlayedEpisode], margin: float
) -> list[tuple[str, PlayedEpisode]]:
    """Return the best and the worst of the episodes that ended with a score, once if it is one.

    margin: how far two scores may lie apart that count as equal; texts show a tenth of it.
    """
    scored = sorted((episode.score, episode) for episode in played if episode.score is not None)
    ends = dict.fromkeys([scored[-1], scored[0]] if scored else [])
    return [(format_score(score, margin), episode) for score, episode in ends]
