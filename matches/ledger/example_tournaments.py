"""The example that a first start plays: a network in training against search of known order."""

from collections.abc import Sequence

from django.conf import settings
from django.db import transaction

from matches.artifacts.agents import register_spelled_agent
from matches.artifacts.checkpoints import New, add_run, read_run_folder
from matches.ledger.tournaments import open_leaderboard, schedule_tournament
from matches.models import Agent, Leaderboard, Tournament
from matches.plans import TournamentPlan
from matches.store.clock import db_now

GAME = "connect_four"
BOARD = "connect-four"
SEARCHERS = (
    "random",
    "greedy",
    "alphabeta:2",
    "alphabeta:4",
    "alphabeta:6",
    "mcts:100",
    "mcts:1000",
)
RUN = "selfplay"
CHECKPOINTS = settings.BASE_DIR / "examples" / GAME / "checkpoints"

# In a round every two agents meet in both seats. The first tournament moves the board while the
# checkpoints are checked; the second takes some minutes on two cores: long enough to watch.
SEARCH_ROUNDS, ROUNDS = 20, 30


@transaction.atomic
def schedule_examples() -> list[Tournament]:
    """Schedule the example tournaments; none when there is any leaderboard already."""
    if Leaderboard.objects.exists():
        return []
    searchers = [register_spelled_agent(text, game=GAME) for text in SEARCHERS]
    trained = add_run(read_run_folder(CHECKPOINTS, New(name=RUN, game=GAME)), now=db_now())
    board = open_leaderboard(BOARD, game=GAME, title="Connect four: self-play against search")
    return [
        _schedule_rounds("Search agents", searchers, board, rounds=SEARCH_ROUNDS, seed=1),
        _schedule_rounds(
            "Checkpoints and search", [*trained, *searchers], board, rounds=ROUNDS, seed=2
        ),
    ]


def _schedule_rounds(
    name: str, agents: Sequence[Agent], board: Leaderboard, *, rounds: int, seed: int
) -> Tournament:
    n_matches = rounds * len(agents) * (len(agents) - 1)
    plan = TournamentPlan(name=name, n_matches=n_matches, seed=seed)
    return schedule_tournament(plan, leaderboard=board, agents=agents)
