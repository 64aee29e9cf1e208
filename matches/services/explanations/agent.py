"""Why a agent stands where it stands."""

from datetime import datetime

from matches.models import Agent
from matches.services.explanations.form import Explanation


def of_agent(agent: Agent, *, now: datetime) -> Explanation:
    """Return the explanation of a agent."""
    return Explanation("agent", agent.pk, str(agent), "", None, None, "", (), "", None, ())
