"""What trainers report of episodes, as it is drawn and shown: a mean with its interval."""

from collections.abc import Iterable, Mapping

from pages.plots.training import MeasuredMean, Part, pool


def list_returns(reports: Iterable[tuple[int, Mapping[str, float]]]) -> list[MeasuredMean]:
    """Return the mean returns of those reports (steps, metrics) in which episodes ended."""
    return [
        MeasuredMean(
            step, metrics["return"], metrics.get("return_sd"), metrics.get("n_episodes", 1.0)
        )
        for step, metrics in reports
        if "return" in metrics and metrics.get("n_episodes", 1.0) > 0
    ]


def list_lags(reports: Iterable[tuple[int, Mapping[str, float]]]) -> list[MeasuredMean]:
    """Return how old the policies were that the data came from: known, so without an interval."""
    return [
        MeasuredMean(step, metrics["lag"], None, max(2.0, metrics.get("n_used", 2.0)))
        for step, metrics in reports
        if "lag" in metrics
    ]


def find_return(metrics: Mapping[str, float]) -> Part | None:
    """Return the mean return of one report, None where no episode ended."""
    return next(iter(pool(list_returns([(0, metrics)]))), None)
