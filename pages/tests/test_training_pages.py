"""Pages of training: the list of runs, a run while it goes on, the catalogue of models."""

from datetime import timedelta
from html import unescape
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis import Redis

from experience.models import Release, TrainingRun
from experience.runs import versions
from experience.tests import trained_runs
from experience.tests.made import listed_dataset
from matches.models import Agent
from matches.store.clock import db_now
from pages.tests.reading import count_page_steps

# Pages are kept for a second, by the number of their run: none of another test may be found.
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def run(broker: Redis) -> TrainingRun:
    """Return a run that goes on, six of whose versions were judged."""
    now = db_now()
    run = trained_runs.make_run(now=now, order=UUID(int=1), slice=4, reported_slice=4)
    trained_runs.teach(run, 96, now=now)
    trained_runs.judge(run, now=now)
    trained_runs.upload(run, 3, now=now)
    return run


def _get(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, address
    return " ".join(unescape(answer.content.decode()).split())


def test_a_run_says_how_it_goes(
    client: Client, run: TrainingRun, settings: Any, valkey_url: str
) -> None:
    settings.STREAM_REDIS_URL = valkey_url
    page = _get(client, "/runs/poles/")
    assert "<b>152,000</b> of 200,000 steps" in page
    assert "400 steps/s learned" in page
    assert "It is trained by train-1, which reported" in page
    assert "Regression:" in page
    assert "150,000 in" in page  # steps in files
    assert "<dt>wait for learn:poles</dt> <dd>0 <span" in page
    assert "of 16 chunks at most" in page
    assert "what is more than 4 old is passed over" in page


@pytest.mark.parametrize(("parameters", "is_drawn"), [({}, False), ({"against": "random"}, True)])
def test_a_run_that_plays_itself_draws_no_return(
    client: Client, parameters: dict[str, str], is_drawn: bool
) -> None:
    terms: dict[str, Any] = {"algorithm": "ppo_selfplay", "parameters": parameters}
    trained_runs.make_run(now=db_now(), game="connect_four", has_group=False, **terms)
    page = _get(client, "/runs/poles/")
    assert ("Return by step" in page) == is_drawn
    assert "Rating by step" in page


def test_a_run_that_learns_from_a_dataset_waits_for_no_episode(client: Client) -> None:
    dataset = listed_dataset("good")
    trained_runs.make_run(now=db_now(), algorithm="bc", dataset=dataset, has_group=False)
    page = _get(client, "/runs/poles/")
    assert "It learns from a dataset and plays no episodes" in page
    assert "No episode has ended" not in page


def test_it_shows_returns_and_mean_scores_with_intervals(client: Client, run: TrainingRun) -> None:
    page = _get(client, "/runs/poles/")
    assert 'id="return-plot"' in page
    assert page.count('class="point series-2"') == 6
    assert 'aria-label="poles@105600: 455.5, 439.5 to 471.5"' in page
    assert "P(worse than its best ancestor) is 0.4" in page
    plot = client.get("/runs/poles/?plot=return-plot&format=svg")
    assert (plot.status_code, plot.headers["Content-Type"]) == (200, "image/svg+xml")
    table = client.get("/runs/poles/?table=return-table&format=csv")
    lines = b"".join(table.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert len(lines) == 25
    assert lines[0].startswith("Steps,Mean return")


def test_that_readers_cannot_be_asked_is_said(
    client: Client, run: TrainingRun, settings: Any
) -> None:
    settings.STREAM_REDIS_URL = ""
    assert "How far readers are behind is not known: this stack has no" in _get(
        client, "/runs/poles/"
    )


def test_the_moving_part_is_sent_once(client: Client, run: TrainingRun) -> None:
    TrainingRun.objects.update(is_closed=True, has_group=False, state="done", ended_at=db_now())
    first = client.get("/runs/poles/now/")
    assert b'data-state="ended"' in first.content
    again = client.get("/runs/poles/now/", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_run_of_a_game_of_several_seats_has_a_plot_of_ratings(client: Client) -> None:
    now = db_now()
    run = trained_runs.make_run(now=now, game="connect_four", has_group=False, state="done")
    trained_runs.teach(run, 4, now=now)
    page = _get(client, "/runs/poles/")
    assert "it needs three versions that were judged, and has 0" in page
    assert "Uploads of" not in page


def test_pages_of_runs_cost_the_same_however_many_versions_there_are(
    client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "MOST_DRAWN", 30)
    now, costs, queries = db_now(), [], []
    for name, n_versions in (("few", 60), ("many", 1_500)):
        over = {"has_group": False, "state": "done", "is_closed": True, "ended_at": now}
        trained_runs.teach(trained_runs.make_run(name, now=now, **over), n_versions, now=now)
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert client.get(f"/runs/{name}/").status_code == 200
        queries.append(len(captured))
        if connection.vendor == "sqlite":
            costs.append(count_page_steps(client, f"/runs/{name}/now/"))
    assert queries[0] == queries[1]
    assert queries[0] <= 12
    assert not costs or costs[1] < 1.5 * costs[0], costs


def test_runs_are_listed_and_filtered(client: Client, run: TrainingRun) -> None:
    now = db_now()
    trained_runs.make_run("climbers", game="mountain_car", now=now - timedelta(days=9))
    page = _get(client, "/runs/")
    assert page.index(">climbers</a>") < page.index(">poles</a>")
    assert "152,000 of 200,000" in page
    assert 'class="detail">' in page.partition('data-label="return"')[2][:200]
    assert ">poles</a>" not in _get(client, "/runs/?game=mountain_car")
    assert "No training run is like that" in _get(client, "/runs/?state=failed")
    assert "state must be one of" in _get(client, "/runs/?state=x", 400)
    table = client.get("/runs/?format=csv")
    lines = b"".join(table.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert lines[0].startswith("run,game,algorithm,state,problem,n_steps")
    assert [line.split(",")[0] for line in lines[1:]] == ["climbers", "poles"]


def test_the_catalogue_shows_the_newest_release_of_each_run(
    client: Client, run: TrainingRun
) -> None:
    page = _get(client, "/models/")
    assert "version 66<span" in page
    assert "3 in all" in page
    assert ">poles@105600</a>" in page
    assert ">poles@83200</a>" in page  # its parent
    assert f"{90 * 4 + 6 * 120:,}" in page
    assert 'href="/api/v1/models/poles/latest/?released=true"' in page
    assert "<b>456</b>" in page
    assert "440 to 472" in page
    Release.objects.update(state="held")
    assert "none yet" in _get(client, "/models/?game=cart_pole")
    assert "No run has published anything here" in _get(client, "/models/?game=chess")
    assert "game must be one of" in _get(client, "/models/?game=nothing", 400)


def test_somebody_who_fits_is_found_by_the_form(client: Client, run: TrainingRun) -> None:
    page = _get(client, "/models/?agent=poles@16000&purpose=teacher")
    section = page.partition('class="fitting"')[2]
    assert "Teachers on" in section
    assert ">poles@60800</a>" in section
    assert "its mean score is" in section
    near = _get(client, "/models/?for=cart_pole&rating=395").partition('class="fitting"')[2]
    assert "/compare/" not in near
    assert near.index(">poles@83200</a>") < near.index(">poles@105600</a>")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("agent=nobody", "there is no agent called 'nobody'"),
        ("rating=x&for=cart_pole", "rating must be a number"),
        ("rating=nan&for=cart_pole", "give a finite number"),
        ("rating=1", "give an agent, or a game and a rating"),
        ("agent=poles@16000&rating=1", "both are given"),
        ("agent=&rating=&for=cart_pole", "give an agent, or a game and a rating"),
        ("agent=poles@16000&purpose=friend", "is none of opponent, teacher"),
    ],
)
def test_a_wish_that_cannot_be_met_is_said_above_the_answer(
    client: Client, run: TrainingRun, query: str, says: str
) -> None:
    page = _get(client, f"/models/?{query}", 400)
    assert says in page.partition("Nobody can be recommended: ")[2]


def test_the_page_of_an_agent_says_who_fits_it_and_which_run_it_is_of(
    client: Client, run: TrainingRun
) -> None:
    agent = Agent.objects.get(name="poles@60800")
    page = _get(client, f"/agents/{agent.pk}/")
    assert '<a href="/runs/poles/">poles</a>' in page
    fitting = page.partition("Who fits it")[2]
    assert fitting.index("Opponents on") < fitting.index("Teachers on")
    # Here the two count as independent, there not: both numbers are one click apart.
    near = Agent.objects.get(name="poles@83200")
    assert f'href="/compare/{agent.pk}/{near.pk}/?leaderboard=' in fitting
    assert "The two count as independent here" in fitting


def test_an_empty_site_says_how_to_begin(client: Client) -> None:
    assert "No training run has begun yet" in _get(client, "/runs/")
    assert "No run has published anything yet" in _get(client, "/models/")
    _get(client, "/runs/nobody/", 404)
    trained_runs.make_run(now=db_now())
    assert "It has published nothing yet" in _get(client, "/runs/poles/")
