"""The checkpoints of training runs on a leaderboard: which are listed, and which have settled."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from django.db.models import Count, QuerySet

from matches.models import Agent, Leaderboard, Rating
from matches.ratings import standings
from matches.ratings.standings import Row
from matches.store.bulk import among
from pages.plots import settling
from pages.plots.charts import MIN_POINTS, thin_out

MAX_LISTED = 100
"""Of a run: more would run into each other."""
_SCORES = ("mean_score", "score_low", "score_high")
_STEP, _RUN = "agent__checkpoint__step", "agent__checkpoint__run"


class Checkpoint(NamedTuple):
    """A checkpoint on a board: how strong it is, and how sure that is."""

    agent: int
    step: int
    mu: float
    sd: float
    n_matches: int


class ListedCheckpoint(NamedTuple):
    """A checkpoint with its row of the board; is_settled: it can be drawn."""

    run: str
    step: int
    row: Row
    is_settled: bool


def count_checkpoints(board_id: int) -> dict[str, int]:
    """Return how many checkpoints of each run are on a board: one query."""
    counts = _find_trained(board_id).values_list(_RUN).annotate(n=Count("pk"))
    return dict(counts.order_by())


def list_trained(board_id: int, agents: Sequence[int]) -> set[int]:
    """Return the agents whose weights have a training step: one query."""
    trained = _find_trained(board_id).filter(agent__in=among(agents))
    return set(trained.values_list("agent_id", flat=True))


def read_checkpoints(board_id: int, runs: Collection[str]) -> dict[str, list[Checkpoint]]:
    """Return the checkpoints of these runs on a board, in the order of their steps: one query."""
    # From the runs, each found by its index: from the ratings all of the board would be read.
    game = Leaderboard.objects.filter(pk=board_id).values("game")
    agents = Agent.objects.filter(checkpoint__game__in=game, checkpoint__run__in=list(runs))
    trained = _find_trained(board_id).filter(agent__in=agents)
    columns = (_RUN, "agent_id", _STEP, "mu", "sd", "n_matches")
    by_run: dict[str, list[Checkpoint]] = defaultdict(list)
    for run, *values in trained.values_list(*columns):
        by_run[run].append(Checkpoint(*values))
    # Sorted here: no index has this order.
    return {
        run: sorted(checkpoints, key=lambda checkpoint: (checkpoint.step, checkpoint.agent))
        for run, checkpoints in by_run.items()
    }


def _find_trained(board_id: int) -> QuerySet[Rating]:
    return Rating.objects.filter(leaderboard=board_id, **{f"{_STEP}__isnull": False}).order_by()


def list_runs(
    board_id: int, runs: Mapping[str, Sequence[Checkpoint]], *, in_scores: bool = False
) -> dict[str, list[ListedCheckpoint]]:
    """Return the rows of runs, by step: so many that they can be told apart. One query.

    in_scores: with mean scores in the place of ratings, and only those whose interval is known.
    """
    chosen = {run: _choose_listed(checkpoints) for run, checkpoints in runs.items()}
    agents = [checkpoint.agent for checkpoints in chosen.values() for checkpoint in checkpoints]
    ratings = Rating.objects.filter(leaderboard=board_id, agent__in=agents)
    if in_scores:
        ratings = ratings.filter(score_low__isnull=False)
    rows = {row.agent: standings.format_row(row, 0) for row in standings.read_rated(ratings)}
    if in_scores:
        for agent, *numbers in ratings.values_list("agent_id", *_SCORES):
            mean, low, high = (f"{number:.6g}" for number in numbers)
            rows[agent] |= {"mu": mean, "low": low, "high": high}
    limit = settling.find_limit(
        [checkpoint.sd for checkpoints in chosen.values() for checkpoint in checkpoints]
    )
    return {
        run: [
            ListedCheckpoint(
                run,
                checkpoint.step,
                rows[checkpoint.agent],
                is_settled=in_scores or checkpoint.sd <= limit,
            )
            for checkpoint in checkpoints
            # It may have left the board between the two queries.
            if checkpoint.agent in rows
        ]
        for run, checkpoints in chosen.items()
    }


def choose_drawn(
    listed: Mapping[str, Sequence[ListedCheckpoint]],
) -> dict[str, list[ListedCheckpoint]]:
    """Return the settled checkpoints of each run; runs without any are left out."""
    settled = {
        run: [checkpoint for checkpoint in checkpoints if checkpoint.is_settled]
        for run, checkpoints in listed.items()
    }
    if max(map(len, settled.values()), default=0) < MIN_POINTS:
        return {}
    return {run: checkpoints for run, checkpoints in settled.items() if checkpoints}


def _choose_listed(checkpoints: Sequence[Checkpoint]) -> list[Checkpoint]:
    """Return those that are listed: rated, evenly spaced, and the strongest among them."""
    played = [checkpoint for checkpoint in checkpoints if checkpoint.n_matches]
    chosen = thin_out(played, MAX_LISTED)
    best = max(played, key=lambda checkpoint: checkpoint.mu, default=None)
    if best is not None and best not in chosen:
        chosen = sorted([*chosen, best], key=lambda checkpoint: (checkpoint.step, checkpoint.agent))
    return chosen
