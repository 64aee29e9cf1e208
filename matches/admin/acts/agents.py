"""What an operator does with agents."""

from matches.admin.acts.base import (
    Changed,
    ChosenRow,
    ConfirmedRow,
    Effect,
    NotedAct,
    refuse_act,
)
from matches.admin.acts.holding import QuarantineAct, ReleaseAct
from matches.artifacts import agents
from matches.ledger import quarantine
from matches.models import Agent, Rating, Tournament
from matches.store.formats import format_count

_STATES = Tournament.State
MAX_NAMED = 3
CHANGE = "matches.change_agent"


class Retire(NotedAct[Agent]):
    """Enter an agent in nothing new."""

    name, title, icon, permission = "retire", "Retire", "bedtime", CHANGE
    question = "Retire agents?"
    consequence = (
        "They are entered in no new tournament and stay on their leaderboards; tournaments under "
        "way go on with them. Taking them back undoes it."
    )

    def preview_effect(self, chosen: ChosenRow[Agent]) -> Effect:
        """Return where it stands and what goes on."""
        row = chosen.row
        return (
            refuse_act("it is retired already")
            if row.is_retired
            else Effect(_describe_standing(row))
        )

    def change_row(self, chosen: ConfirmedRow[Agent]) -> Changed:
        row = chosen.row
        agents.retire_agent(row)
        return f"{row} is retired", {}


class Unretire(NotedAct[Agent]):
    """Let an agent be entered again."""

    name, title, icon, permission = "unretire", "Take back", "wb_sunny", CHANGE
    question = "Take agents back from retirement?"
    consequence = "They can be entered in new tournaments again. Retiring them undoes it."

    def preview_effect(self, chosen: ChosenRow[Agent]) -> Effect:
        row = chosen.row
        return (
            Effect(_describe_standing(row)) if row.is_retired else refuse_act("it is not retired")
        )

    def change_row(self, chosen: ConfirmedRow[Agent]) -> Changed:
        row = chosen.row
        agents.unretire_agent(row)
        return f"{row} can be entered again", {}


class Quarantine(QuarantineAct[Agent]):
    """Hold back all matches of an agent."""

    permission = CHANGE
    service = staticmethod(quarantine.quarantine_agent)
    question = "Put agents into quarantine?"
    consequence = (
        "No more matches of theirs are sent, so tournaments with them wait; matches under way are "
        "played to their end and count. Releasing them undoes it."
    )

    def preview_stop(self, chosen: ChosenRow[Agent]) -> Effect:
        """Return which tournaments would wait."""
        return Effect(_describe_standing(chosen.row))


class Release(ReleaseAct[Agent]):
    """Let an agent play again."""

    permission = CHANGE
    service = staticmethod(quarantine.release_agent)
    question = "Release agents from quarantine?"
    consequence = "Their matches are sent again. Another quarantine undoes it."


def _describe_standing(agent: Agent) -> str:
    """Return on how many leaderboards it stands and in which tournaments it plays."""
    n_boards = Rating.objects.filter(agent=agent).count()
    playing = agent.tournaments.filter(state__in=Tournament.UNDER_WAY).values_list(
        "name", flat=True
    )
    names = list(playing.order_by("-pk")[: MAX_NAMED + 1])
    named_tournaments = ", ".join(names[:MAX_NAMED]) + (" and more" if names[MAX_NAMED:] else "")
    under_way = f"plays in {named_tournaments}" if names else "in no tournament under way"
    return f"{agent.game}, on {format_count(n_boards, 'leaderboard')}, {under_way}"


ACTS = (Retire(), Unretire(), Quarantine(), Release())
