"""Why is nothing happening? What a match, tournament, campaign, agent or worker waits for: reads.

Every call takes a handful of queries by index, however much was played.
"""

from matches.operations.explanations.agent import of_agent
from matches.operations.explanations.campaign import of_campaign
from matches.operations.explanations.match import of_match
from matches.operations.explanations.schedule import of_schedule
from matches.operations.explanations.tournament import of_tournament
from matches.operations.explanations.worker import of_worker
from matches.store.explanation import Explanation

__all__ = [
    "Explanation",
    "of_agent",
    "of_campaign",
    "of_match",
    "of_schedule",
    "of_tournament",
    "of_worker",
]
