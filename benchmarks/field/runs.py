"""Training runs, each with the versions that it has published, and as many datasets."""

from datetime import datetime, timedelta

from benchmarks.field.people import ADMIN
from experience.models import Dataset, DatasetShard, Release, TrainingRun
from experience.runs.starting import NewRun

N_VERSIONS = 40
N_SHARDS = 100
TRAINED, DATASET = "cart-pole-000", "poles-000"


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


def write_datasets(n_datasets: int, *, now: datetime) -> None:
    """Write so many datasets that are ready, each of a hundred shards."""
    counts = {"n_episodes": 250, "n_steps": 50_000, "n_bytes": 500_000}
    datasets = Dataset.objects.bulk_create(
        Dataset(
            name=f"poles-{number:03}",
            game="cart_pole",
            source=Dataset.Source.EXPERIENCE,
            query={"users": ["ann", "bob"], "min_return": 400.0},
            shard_steps=50_000,
            state=Dataset.State.READY,
            created_by=ADMIN,
            created_at=now,
            **{name: N_SHARDS * count for name, count in counts.items()},
        )
        for number in range(n_datasets)
    )
    DatasetShard.objects.bulk_create(
        DatasetShard(
            dataset=dataset,
            number=number,
            plan=[],
            first_episode=250 * number,
            sha256=f"{dataset.pk:032x}{number:032x}",
            **counts,
        )
        for dataset in datasets
        for number in range(N_SHARDS)
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
