"""How people ask: agents by name, a margin in units that they know."""

from collections.abc import Sequence

from arena.errors import ArenaError
from arena.policies.spec import is_spelled
from arena.verdicts.base import MIN_AGENTS
from arena.verdicts.scale import gap_of_elo, gap_of_points
from matches.errors import BadInputError
from matches.ledger.tournaments import open_leaderboard
from matches.models import Agent, Leaderboard
from matches.plans import CampaignPlan
from matches.store.bulk import among

SHOWN_MISSING = 10
MAX_AGENTS = 10_000
# Above the 50 % of equals: who always wins.
_ALL_POINTS = 50
MOST_MARGIN = 100
"""In units of rating: some 4,500 Elo, as for the lead of `beats`."""


def convert_margin(plan: CampaignPlan, leaderboard: Leaderboard) -> float:
    """Return the gap in rating, or in score, between agents that are nearly equal.

    Raises BadInputError.
    """
    units = (plan.margin, plan.margin_elo, plan.margin_points, plan.margin_score)
    n_given = sum(unit is not None for unit in units)
    if n_given > 1:
        names = "margin, margin_elo, margin_points or margin_score"
        raise BadInputError("margin", f"give it once, as {names}, got {n_given} of them")
    if plan.margin_score is not None:
        return plan.margin_score
    if plan.margin_elo is not None:
        return _convert_gap("margin_elo", plan.margin_elo, leaderboard)
    if plan.margin_points is not None:
        return _convert_gap("margin_points", plan.margin_points, leaderboard)
    check_margin(plan.margin or 0.0)
    return plan.margin or 0.0


def check_margin(margin: float) -> None:
    """Refuse a gap in rating that no two agents have. Raises BadInputError."""
    if margin > MOST_MARGIN:
        raise BadInputError("margin", f"must be at most {MOST_MARGIN:g}, got {margin!r}")


def _convert_gap(field: str, value: float, leaderboard: Leaderboard) -> float:
    gap_of = gap_of_elo if field == "margin_elo" else gap_of_points
    if not value >= 0:
        raise BadInputError(field, f"must be 0 or more, got {value!r}")
    if field == "margin_points" and value >= _ALL_POINTS:
        raise BadInputError(field, f"must be below {_ALL_POINTS}, got {value!r}")
    try:
        return gap_of(value, draw_probability=leaderboard.current_draw_probability)
    except ArenaError as error:
        raise BadInputError(field, str(error)) from error


def find_entrants(leaderboard: Leaderboard, names: Sequence[str]) -> list[Agent]:
    """Return agents of the leaderboard's game by name; without names all that are rated on it.

    Of all, those retired or in quarantine are left out. Raises BadInputError.
    """
    if not names:
        rated = leaderboard.rating_set.filter(agent__is_retired=False, agent__quarantined_at=None)
        ids = list(rated.order_by("agent").values_list("agent", flat=True)[: MAX_AGENTS + 1])
        if len(ids) > MAX_AGENTS:
            too_many = f"name them: more than {MAX_AGENTS:,} are on the leaderboard"
            raise BadInputError("agents", too_many)
        if len(ids) < MIN_AGENTS:
            needed = f"a question needs {MIN_AGENTS} agents or more"
            rated_text = f"{len(ids)} that play are rated on {leaderboard.name}"
            raise BadInputError("agents", f"{needed}, and {rated_text}: name them")
        return list(Agent.objects.filter(pk__in=among(ids)).order_by("pk"))
    named_agents = Agent.objects.filter(game=leaderboard.game, name__in=set(names))
    by_name = {agent.name: agent for agent in named_agents}
    missing = [name for name in dict.fromkeys(names) if name not in by_name]
    if missing:
        raise BadInputError("agents", _describe_missing(missing, leaderboard.game))
    return [by_name[name] for name in names]


def _describe_missing(names: Sequence[str], game: str) -> str:
    shown = ", ".join(map(repr, names[:SHOWN_MISSING]))
    more = f" and {n} more" if (n := len(names) - SHOWN_MISSING) > 0 else ""
    by_itself = (
        " (`evaluate` does so with any that is spelled)" if any(map(is_spelled, names)) else ""
    )
    return f"there is no agent of {game} named {shown}{more}: register it first{by_itself}"


def open_board(name: str, *, game: str, title: str) -> Leaderboard:
    """Return the leaderboard of this name, opened if there is none. Raises BadInputError."""
    board = Leaderboard.objects.filter(name=name).first()
    if board is None:
        try:
            board = open_leaderboard(name, game=game, title=title)
        except BadInputError:
            # Another call may have opened it meanwhile.
            board = Leaderboard.objects.filter(name=name).first()
            if board is None:
                raise
    if board.game != game:
        raise BadInputError("leaderboard", f"{name!r} is of {board.game}, not of {game}")
    return board


def make_title(question: str, leaderboard: Leaderboard, n_agents: int) -> str:
    """Return a name for a campaign that was given none."""
    return f"{question}: {n_agents} agents of {leaderboard.name}"[:120]
