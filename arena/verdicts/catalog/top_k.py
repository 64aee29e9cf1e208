"""Top k: which agents are above the rest, in any order.

Ends once the k agents of the highest ratings are, surely enough, none of them worse than any other
agent by more than the margin.
"""

from arena.parameters import Parameter
from arena.verdicts.beliefs import N_TOP
from arena.verdicts.comparison import OrderQuestion

_K = 3

QUESTION = OrderQuestion(
    id="top_k",
    title="Which agents are the best k?",
    exact="{named} are the best {n}",
    near="{named} are the best {n}, or worse than another by no more than the margin",
    n_named=_K,
    parameters=(Parameter("k", _K, "how many", 1, N_TOP - 1),),
)
