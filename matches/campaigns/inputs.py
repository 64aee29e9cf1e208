"""How people ask: agents by name, a margin in units that they know."""

from collections.abc import Sequence

from arena.errors import ArenaError
from arena.verdicts.scale import gap_of_elo, gap_of_points
from matches.errors import BadInputError
from matches.models import Agent, Leaderboard
from matches.plans import CampaignPlan
from matches.store.bulk import among

SHOWN_MISSING = 10
MAX_AGENTS = 10_000


def margin_of(plan: CampaignPlan, leaderboard: Leaderboard) -> float:
    """Return the gap in rating between agents that are nearly equal. Raises BadInputError."""
    units = (plan.margin, plan.margin_elo, plan.margin_points)
    n_given = sum(unit is not None for unit in units)
    if n_given > 1:
        wanted = "give it once, as margin, margin_elo or margin_points"
        raise BadInputError("margin", f"{wanted}, got {n_given} of them")
    if plan.margin_elo is not None:
        return _converted("margin_elo", plan.margin_elo, leaderboard)
    if plan.margin_points is not None:
        return _converted("margin_points", plan.margin_points, leaderboard)
    return plan.margin or 0.0


def _converted(field: str, value: float, leaderboard: Leaderboard) -> float:
    gap_of = gap_of_elo if field == "margin_elo" else gap_of_points
    if not value >= 0:
        raise BadInputError(field, f"must be 0 or more, got {value!r}")
    try:
        return gap_of(value, draw_probability=leaderboard.draw_probability)
    except ArenaError as error:
        raise BadInputError(field, str(error)) from error


def entrants(leaderboard: Leaderboard, names: Sequence[str]) -> list[Agent]:
    """Return agents of the leaderboard's game by name; without names all that are rated on it.

    Of all, those retired or in quarantine are left out. Raises BadInputError.
    """
    if not names:
        return _all(leaderboard)
    known = Agent.objects.filter(game=leaderboard.game)
    found = {agent.name: agent for agent in known.filter(name__in=set(names))}
    missing = [name for name in dict.fromkeys(names) if name not in found]
    if missing:
        named = ", ".join(map(repr, missing[:SHOWN_MISSING]))
        more = f" and {n} more" if (n := len(missing) - SHOWN_MISSING) > 0 else ""
        wanted = f"there is no agent of {leaderboard.game} named {named}{more}"
        raise BadInputError("agents", f"{wanted}: register it first")
    return [found[name] for name in names]


def _all(leaderboard: Leaderboard) -> list[Agent]:
    rated = leaderboard.rating_set.filter(agent__is_retired=False, agent__quarantined_at=None)
    ids = list(rated.order_by("agent").values_list("agent", flat=True)[: MAX_AGENTS + 1])
    if len(ids) > MAX_AGENTS:
        raise BadInputError("agents", f"name them: more than {MAX_AGENTS:,} are on the leaderboard")
    return list(Agent.objects.filter(pk__in=among(ids)).order_by("pk"))


def title(question: str, leaderboard: Leaderboard, n_agents: int) -> str:
    """Return a name for a campaign that was given none."""
    return f"{question}: {n_agents} agents of {leaderboard.name}"[:120]
