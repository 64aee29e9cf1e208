"""Why is nothing happening? What a match, tournament, campaign, agent or worker waits for: reads.

Every call takes a handful of queries by index, however much was played.
"""

from matches.services.explanations.agent import of_agent
from matches.services.explanations.campaign import of_campaign
from matches.services.explanations.form import Explanation
from matches.services.explanations.match import of_match
from matches.services.explanations.schedule import of_schedule
from matches.services.explanations.tournament import of_tournament
from matches.services.explanations.worker import of_worker

__all__ = [
    "Explanation",
    "of_agent",
    "of_campaign",
    "of_match",
    "of_schedule",
    "of_tournament",
    "of_worker",
]
