"""What pages and services read of a run's versions: so many as can be shown, however many it has.

A version that has expired keeps its row, so the whole way of a run is there to be drawn.
"""

from typing import Final, NamedTuple

from django.db.models import Count, QuerySet

from experience.models import Release, TrainingRun

MOST_DRAWN: Final = 400
N_NEWEST: Final = 5
N_JUDGED: Final = 40
N_OF_PACE: Final = 30

JUDGED: Final = tuple(
    state for state in Release.State if state not in (Release.State.SNAPSHOT, Release.State.EXPIRED)
)


class LearnedVersion(NamedTuple):
    """How far a run was with a version, and what came of learning until then."""

    version: int
    n_steps: int
    metrics: dict[str, float]


def read_way(run: TrainingRun) -> list[LearnedVersion]:
    """Return evenly spaced versions of a run, by number: one query.

    Their numbers are chosen and looked up by an index; one that was lost on its way has no row.
    """
    n_versions = run.version + 1
    columns = ("version", "n_steps", "metrics")
    versions = run.releases.order_by("version").values_list(*columns)
    if n_versions > MOST_DRAWN:
        last = run.version
        numbers = {round(n * last / (MOST_DRAWN - 1)) for n in range(MOST_DRAWN)}
        versions = versions.filter(version__in=numbers)
    return [LearnedVersion(*row) for row in versions]


def list_shown(run: TrainingRun) -> list[Release]:
    """Return the newest versions and the newest that were candidates, the newest first."""
    releases = run.releases.select_related(
        "agent__checkpoint__parent", "campaign__tournament__leaderboard"
    ).order_by("-version")
    newest, judged = releases[:N_NEWEST], releases.filter(state__in=JUDGED)[:N_JUDGED]
    rows = {release.version: release for release in (*newest, *judged)}
    return [rows[version] for version in sorted(rows, reverse=True)]


def count_states(run: TrainingRun) -> dict[str, int]:
    """Return how many versions there are in each state that keeps a file or a verdict."""
    releases: QuerySet[Release] = run.releases.exclude(state=Release.State.EXPIRED).order_by()
    return dict(releases.values_list("state").annotate(n=Count("pk")))


def measure_pace(run: TrainingRun) -> float | None:
    """Return how many steps a second the newest versions took, None before there are two."""
    newest = run.releases.order_by("-version").values_list("n_steps", "created_at")[:N_OF_PACE]
    rows = list(newest)
    if not rows:
        return None
    (last, ended_at), (first, begun_at) = rows[0], rows[-1]
    seconds = (ended_at - begun_at).total_seconds()
    # After a slice was lost its steps are counted again.
    return max(0, last - first) / seconds if seconds > 0 else None
