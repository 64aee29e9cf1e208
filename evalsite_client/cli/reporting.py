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


def write_report(found: Finished) -> Iterator[str]:
    """Yield the report as lines, then the table of ratings."""
    one, report = found.tournament, found.report
    yield f"Game run in {report.play_s:.2f}"
    yield f"Skills computed in {found.rate_s:.2f}"
    if found.is_skill and report.accuracy is not None:
        yield f"Accuracy of the ratings: {_format_share(report.accuracy.seed)}"
        yield f"Strict accuracy: {_format_share(report.accuracy.strict)}"
    forfeits = f"{one.n_forfeits}{_list_reasons(report.forfeit_reasons)}"
    yield f"Completed {one.n_done} of which forfeits {forfeits}"
    void = f"{one.n_void}{_list_reasons(report.void_reasons)}"
    yield f"Errors (void) {void}, cancelled {one.n_cancelled}"
    yield (
        f"Attempts retried {one.n_retried}: failed {_sum_reasons(report.failed_attempts)}, "
        f"interrupted {_sum_reasons(report.interrupted_attempts)}"
    )
    for why, n in _list_causes(report):
        yield f"  failed {n} times: {why}"
    yield from _write_nodes(report.nodes)
    if one.problem:
        yield f"Problem: {one.problem}"
    yield from _write_differing(found)
    if found.lag:
        yield f"Not all of it is rated yet: {found.lag}"
    yield from write_table(report.ratings)
    if report.warning:
        yield f"Note: {report.warning}"


def _write_nodes(nodes: NodeReport) -> Iterator[str]:
    """Yield node-hours and money by class, what was saved and what was thrown away."""
    if not nodes.node_hours:
        return
    classes = [
        f"{one.machine_class or 'no class'} {one.node_hours:.3f}{_format_money(one.money)}"
        for one in nodes.classes
    ]
    saved = "" if nodes.saved is None else f", saved against on demand {nodes.saved:.2f}"
    thrown = nodes.thrown_share or 0.0
    hours = f"Node-hours {nodes.node_hours:.3f}{_format_money(nodes.money)}: {', '.join(classes)}"
    yield f"{hours}{saved}; thrown away {100 * thrown:.1f} % of the work"
    if nodes.money is not None and nodes.unpriced_hours > 0:
        yield f"  of unknown price: {nodes.unpriced_hours:.3f} node-hours"


def _format_money(money: float | None) -> str:
    return "" if money is None else f" (money {money:.2f})"


def make_values(found: Finished) -> dict[str, Any]:
    """Return the report as JSON values: all that the table shows, and more."""
    one, report = found.tournament, found.report
    accuracy = report.accuracy if found.is_skill else None
    return {
        "game": found.game,
        "tournament": one.id,
        "matches": one.n_matches,
        "completed": one.n_done,
        "forfeits": one.n_forfeits,
        "void": one.n_void,
        "errors": report.void_reasons,
        "retried": one.n_retried,
        "pending": one.n_matches - one.n_closed,
        "cancelled": one.n_cancelled,
        "forfeit_reasons": report.forfeit_reasons,
        "failed_attempts": report.failed_attempts,
        "interrupted_attempts": report.interrupted_attempts,
        "failure_details": report.failure_details,
        "problem": one.problem,
        "warning": report.warning,
        "lag": found.lag,
        "nodes": asdict(report.nodes),
        "differing": one.n_differing,
        "elapsed_s": round(found.elapsed_s, 3),
        "play_s": round(report.play_s, 3),
        "rate_s": round(found.rate_s, 3),
        "accuracy_seed": accuracy and accuracy.seed,
        "accuracy_strict": accuracy and accuracy.strict,
        "leaderboard": one.leaderboard,
        "ratings": [_make_rating_values(rating) for rating in report.ratings],
    }


def _make_rating_values(one: EntrantRating) -> dict[str, Any]:
    return {
        "rank": one.rank,
        "agent": one.agent.name,
        "mu": one.mu,
        "sd": one.sd,
        "low": one.low,
        "high": one.high,
        "live_mu": one.live_mu,
        "games": one.n_matches,
        "wins": one.n_wins,
        "draws": one.n_draws,
        "losses": one.n_losses,
        "forfeits": one.n_forfeits,
    }


def write_table(ratings: Sequence[EntrantRating]) -> Iterator[str]:
    """Yield the ratings under their headings."""
    width = max([len("Agent"), *(len(rating.agent.name) for rating in ratings)])
    header = f"{'':>4} {'Agent':<{width}} {'Rating':>7}  {'95 % interval':^16} {'Live':>7}"
    yield f"{header} {'Matches':>8} {'W/D/L':>14} {'Forfeits':>8}"
    for one in ratings:
        interval = f"{one.low:6.2f} .. {one.high:6.2f}"
        record = f"{one.n_wins}/{one.n_draws}/{one.n_losses}"
        yield (
            f"{one.rank:>4} {one.agent.name:<{width}} {one.mu:>7.2f}  {interval:^16} "
            f"{one.live_mu:>7.2f} {one.n_matches:>8} {record:>14} {one.n_forfeits:>8}"
        )


def _list_causes(report: Report) -> list[tuple[str, int]]:
    """Return what failed attempts said, the most frequent first."""
    return sorted(report.failure_details.items(), key=lambda cause: (-cause[1], cause[0]))


def _write_differing(found: Finished) -> Iterator[str]:
    """Yield which matches came out otherwise than the same games before."""
    if n := found.tournament.n_differing:
        yield f"{n} matches came out otherwise than the same games before, which count:"
        for pair in found.report.differing:
            yield f"  match {pair.match}, first match {pair.first}"


def _format_share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _list_reasons(reasons: Mapping[str, int]) -> str:
    parts = ", ".join(f"{reason or 'other'} {n}" for reason, n in reasons.items())
    return f" ({parts})" if parts else ""


def _sum_reasons(reasons: Mapping[str, int]) -> str:
    return f"{sum(reasons.values())}{_list_reasons(reasons)}"
