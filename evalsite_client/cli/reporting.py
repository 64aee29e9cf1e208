"""The report of an evaluation, for people and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evalsite_client.api.tournaments import (
    EntrantRating,
    NodeReport,
    Report,
    TournamentDetail,
)


@dataclass(frozen=True)
class Finished:
    """An evaluation that has ended."""

    tournament: TournamentDetail
    game: str
    report: Report
    lag: str
    """Why the ratings are not of all that was played; empty when they are."""
    elapsed_s: float
    rate_s: float
    is_skill: bool
    """Its agents were drawn, so that their true order is known."""

    @property
    def why_nothing(self) -> str:
        """Why nothing counted; empty when something did."""
        if self.tournament.n_done:
            return ""
        causes = _list_causes(self.report)
        problems = [
            self.tournament.problem,
            *(f"{n} attempt(s) failed: {why}" for why, n in causes),
        ]
        return "; ".join(filter(None, problems)) or "no match was played to its end"


def write_report(finished: Finished) -> Iterator[str]:
    """Yield the report as lines, then the table of ratings."""
    tournament, report = finished.tournament, finished.report
    yield f"Game run in {report.play_s:.2f}"
    yield f"Skills computed in {finished.rate_s:.2f}"
    if finished.is_skill and report.accuracy is not None:
        yield f"Accuracy of the ratings: {_format_share(report.accuracy.seed)}"
        yield f"Strict accuracy: {_format_share(report.accuracy.strict)}"
    forfeits = f"{tournament.n_forfeits}{_list_reasons(report.forfeit_reasons)}"
    yield f"Completed {tournament.n_done} of which forfeits {forfeits}"
    void = f"{tournament.n_void}{_list_reasons(report.void_reasons)}"
    yield f"Errors (void) {void}, cancelled {tournament.n_cancelled}"
    yield (
        f"Attempts retried {tournament.n_retried}: failed {_sum_reasons(report.failed_attempts)}, "
        f"interrupted {_sum_reasons(report.interrupted_attempts)}"
    )
    for why, n in _list_causes(report):
        yield f"  failed {n} times: {why}"
    yield from _write_nodes(report.nodes)
    if tournament.problem:
        yield f"Problem: {tournament.problem}"
    yield from _write_differing(finished)
    if finished.lag:
        yield f"Not all of it is rated yet: {finished.lag}"
    yield from write_table(report.ratings)
    if report.warning:
        yield f"Note: {report.warning}"


def _write_nodes(nodes: NodeReport) -> Iterator[str]:
    """Yield node-hours and money by class, what was saved and what was thrown away."""
    if not nodes.node_hours:
        return
    classes = [
        f"{use.machine_class or 'no class'} {use.node_hours:.3f}{_format_money(use.money)}"
        for use in nodes.classes
    ]
    saved = "" if nodes.saved is None else f", saved against on demand {nodes.saved:.2f}"
    thrown = nodes.thrown_share or 0.0
    hours = f"Node-hours {nodes.node_hours:.3f}{_format_money(nodes.money)}: {', '.join(classes)}"
    yield f"{hours}{saved}; thrown away {100 * thrown:.1f} % of the work"
    if nodes.money is not None and nodes.unpriced_hours > 0:
        yield f"  of unknown price: {nodes.unpriced_hours:.3f} node-hours"


def _format_money(money: float | None) -> str:
    return "" if money is None else f" (money {money:.2f})"


def make_values(finished: Finished) -> dict[str, Any]:
    """Return the report as JSON values: all that the table shows, and more."""
    tournament, report = finished.tournament, finished.report
    accuracy = report.accuracy if finished.is_skill else None
    return {
        "game": finished.game,
        "tournament": tournament.id,
        "matches": tournament.n_matches,
        "completed": tournament.n_done,
        "forfeits": tournament.n_forfeits,
        "void": tournament.n_void,
        "errors": report.void_reasons,
        "retried": tournament.n_retried,
        "pending": tournament.n_matches - tournament.n_closed,
        "cancelled": tournament.n_cancelled,
        "forfeit_reasons": report.forfeit_reasons,
        "failed_attempts": report.failed_attempts,
        "interrupted_attempts": report.interrupted_attempts,
        "failure_details": report.failure_details,
        "problem": tournament.problem,
        "warning": report.warning,
        "lag": finished.lag,
        "nodes": asdict(report.nodes),
        "differing": tournament.n_differing,
        "elapsed_s": round(finished.elapsed_s, 3),
        "play_s": round(report.play_s, 3),
        "rate_s": round(finished.rate_s, 3),
        "accuracy_seed": accuracy and accuracy.seed,
        "accuracy_strict": accuracy and accuracy.strict,
        "leaderboard": tournament.leaderboard,
        "ratings": [_make_rating_values(rating) for rating in report.ratings],
    }


def _make_rating_values(rating: EntrantRating) -> dict[str, Any]:
    return {
        "rank": rating.rank,
        "agent": rating.agent.name,
        "mu": rating.mu,
        "sd": rating.sd,
        "low": rating.low,
        "high": rating.high,
        "live_mu": rating.live_mu,
        "games": rating.n_matches,
        "wins": rating.n_wins,
        "draws": rating.n_draws,
        "losses": rating.n_losses,
        "forfeits": rating.n_forfeits,
    }


def write_table(ratings: Sequence[EntrantRating]) -> Iterator[str]:
    """Yield the ratings under their headings."""
    width = max([len("Agent"), *(len(rating.agent.name) for rating in ratings)])
    header = f"{'':>4} {'Agent':<{width}} {'Rating':>7}  {'95 % interval':^16} {'Live':>7}"
    yield f"{header} {'Matches':>8} {'W/D/L':>14} {'Forfeits':>8}"
    for rating in ratings:
        interval = f"{rating.low:6.2f} .. {rating.high:6.2f}"
        record = f"{rating.n_wins}/{rating.n_draws}/{rating.n_losses}"
        yield (
            f"{rating.rank:>4} {rating.agent.name:<{width}} {rating.mu:>7.2f}  {interval:^16} "
            f"{rating.live_mu:>7.2f} {rating.n_matches:>8} {record:>14} {rating.n_forfeits:>8}"
        )


def _list_causes(report: Report) -> list[tuple[str, int]]:
    """Return what failed attempts said, the most frequent first."""
    return sorted(report.failure_details.items(), key=lambda cause: (-cause[1], cause[0]))


def _write_differing(finished: Finished) -> Iterator[str]:
    """Yield which matches came out otherwise than the same games before."""
    if n := finished.tournament.n_differing:
        yield f"{n} matches came out otherwise than the same games before, which count:"
        for pair in finished.report.differing:
            yield f"  match {pair.match}, first match {pair.first}"


def _format_share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _list_reasons(reasons: Mapping[str, int]) -> str:
    parts = ", ".join(f"{reason or 'other'} {n}" for reason, n in reasons.items())
    return f" ({parts})" if parts else ""


def _sum_reasons(reasons: Mapping[str, int]) -> str:
    return f"{sum(reasons.values())}{_list_reasons(reasons)}"
