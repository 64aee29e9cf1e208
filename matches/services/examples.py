"""The example that a first start plays: agents of connect four whose order is known."""

from django.db import transaction

from matches.models import Leaderboard, Tournament
from matches.services.agents import register_spelled
from matches.services.tournaments import Plan, open_leaderboard, schedule

GAME = "connect_four"
BOARD = "connect-four"
AGENTS = (
    *("random", "greedy", "alphabeta:2", "alphabeta:4", "alphabeta:6"),
    *("mcts:30", "mcts:100", "mcts:300", "mcts:1000"),
)
# A hundred meetings of each two in both seats: some minutes on two cores, long enough to watch.
N_MATCHES = 7_200


@transaction.atomic
def seed() -> Tournament | None:
    """Schedule the example tournament, or return None when there is any leaderboard already."""
    if Leaderboard.objects.exists():
        return None
    agents = [register_spelled(text, game=GAME) for text in AGENTS]
    board = open_leaderboard(BOARD, game=GAME, title="Connect four: search against search")
    plan = Plan(name="Example tournament", n_matches=N_MATCHES, seed=1)
    return schedule(plan, leaderboard=board, agents=agents)
