"""What is known of a run: who trains it now, how fast uploads come, which versions are read."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync
from redis import Redis
from redis.asyncio import Redis as AsyncRedis

from arena.experience.tests.made import chunk_of
from experience import stream
from experience.errors import StreamError
from experience.ingest import pace
from experience.runs import groups, versions
from experience.runs.explaining import explain_run
from experience.stream import Sender
from experience.tests import trained_runs
from experience.tests.made import NOW, later

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_is_said_who_trains_a_run_and_what_it_waits_for() -> None:
    run = trained_runs.make_run(now=NOW, order=UUID(int=1), slice=4, reported_slice=4)
    explanation = explain_run(run, now=NOW)
    assert explanation.summary == "it is trained by train-1, which reported 3 s ago, in slice 4"
    assert explanation.waits_for == ()
    assert explanation.next_at == NOW + timedelta(seconds=27)
    assert explain_run(run, now=later(20)).waits_for == ("a report of train-1",)
    run.slice = 5
    assert explain_run(run, now=NOW).summary.startswith("slice 5 is ordered, and no trainer")
    run.order, run.n_lost = None, 2
    lost = explain_run(run, now=NOW)
    assert (lost.state, lost.notes) == (
        "lost",
        ("2 slices in a row came to nothing; after 5 it is given up",),
    )


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("done", "it has learned from all its 200 steps"),
        ("stopped", "somebody stopped it after 200 steps"),
        ("failed", "it failed after 200 steps: no game"),
    ],
)
def test_it_is_said_how_a_run_ended(state: str, says: str) -> None:
    run = trained_runs.make_run(now=NOW, state=state, n_steps=200, problem="no game", ended_at=NOW)
    assert explain_run(run, now=NOW).summary == says


def test_the_pace_of_uploads_is_that_of_their_files() -> None:
    run = trained_runs.make_run(now=NOW)
    assert pace.measure_ingest(run.game, now=NOW) is None
    trained_runs.upload(run, 8, now=NOW)
    ingest = pace.measure_ingest(run.game, now=NOW)
    assert ingest is not None
    # From 8 minutes ago until 10 s ago, where the last file ends.
    assert (ingest.n_steps, ingest.span_s) == (400_000, 470.0)
    assert ingest.steps_per_s == pytest.approx(400_000 / 470)
    # Nothing more came: what is not in a file yet was gathered within a minute.
    quiet = pace.measure_ingest(run.game, now=later(240))
    assert quiet is not None
    assert (quiet.n_steps, quiet.span_s) == (300_000, 540.0)
    assert pace.measure_ingest(run.game, now=later(3_600)) is None


def test_the_readers_of_a_stream_are_counted(stream_server: Redis, valkey_url: str) -> None:
    run = trained_runs.make_run(now=NOW)
    groups.make_group(run)

    async def add() -> None:
        async with AsyncRedis.from_url(valkey_url) as client:
            await stream.add_chunk(client, chunk_of(), Sender(1, 0, 0))

    async_to_sync(add)()
    readers = pace.read_readers(run.game, [stream.learn_group(run.name)])
    assert [(one.name, one.n_waiting) for one in readers] == [("sink", 1), ("learn:poles", 1)]
    assert [one.n_most for one in readers] == [10_000, 16]


@pytest.mark.parametrize("address", ["", "redis://127.0.0.1:9/0"])
def test_readers_that_cannot_be_asked_are_an_error(settings: Any, address: str) -> None:
    settings.STREAM_REDIS_URL = address
    with pytest.raises(StreamError):
        pace.read_readers("cart_pole", [])


def test_versions_are_read_evenly_over_the_whole_way(monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained_runs.make_run(now=NOW)
    trained_runs.teach(run, 50, now=NOW)
    assert [one.version for one in versions.read_way(run)] == list(range(50))
    monkeypatch.setattr(versions, "MOST_DRAWN", 8)
    numbers = [one.version for one in versions.read_way(run)]
    assert numbers == [0, 7, 14, 21, 28, 35, 42, 49]
    run.releases.filter(version=21).delete()  # its report was lost
    assert len(versions.read_way(run)) == 7


def test_the_newest_versions_and_the_judged_ones_are_shown_once_each() -> None:
    run = trained_runs.make_run(now=NOW)
    trained_runs.teach(run, 30, now=NOW)
    run.releases.filter(version__in=(3, 28)).update(state="released")
    assert [one.version for one in versions.list_shown(run)] == [29, 28, 27, 26, 25, 3]
    assert versions.count_states(run) == {"snapshot": 19, "released": 2}


def test_the_pace_of_learning_is_that_of_the_newest_versions() -> None:
    run = trained_runs.make_run(now=NOW)
    assert versions.measure_pace(run) is None
    trained_runs.teach(run, 1, now=NOW)
    assert versions.measure_pace(run) is None
    run.releases.all().delete()
    trained_runs.teach(run, 60, now=NOW)
    assert versions.measure_pace(run) == pytest.approx(trained_runs.STEPS / 4)
