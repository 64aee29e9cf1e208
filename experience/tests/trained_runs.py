"""Training runs as they are after a while, for pages: versions, a leaderboard, files of uploads."""

from datetime import datetime, timedelta
from random import Random
from typing import Any

from experience.models import Release, Segment, TrainingRun
from experience.runs.starting import NewRun
from matches.models import Agent, Alarm, Campaign, Checkpoint, Leaderboard, Rating, Tournament

STEPS = 1_600
NAME = "poles"
FIRST, BETWEEN = 10, 14
STATES = ("released", "held", "released", "retired", "released", "candidate")


def make_run(name: str = NAME, *, now: datetime, **columns: Any) -> TrainingRun:
    """Return a run that goes on, begun ten minutes ago."""
    terms: dict[str, Any] = {
        **vars(NewRun(name, "cart_pole", margin=20.0)),
        "parameters": {"max_lag": 4, "learning_rate": 0.001},
        "token": "secret",
        "created_by": "ada",
        "created_at": now - timedelta(minutes=10),
        "reported_at": now - timedelta(seconds=3),
        "trainer": "train-1",
        "leased_until": now + timedelta(seconds=27),
        "has_group": True,
    }
    return TrainingRun.objects.create(**{**terms, **columns})


def teach(run: TrainingRun, n_versions: int, *, now: datetime) -> None:
    """Let a run have published so many versions, whose episodes become longer."""
    rng = Random(1)
    releases = []
    for version in range(n_versions):
        mean = 20 + 460 * (1 - 0.93**version) + rng.gauss(0, 15)
        metrics = {
            "n_used": float(STEPS), "n_stale": 0.0, "n_unknown": 128.0 * (version % 5 == 0),
            "n_skipped": 0.0, "loss": 0.4 * 0.98**version, "lag": rng.uniform(0.5, 2.5),
            "n_episodes": max(1.0, STEPS // mean), "return": mean, "return_sd": 0.4 * mean,
        } if version else {}  # fmt: skip
        kept = version >= n_versions - 20
        releases.append(
            Release(
                run=run,
                version=version,
                sha256=f"{run.pk:032x}{version:032x}",
                n_bytes=144_000,
                n_steps=STEPS * version,
                metrics=metrics,
                architecture="mlp",
                state="snapshot" if kept else "expired",
                n_downloads=4,
                created_at=now - timedelta(seconds=4 * (n_versions - version)),
            )
        )
    Release.objects.bulk_create(releases)
    last = releases[-1]
    TrainingRun.objects.filter(pk=run.pk).update(
        version=last.version, n_steps=last.n_steps, metrics=last.metrics
    )
    run.refresh_from_db()


def judge(run: TrainingRun, *, now: datetime) -> Leaderboard:
    """Let six versions of a run have been candidates, judged on one leaderboard."""
    board = Leaderboard.objects.create(
        name=f"watch-{run.name}", game=run.game, n_counted=420, rated_at=now
    )
    parent = ancestor = None
    for place, state in enumerate(STATES):
        version = FIRST + BETWEEN * place
        parent = Checkpoint.objects.create(
            sha256=f"{run.pk:032x}{version:032x}", game=run.game, architecture="mlp",
            run=run.name, step=STEPS * version, parent=parent, n_bytes=144_000, state="ready",
            created_at=now,
        )  # fmt: skip
        named = f"{run.name}@{STEPS * version}"
        agent = Agent.objects.create(name=named, game=run.game, policy="network", checkpoint=parent)
        ancestor = ancestor or agent
        _rate(board, agent, place)
        campaign = Campaign.objects.create(
            tournament=Tournament.objects.create(
                name=f"watch {agent.name}", leaderboard=board, n_matches=0, finished_at=now,
                state=Tournament.State.DONE,
            ),
            question="rank_all", error=0.05, max_matches=200, decided_at=now, is_by_scores=True,
        )  # fmt: skip
        Release.objects.filter(run=run, version=version).update(
            state=state,
            reason="" if state == "candidate" else f"P(worse than its best ancestor) is 0.{place}",
            agent=agent,
            campaign=campaign,
            judged_at=now,
            n_downloads=120,
        )
        if state == "held":
            Alarm.objects.create(
                campaign=campaign, agent=agent, ancestor=ancestor, probability=0.98,
                margin=20.0, level=0.95, at=now,
            )  # fmt: skip
    return board


def _rate(board: Leaderboard, agent: Agent, place: int) -> None:
    """Let an agent be rated: the third of them is worse than the one before."""
    mean = (180.0, 165.5, 330.25, 402.0, 455.5, 488.75)[place]
    half = 40.0 - 6 * place
    Rating.objects.create(
        leaderboard=board, agent=agent, mu=18.0 + 3 * place, sd=1.2, n_matches=60, n_wins=30,
        n_losses=30, mean_score=mean, score_low=mean - half, score_high=min(500.0, mean + half),
    )  # fmt: skip


def upload(run: TrainingRun, n_files: int, *, now: datetime) -> None:
    """Let the sink have written so many files of 50,000 steps, a minute apart."""
    for number in range(n_files):
        at_ms = int((now - timedelta(minutes=n_files - number)).timestamp() * 1_000)
        Segment.objects.create(
            game=run.game, first_id=f"{at_ms}-0", last_id=f"{at_ms + 50_000}-0",
            path=f"{run.game}/{number}", sha256="a" * 64, n_rows=50_000, n_bytes=900_000,
            min_policy_version=0, max_policy_version=9, created_at=now,
        )  # fmt: skip
