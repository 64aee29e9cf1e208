"""One evaluation from the command line: agents, a leaderboard of their own, a tournament."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import TypeVar

from django.db import transaction
from msgspec.structs import replace

from arena.errors import ArenaError
from arena.seeding import derive
from matches.artifacts.agents import register_spelled_agent
from matches.errors import BadInputError
from matches.ledger.naming import describe_no_board, find_agent
from matches.ledger.tournaments import open_leaderboard, schedule_tournament
from matches.models import Agent, Leaderboard, Tournament
from matches.models.validation import check_game
from matches.plans import TournamentPlan

SKILL_GAME = "skill_game"
N_LEVELS = 100
T = TypeVar("T")


@dataclass(frozen=True)
class Evaluation:
    """What to evaluate: the agents as spelled, or how many to draw for the test game."""

    game: str
    plan: TournamentPlan
    agents: Sequence[str] = ()
    num_agents: int = 10
    leaderboard: str = ""
    """A standing one; empty: one of their own is opened."""
    game_parameters: Mapping[str, object] = field(default_factory=dict)


def check_evaluation(evaluation: Evaluation, *, now: datetime, of: Callable[[Tournament], T]) -> T:
    """Return what `of` returns for the tournament that would be started; leave nothing behind.

    Raises BadInputError if it could not start.
    """
    with transaction.atomic():
        answer = of(start_evaluation(evaluation, now=now))
        # Started for real, so that every check is made, and then undone.
        transaction.set_rollback(True)
    return answer


@transaction.atomic
def start_evaluation(evaluation: Evaluation, *, now: datetime) -> Tournament:
    """Register the agents and schedule their tournament; all or, with BadInputError, nothing."""
    agents = _register_agents(evaluation)
    board = _find_or_open_board(evaluation, now=now)
    # It measures: known matches are played again, and come out the same.
    plan = replace(evaluation.plan, replays=True)
    return schedule_tournament(plan, leaderboard=board, agents=agents)


def _find_or_open_board(evaluation: Evaluation, *, now: datetime) -> Leaderboard:
    """Return the standing leaderboard that was named, else a new one for this evaluation.

    Raises BadInputError: there is none of that name, or it is of other rules.
    """
    game, name, parameters = evaluation.game, evaluation.leaderboard, evaluation.game_parameters
    if not name:
        return open_leaderboard(
            f"evaluate-{now:%Y%m%d-%H%M%S-%f}",
            title=f"{game}, {now:%Y-%m-%d %H:%M}",
            game=game,
            game_parameters=_read_parameters(game, parameters),
            # After an hour of evaluations nobody would find their own board among them.
            is_listed=False,
        )
    board = Leaderboard.objects.filter(name=name).first()
    if board is None:
        raise BadInputError("leaderboard", describe_no_board(name))
    if board.game != game:
        raise BadInputError("leaderboard", f"{name!r} is of {board.game}, not {game}")
    if parameters and _read_parameters(board.game, parameters) != board.game_parameters:
        raise BadInputError("leaderboard", f"{name!r} has other rules: {board.game_parameters}")
    return board


def _read_parameters(game: str, parameters: Mapping[str, object]) -> dict[str, object]:
    """Return all parameters of a game, converted to their types."""
    return dict(check_game(game, parameters).parameters)


def draw_levels(seed: int, n: int) -> list[int]:
    """Return the hidden levels of n agents of the test game."""
    rng = Random(derive("levels", seed))
    return [rng.randrange(N_LEVELS) for _ in range(n)]


def _register_agents(evaluation: Evaluation) -> list[Agent]:
    """Register the agents that were named, or of the test game an agent for each drawn level."""
    game = evaluation.game
    try:
        if evaluation.agents:
            return [find_agent(text, game=game) for text in evaluation.agents]
        check_game(game, {})
        if game != SKILL_GAME:
            raise BadInputError("agents", f"{game} needs --agents, such as --agents random,greedy")
        copies: Counter[int] = Counter()
        agents = []
        for level in draw_levels(evaluation.plan.seed, evaluation.num_agents):
            copies[level] += 1
            agents.append(register_spelled_agent(f"level:{level}", game=game, copy=copies[level]))
        return agents
    except ArenaError as error:
        raise BadInputError("agents", str(error)) from error
