"""The page of a training run: who trains it, how it learns, what it has published."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import conditional_page, require_safe

from arena.errors import ArenaError
from arena.trainers import registry as trainers
from experience.errors import StreamError
from experience.ingest import pace
from experience.models import Release, TrainingRun
from experience.runs import versions
from experience.runs.explaining import explain_run
from experience.runs.rounds import plays_itself
from experience.runs.versions import LearnedVersion
from experience.stream import learn_group
from matches.store.catalog import game_title, is_scored_game
from matches.store.clock import db_now
from matches.store.fast_store import get_or_make
from pages import campaignpages
from pages.plots import training
from pages.training.returns import list_lags, list_returns
from pages.training.strength import Strength, list_judged, read_strengths

EVERY_S: Final = 1.0
"""A run that goes on is looked at so often, by however many viewers."""
COUNTS: Final = {
    "n_used": "learned from",
    "n_stale": "too old",
    "n_unknown": "of no known policy",
    "n_skipped": "changes skipped, not finite",
    "n_unreadable": "chunks unreadable",
}
"""What a trainer counts in the newest data, in steps where nothing else is said."""


@require_safe
def show_run(request: HttpRequest, name: str) -> HttpResponse:
    """Show a run; the part that moves is made once a second for all who look."""
    run = get_object_or_404(TrainingRun, name=name)
    context = {
        "run": run,
        "game": game_title(run.game),
        "title": _name_algorithm(run.algorithm),
        "parameters": list(run.parameters.items()),
        "run_html": render_run(run, now=db_now()),
    }
    return render(request, "pages/run.html", context)


@require_safe
@conditional_page
def show_run_now(request: HttpRequest, name: str) -> HttpResponse:
    """Show the part of a run's page that moves while it goes on."""
    del request
    return HttpResponse(render_run(get_object_or_404(TrainingRun, name=name), now=db_now()))


def render_run(run: TrainingRun, *, now: datetime) -> SafeString:
    """Return that part as HTML."""

    def make() -> str:
        return render_to_string("pages/_run.html", describe_run(run, now=now))

    mark = f"{now.timestamp():.0f} {run.version} {run.n_steps}"
    # Keys of their own, so that nobody waits EVERY_S to see that it has ended.
    key = f"training.{run.pk}.{run.state}.{run.is_closed}"
    html = get_or_make(key, mark, make, form=str, every_s=EVERY_S)
    return mark_safe(html)  # a template made it; players cannot write the cache


def describe_run(run: TrainingRun, *, now: datetime) -> dict[str, Any]:
    """Return what the template shows: a bounded number of bounded queries."""
    way, shown = versions.read_way(run), versions.list_shown(run)
    strengths = read_strengths(shown)
    is_running = run.state == TrainingRun.State.RUNNING
    counts = versions.count_states(run)
    return {
        "run": run,
        "game": game_title(run.game),
        "percent": min(100.0, round(100 * run.n_steps / run.max_steps, 2)),
        "explanation": explain_run(run, now=now),
        "alarms": campaignpages.list_open_alarms(agent__checkpoint__run=run.name),
        "pace": versions.measure_pace(run) if is_running else None,
        "loss": run.metrics.get("loss"),
        "n_of_newest": [
            (label, n) for name, label in COUNTS.items() if (n := run.metrics.get(name))
        ],
        "is_over": run.is_closed,
        "versions": [(release, strengths.get(release.pk)) for release in shown],
        "n_published": run.version + 1,
        "counts": [
            (state.label.lower(), counts[state]) for state in Release.State if state in counts
        ],
        **(_describe_uploads(run, now=now) if run.has_group else {}),
        **_draw_plots(run, way, shown, strengths),
    }


def _describe_uploads(run: TrainingRun, *, now: datetime) -> dict[str, Any]:
    """Return how fast uploads come, and how far their readers are behind, or why nobody knows."""
    context: dict[str, Any] = {
        "ingest": pace.measure_ingest(run.game, now=now),
        "has_uploads": True,
    }
    try:
        context["readers"] = pace.read_readers(run.game, [learn_group(run.name)])
    except StreamError as error:
        context["stream_problem"] = str(error)
    return context


def _draw_plots(
    run: TrainingRun,
    way: Sequence[LearnedVersion],
    shown: Sequence[Release],
    strengths: Mapping[int, Strength],
) -> dict[str, Any]:
    is_scored = is_scored_game(run.game)
    judged = list_judged(shown, dict(strengths))
    reports = [(report.n_steps, report.metrics) for report in way]
    returns, lags = training.pool(list_returns(reports)), training.pool(list_lags(reports))
    n_steps = run.n_steps
    names = ("return", "mean score")
    # A return and a mean score are one measure: of the run's players and of the leaderboard.
    of_returns = training.draw(returns, judged if is_scored else (), n_steps=n_steps, names=names)
    ratings = None if is_scored else training.draw([], judged, n_steps=n_steps)
    return {
        "is_scored": is_scored,
        "plays_itself": plays_itself(run),
        "returns": returns,
        "return_plot": of_returns,
        "n_judged": len(judged),
        "rating_plot": ratings,
        "lags": lags,
        "lag_plot": training.draw(lags, n_steps=n_steps, height=training.LAG_HEIGHT),
        "max_lag": run.parameters.get("max_lag"),
    }


def _name_algorithm(algorithm: str) -> str:
    try:
        return trainers.get(algorithm).title
    except ArenaError:
        return f"{algorithm} (unknown here)"
