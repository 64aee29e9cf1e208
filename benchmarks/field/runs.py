"""Training runs, each with the versions that it has published."""

from datetime import datetime, timedelta

from benchmarks.field.people import ADMIN
from experience.models import Release, TrainingRun
from experience.runs.starting import NewRun

N_VERSIONS = 40
TRAINED = "cart-pole-000"


def write_runs(n_runs: int, *, now: datetime) -> None:
    """Write so many runs that are done, and their versions; every eighth version is released."""
    runs = TrainingRun.objects.bulk_create(_make_run(number, now=now) for number in range(n_runs))
    Release.objects.bulk_create(
        Release(
            run=run,
            version=version,
            sha256=f"{run.pk:032x}{version:032x}",
            n_bytes=20_000,
            n_steps=1_000 * version,
            architecture="mlp",
            state=Release.State.EXPIRED if version % 8 else Release.State.RELEASED,
            created_at=now - timedelta(seconds=N_VERSIONS - version),
        )
        for run in runs
        for version in range(N_VERSIONS)
    )


def _make_run(number: int, *, now: datetime) -> TrainingRun:
    terms = NewRun(f"cart-pole-{number:03}", "cart_pole", seed=number)
    return TrainingRun(
        **vars(terms),
        state=TrainingRun.State.DONE,
        n_steps=1_000 * (N_VERSIONS - 1),
        version=N_VERSIONS - 1,
        metrics={"return": 480.0},
        is_closed=True,
        created_by=ADMIN,
        created_at=now - timedelta(hours=1),
        ended_at=now,
    )
