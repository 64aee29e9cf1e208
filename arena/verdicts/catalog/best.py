"""Best: which agent is above all others.

Ends with the agent of the highest rating once it is, surely enough, not worse than any other by
more than the margin. Where the agents differ by more than that it is the best; two equal best
agents end by the margin.
"""

from arena.verdicts.comparison import OrderQuestion

QUESTION = OrderQuestion(
    id="best",
    title="Which agent is the best?",
    exact="{named} is the best",
    near="{named} is the best, or worse than the best by no more than the margin",
    n_named=1,
)
