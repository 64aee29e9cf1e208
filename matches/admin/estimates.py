"""What a tournament would take, for the forms that start one."""

from collections.abc import Sequence
from datetime import datetime

from matches.campaigns.texts import LabelledText, describe_costs
from matches.ledger import costs
from matches.models import Agent, Leaderboard
from matches.store.formats import format_count


def describe_estimate(
    n_matches: int,
    *,
    leaderboard: Leaderboard,
    agents: Sequence[Agent],
    n_known: int = 0,
    now: datetime,
) -> list[LabelledText]:
    """Return matches, time and cost in words, by what the game has played so far.

    n_known: how many of the matches are known games, which are not played again.
    """
    entered = [agent.pk for agent in agents]
    cost = costs.estimate_match_cost(leaderboard, entered, now=now)
    text = f"at most {n_matches:,}, among {format_count(len(entered), 'agent')}"
    lines = [LabelledText("Matches", text)]
    if n_known:
        known_text = f"{n_known:,}, not played again: {n_matches - n_known:,} are left to play"
        lines.append(LabelledText("Known already", known_text))
    return [*lines, *describe_costs(cost.of(n_matches - n_known))]
