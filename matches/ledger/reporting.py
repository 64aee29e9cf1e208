"""The report of a tournament: counts, reasons, ratings, accuracy."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, QuerySet

from arena.ratings.accuracy import seed_accuracy, strict_accuracy
from matches.ledger import pairing_warnings, reuse
from matches.ledger.evaluation import SKILL_GAME
from matches.ledger.node_costs import NodeReport, report_nodes
from matches.models import Attempt, Leaderboard, Rating, Tournament, Uncounted
from matches.store import selectors
from matches.store.match_sources import filter_failures

N_CAUSES = 3
_ENDINGS = Attempt.Ending


@dataclass(frozen=True)
class Accuracy:
    """How well the ratings order agents of known level; None where that says nothing."""

    seed: float | None
    strict: float | None


@dataclass(frozen=True)
class Report:
    """The results of a tournament so far."""

    tournament: Tournament
    void_reasons: dict[str, int]
    forfeit_reasons: dict[str, int]
    failed_attempts: dict[str, int]
    interrupted_attempts: dict[str, int]
    failure_details: dict[str, int]
    """What the attempts that failed said, the most frequent first."""
    differing: list[tuple[int, int]]
    """The first matches that came out otherwise, each with the same game before."""
    is_rated: bool
    """Whether the ratings are of all that was played."""
    play_s: float
    accuracy: Accuracy | None
    warning: str | None
    nodes: NodeReport
    """Node-hours by class, money and what was thrown away."""
    ratings: QuerySet[Rating]
    """Of those who take part, the best first."""


def build_report(tournament: Tournament, *, now: datetime) -> Report:
    """Return the report of a tournament as it stands."""
    ratings = selectors.list_ratings_of_entrants(tournament)
    reasons = _count_reasons(tournament)
    return Report(
        tournament=tournament,
        void_reasons=selectors.count_void_reasons(tournament),
        forfeit_reasons=reasons[_ENDINGS.FORFEIT],
        failed_attempts=reasons[_ENDINGS.FAILED],
        interrupted_attempts=reasons[_ENDINGS.INTERRUPTED] | reasons[_ENDINGS.EXPIRED],
        failure_details=_count_details(tournament),
        differing=reuse.list_differing_matches(tournament, N_CAUSES),
        is_rated=_is_rated(tournament),
        play_s=selectors.compute_elapsed_s(tournament, now=now),
        accuracy=_measure_accuracy(tournament.leaderboard, ratings),
        warning=pairing_warnings.warn_of_budget(tournament),
        nodes=report_nodes(tournament),
        ratings=ratings,
    )


def _count_reasons(tournament: Tournament) -> dict[str, dict[str, int]]:
    """Return how many attempts ended so, by ending and then by reason: one query."""
    counts = filter_failures(tournament).values_list("ending", "reason").annotate(n=Count("pk"))
    reasons: dict[str, dict[str, int]] = {ending: {} for ending in Attempt.NOT_DONE}
    for ending, reason, n in counts.order_by("ending", "reason"):
        reasons[ending][reason] = n
    return reasons


def _count_details(tournament: Tournament) -> dict[str, int]:
    """Return what the attempts that failed said, and how many did, the most frequent first."""
    failed = filter_failures(tournament).filter(ending=_ENDINGS.FAILED).exclude(detail="")
    counts = failed.values_list("detail").annotate(n=Count("pk"))
    return dict(counts.order_by("-n", "detail")[:N_CAUSES])


def _is_rated(tournament: Tournament) -> bool:
    """Say whether every outcome of the leaderboard is in its ratings."""
    if not tournament.is_rated:
        return True
    board = Leaderboard.objects.get(pk=tournament.leaderboard_id)
    waiting = Uncounted.objects.filter(leaderboard=board, is_counted=False)
    return board.n_settled >= max(tournament.n_done, board.n_counted) and not waiting.exists()


def _measure_accuracy(board: Leaderboard, ratings: QuerySet[Rating]) -> Accuracy | None:
    """Return how the ratings order the agents of the test game, whose levels are known."""
    if board.game != SKILL_GAME:
        return None
    rows = list(ratings.values_list("agent__parameters", "mu"))
    if any("level" not in parameters for parameters, _ in rows):
        return None
    levels = [int(parameters["level"]) for parameters, _ in rows]
    mus = [mu for _, mu in rows]
    return Accuracy(seed_accuracy(levels, mus), strict_accuracy(levels, mus))
