"""The report of one evaluation, for people and as JSON."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from arena.ratings.accuracy import seed_accuracy, strict_accuracy
from matches.errors import NoNodeError
from matches.ledger import reuse
from matches.management.following import RATING_WAIT_S, Stream, wait_for_ratings
from matches.models import Attempt, Rating, Tournament
from matches.store import selectors
from matches.store.clock import db_now

# Half of a 95 % interval, in standard deviations.
Z_95 = 1.959964
STOPPED_WAIT_S = 5.0
"""How long the ratings may take once the command was stopped."""
N_CAUSES = 3


@dataclass(frozen=True)
class Report:
    """What an evaluation found."""

    tournament: Tournament
    progress: selectors.Progress
    errors: dict[str, int]
    forfeits: dict[str, int]
    failed: dict[str, int]
    interrupted: dict[str, int]
    ratings: list[Rating]
    elapsed_s: float
    play_s: float
    rate_s: float
    accuracy_seed: float | None
    accuracy_strict: float | None
    lag: str = ""
    """Why the ratings are not of all that was played; empty when they are."""
    differing: list[tuple[int, int]] = field(default_factory=list)
    """The first matches that came out otherwise, each with the same game before."""
    causes: dict[str, int] = field(default_factory=dict)
    """What the attempts that failed said, the most frequent first."""

    @property
    def why_nothing(self) -> str:
        """Why nothing counted; empty when something did."""
        if self.progress.completed:
            return ""
        causes = (f"{n} attempt(s) failed: {detail}" for detail, n in self.causes.items())
        known = [self.tournament.problem, *causes]
        return "; ".join(filter(None, known)) or "no match was played to its end"


def build(
    tournament: Tournament, *, elapsed_s: float, is_skill: bool, is_stopped: bool = False
) -> Report:
    """Return the report of a tournament that has ended, once its ratings are there.

    is_stopped: somebody waits for the command to end, so that it tells what is there soon.
    """
    began, lag = time.monotonic(), ""
    try:
        wait_for_ratings(tournament, limit_s=STOPPED_WAIT_S if is_stopped else RATING_WAIT_S)
    except NoNodeError as error:
        lag = str(error)
    rate_s = time.monotonic() - began
    entered = set(tournament.entrant_set.values_list("agent_id", flat=True))
    board = selectors.ratings(tournament.leaderboard)
    ratings = [rating for rating in board if rating.agent_id in entered]
    levels = [int(rating.agent.parameters["level"]) for rating in ratings] if is_skill else []
    mus = [rating.mu for rating in ratings]
    return Report(
        tournament=tournament,
        progress=selectors.progress(tournament),
        errors=selectors.void_reasons(tournament),
        forfeits=selectors.attempt_reasons(tournament, Attempt.Ending.FORFEIT),
        failed=selectors.attempt_reasons(tournament, Attempt.Ending.FAILED),
        interrupted=_lost(tournament),
        ratings=ratings,
        elapsed_s=elapsed_s,
        play_s=selectors.elapsed_s(tournament, now=db_now()),
        rate_s=rate_s,
        accuracy_seed=seed_accuracy(levels, mus) if is_skill else None,
        accuracy_strict=strict_accuracy(levels, mus) if is_skill else None,
        lag=lag,
        differing=reuse.differing(tournament, N_CAUSES),
        causes=selectors.failure_details(tournament, N_CAUSES),
    )


def write(report: Report, out: Stream) -> None:
    """Print the report as the seed's users know it, then the table of ratings."""
    seen = report.progress
    out.write(f"Game run in {report.play_s:.2f}")
    out.write(f"Skills computed in {report.rate_s:.2f}")
    if report.accuracy_seed is not None:
        out.write(f"Accuracy of the ratings: {report.accuracy_seed:.3f}")
        out.write(f"Strict accuracy: {_or_dash(report.accuracy_strict)}")
    out.write(
        f"Completed {seen.completed} of which forfeits {seen.forfeits}{_split(report.forfeits)}"
    )
    out.write(f"Errors (void) {seen.error}{_split(report.errors)}, cancelled {seen.cancelled}")
    out.write(
        f"Attempts retried {seen.retried}: failed {sum(report.failed.values())}"
        f"{_split(report.failed)}, interrupted {sum(report.interrupted.values())}"
        f"{_split(report.interrupted)}"
    )
    for detail, n in report.causes.items():
        out.write(f"  failed {n} times: {detail}")
    if report.tournament.problem:
        out.write(f"Problem: {report.tournament.problem}")
    for line in _differing(report):
        out.write(line)
    if report.lag:
        out.write(f"Not all of it is rated yet: {report.lag}")
    for line in _table(report.ratings):
        out.write(line)


def as_json(report: Report) -> dict[str, object]:
    """Return the report as JSON values."""
    seen = report.progress
    return {
        "game": report.tournament.leaderboard.game,
        "matches": seen.n_matches,
        "completed": seen.completed,
        "forfeits": seen.forfeits,
        "void": seen.error,
        "errors": report.errors,
        "retried": seen.retried,
        "pending": seen.pending,
        "cancelled": seen.cancelled,
        "forfeit_reasons": report.forfeits,
        "failed_attempts": report.failed,
        "interrupted_attempts": report.interrupted,
        "failure_details": report.causes,
        "problem": report.tournament.problem,
        "lag": report.lag,
        "differing": report.tournament.n_differing,
        "elapsed_s": round(report.elapsed_s, 3),
        "play_s": round(report.play_s, 3),
        "rate_s": round(report.rate_s, 3),
        "accuracy_seed": report.accuracy_seed,
        "accuracy_strict": report.accuracy_strict,
        "leaderboard": report.tournament.leaderboard.name,
        "ratings": [
            {
                "agent": rating.agent.name,
                "mu": rating.mu,
                "sd": rating.sd,
                "games": rating.n_matches,
            }
            for rating in report.ratings
        ],
    }


def _differing(report: Report) -> Iterator[str]:
    """Yield which matches came out otherwise than the same games before."""
    if n := report.tournament.n_differing:
        yield f"{n} matches came out otherwise than the same games before, which count:"
        yield from (f"  match {pk}, first match {first}" for pk, first in report.differing)


def _lost(tournament: Tournament) -> dict[str, int]:
    interrupted = selectors.attempt_reasons(tournament, Attempt.Ending.INTERRUPTED)
    return interrupted | selectors.attempt_reasons(tournament, Attempt.Ending.EXPIRED)


def _split(reasons: dict[str, int]) -> str:
    parts = ", ".join(f"{reason or 'other'} {n}" for reason, n in reasons.items())
    return f" ({parts})" if parts else ""


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _table(ratings: list[Rating]) -> list[str]:
    width = max([len("Agent"), *(len(rating.agent.name) for rating in ratings)])
    header = f"{'':>4} {'Agent':<{width}} {'Rating':>7}  {'95 % interval':^16} {'Live':>7}"
    lines = [f"{header} {'Matches':>8} {'W/D/L':>14} {'Forfeits':>8}"]
    for place, rating in enumerate(ratings, start=1):
        half = Z_95 * rating.sd
        interval = f"{rating.mu - half:6.2f} .. {rating.mu + half:6.2f}"
        record = f"{rating.n_wins}/{rating.n_draws}/{rating.n_losses}"
        lines.append(
            f"{place:>4} {rating.agent.name:<{width}} {rating.mu:>7.2f}  {interval:^16} "
            f"{rating.live_mu:>7.2f} {rating.n_matches:>8} {record:>14} {rating.n_forfeits:>8}"
        )
    return lines
