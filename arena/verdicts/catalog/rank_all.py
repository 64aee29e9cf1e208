"""Rank all: the order of all agents, all pairs right at once.

Ends once, surely enough, no agent is better than one ranked above it by more than the margin.
Without a margin equal agents never end it.
"""

from arena.verdicts.beliefs import N_TOP
from arena.verdicts.comparison import OrderQuestion

QUESTION = OrderQuestion(
    id="rank_all",
    title="What is the order of all agents?",
    exact="{named}",
    near="{named}, up to the margin",
    n_named=N_TOP,
    is_ranking=True,
    most_agents=N_TOP,
)
