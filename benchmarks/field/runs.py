"""Training runs, each with the versions that it has published, and as many datasets."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from benchmarks.field.people import ADMIN
from experience.models import Dataset, DatasetShard, Release, TrainingRun
from experience.runs.starting import NewRun
from matches.models import Agent, Campaign, Entrant, Leaderboard, Rating, Tournament

GAME, JUDGING = "cart_pole", "poles"
# Of the versions of a run; every so many is released.
N_VERSIONS, ONE_IN = 40, 8
N_SHARDS = 100
TRAINED, DATASET = "cart-pole-000", "poles-000"


@dataclass(frozen=True)
class Judging:
    """The campaign that judged the released versions of all runs, and the agents of these."""

    campaign: Campaign
    agents: list[Agent]


def write_judging(*, now: datetime) -> Judging:
    """Write a leaderboard on which the released versions were judged and are rated."""
    board = Leaderboard.objects.create(name=JUDGING, title="Poles", game=GAME, game_version="1")
    agents = [
        Agent.objects.create(name=f"{GAME} {version}", game=GAME, policy="random", created_at=now)
        for version in range(0, N_VERSIONS, ONE_IN)
    ]
    tournament = Tournament.objects.create(
        leaderboard=board,
        name="Versions",
        n_matches=100,
        n_planned=100,
        n_done=100,
        state=Tournament.State.DONE,
        started_at=now - timedelta(hours=2),
        finished_at=now - timedelta(hours=1),
    )
    Entrant.objects.bulk_create(
        Entrant(tournament=tournament, agent=agent, position=place)
        for place, agent in enumerate(agents)
    )
    Rating.objects.bulk_create(
        Rating(
            leaderboard=board, agent=agent, mu=20 + place, sd=1, low=18 + place, high=22 + place,
            n_matches=20, mean_score=80.0 * place, score_low=70.0 * place, score_high=90.0 * place,
        )
        for place, agent in enumerate(agents)
    )  # fmt: skip
    campaign = Campaign.objects.create(
        tournament=tournament,
        question="rank_all",
        max_matches=100,
        why="decided",
        probability=0.97,
        decided_at=now - timedelta(hours=1),
    )
    return Judging(campaign, agents)


def write_runs(n_runs: int, judging: Judging, *, now: datetime) -> None:
    """Write so many runs that are done, and their versions, of which some were released."""
    runs = TrainingRun.objects.bulk_create(_make_run(number, now=now) for number in range(n_runs))
    Release.objects.bulk_create(
        _make_release(run, version, judging, now=now)
        for run in runs
        for version in range(N_VERSIONS)
    )


def _make_release(run: TrainingRun, version: int, judging: Judging, *, now: datetime) -> Release:
    release = Release(
        run=run,
        version=version,
        sha256=f"{run.pk:032x}{version:032x}",
        n_bytes=20_000,
        n_steps=1_000 * version,
        architecture="mlp",
        state=Release.State.EXPIRED,
        created_at=now - timedelta(seconds=N_VERSIONS - version),
    )
    number, rest = divmod(version, ONE_IN)
    if not rest:
        release.state, release.judged_at = Release.State.RELEASED, now
        release.agent, release.campaign = judging.agents[number], judging.campaign
    return release


def write_datasets(n_datasets: int, *, now: datetime) -> None:
    """Write so many datasets that are ready, each of a hundred shards."""
    counts = {"n_episodes": 250, "n_steps": 50_000, "n_bytes": 500_000}
    datasets = Dataset.objects.bulk_create(
        Dataset(
            name=f"poles-{number:03}",
            game=GAME,
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
    terms = NewRun(f"cart-pole-{number:03}", GAME, seed=number)
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
