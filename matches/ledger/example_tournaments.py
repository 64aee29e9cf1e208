"""The example that a first start plays: a network in training against search of known order."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from django.conf import settings
from django.db import transaction

from matches.artifacts.agents import register_spelled_agent
from matches.artifacts.checkpoints import New, add_run, read_run_folder
from matches.ledger.noted_changes import add_with_audit
from matches.ledger.tournaments import open_leaderboard, schedule_tournament
from matches.models import Agent, Leaderboard, Tournament
from matches.plans import TournamentPlan
from matches.store.auditing import COMMAND_LINE
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
    """Schedule the example tournaments; none when there is any leaderboard already.

    The audit has what was added, as whoever uses these agents and this board may ask where they
    come from.
    """
    if Leaderboard.objects.exists():
        return []
    now = db_now()
    search = add_with_audit(_schedule_search, actor=COMMAND_LINE, now=now)
    schedule_all = partial(_schedule_all, search.leaderboard, now=now)
    return [search, add_with_audit(schedule_all, actor=COMMAND_LINE, now=now)]


def _schedule_search() -> Tournament:
    board = open_leaderboard(BOARD, game=GAME, title="Connect four: self-play against search")
    return _schedule_rounds("Search agents", _register_searchers(), board, SEARCH_ROUNDS, seed=1)


def _schedule_all(board: Leaderboard, *, now: datetime) -> Tournament:
    files = read_run_folder(CHECKPOINTS, New(name=RUN, game=GAME))
    trained = add_run(files, actor=COMMAND_LINE, now=now)
    agents = [*trained, *_register_searchers()]
    return _schedule_rounds("Checkpoints and search", agents, board, ROUNDS, seed=2)


def _register_searchers() -> list[Agent]:
    return [register_spelled_agent(text, game=GAME) for text in SEARCHERS]


def _schedule_rounds(
    name: str, agents: Sequence[Agent], board: Leaderboard, rounds: int, *, seed: int
) -> Tournament:
    n_matches = rounds * len(agents) * (len(agents) - 1)
    plan = TournamentPlan(name=name, n_matches=n_matches, seed=seed)
    return schedule_tournament(plan, leaderboard=board, agents=agents)
