"""The pages of the system: complete without JavaScript, the same queries whatever was played."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings
from redis import Redis

from matches.ledger import day_costs, recording
from matches.ledger.quarantine import quarantine_worker
from matches.models import Attempt, DayCost, SystemMinute, Tournament, Worker
from matches.operations.system import pushing
from matches.ratings import rater
from matches.store import fast_store
from matches.store.auditing import Actor
from matches.store.clock import db_now
from matches.tests import factories
from matches.tests.factories import NOW
from pages.system_costs import describe_costs
from pages.system_history import draw_day

pytestmark = pytest.mark.django_db


def test_it_shows_what_control_saw_without_looking_itself(
    client: Client, broker: Redis, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    factories.alive(now=db_now())
    pushing.push_sample(now=db_now())
    # The time of the database, the minutes of the day and what was booked: nothing of the nodes.
    with django_assert_max_num_queries(6):
        page = client.get("/system/").content.decode()
    assert ">node-1</a>" in page
    assert 'data-label="In hand"' in page
    assert "hidden></p>" in page.replace("\n", "").replace(" ", "")


def test_without_the_fast_store_it_is_made_from_the_database(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.alive(now=db_now())
    nobody = Redis.from_url("redis://127.0.0.1:1/0")
    monkeypatch.setattr(fast_store, "get_client", lambda: nobody)
    page = client.get("/system/").content.decode()
    assert ">node-1</a>" in page
    assert "the fast store does not answer" in page


def test_a_node_says_what_it_waits_for_and_has_in_hand(client: Client, broker: Redis) -> None:
    order = factories.ordered(factories.planned(4), now=db_now())
    factories.alive(now=db_now())
    factories.start(order, now=db_now())
    page = client.get(f"/system/nodes/{Worker.objects.get().pk}/").content.decode()
    assert "Plays order" in page
    assert "<dt>Version of evalsite</dt>" in page
    assert client.get("/system/nodes/999/").status_code == 404


def test_a_node_shows_labels_of_every_name(client: Client) -> None:
    factories.alive(labels={"items": "<b>", "load": "heavy"}, now=db_now())
    page = client.get(f"/system/nodes/{Worker.objects.get().pk}/").content.decode()
    for text in (
        "<dt>Items</dt>",
        "&lt;b&gt;",
        "heavy",
        "0.5 processes per core, memory 25\N{NO-BREAK SPACE}%",
    ):
        assert text in page


def test_a_red_banner_says_that_nothing_can_play(client: Client, broker: Redis) -> None:
    factories.alive(now=db_now())
    quarantine_worker(Worker.objects.get(), actor=Actor("anna"), reason="too hot", now=db_now())
    page = client.get("/system/").content.decode()
    assert "node-1 (too hot), is in quarantine" in page.partition('class="charts"')[0]


def test_failures_link_to_the_matches_that_they_count(client: Client, broker: Redis) -> None:
    tournament = factories.planned(4)
    match = tournament.matches.order_by("pk")[0]
    Attempt.objects.create(
        match=match, number=1, ending="failed", reason="error", ended_at=db_now()
    )
    page = client.get("/system/").content.decode()
    address = "/matches/?ending=failed&amp;reason=error"
    assert f'<a href="{address}">failed</a>' in page
    listed = client.get(address.replace("&amp;", "&")).content.decode()
    assert f"/matches/{match.pk}/" in listed


def test_costs_are_said_by_day_board_and_agent(
    client: Client, broker: Redis, settings: Settings
) -> None:
    board, now = _play_and_book(), db_now()
    DayCost.objects.update(day=now.date())
    page = client.get("/system/").content.decode()
    assert "EVALSITE_PRICE_CPU" in page
    assert "&lt; 0.001" in page, "not 2.3e-05 of an hour"
    DayCost.objects.update(core_s=F("core_s") * 100_000)
    assert f'<a href="/leaderboards/{board}/">{board}</a>' in page
    tables = {table["name"]: table for table in describe_costs(now=now).tables}
    assert [row["cells"][:2] for row in tables["cost-days"]["rows"]] == [[f"{now.date()}", "6"]]
    core = 100_000 * sum(Tournament.objects.values_list("played_s", flat=True)) / 3600
    assert float(tables["cost-boards"]["rows"][0]["cells"][2]) == pytest.approx(core, rel=0.05)
    agents = tables["cost-agents"]["rows"]
    assert len(agents) == 3
    settings.WORKER_PRICES = {"cpu": 3600.0 / core / 3600.0 * 9, "gpu": 0.0}
    money = {table["name"]: table for table in describe_costs(now=now).tables}
    assert money["cost-days"]["rows"][0]["cells"][-1] == "9.00"
    parts = [float(row["cells"][-1]) for row in money["cost-agents"]["rows"]]
    assert sum(parts) == pytest.approx(9, abs=0.02), "the agents' parts are the whole"


def test_the_cost_stands_near_the_top_in_a_line(client: Client, broker: Redis) -> None:
    def read_line() -> str:
        page = " ".join(client.get("/system/").content.decode().split())
        return page.split('class="total-cost">')[1].split("</p>")[0]

    assert "No cost is entered for the last 30 days." in read_line()
    _play_and_book()
    # An old day is in the sum, a day before the counted ones is not.
    today = DayCost.objects.get()
    DayCost.objects.update(day=db_now().date(), core_s=7_200.0)
    DayCost.objects.create(
        day=today.day - timedelta(days=90), tournament=today.tournament, core_s=1, n_matches=1
    )
    line = read_line()
    assert "Cost of the last 30 days: <span><b>6</b> matches,</span>" in line
    assert "<b>2.00</b> core-hours" in line
    assert '<a href="#costs">' in line


def test_24_hours_are_drawn_with_their_gaps() -> None:
    def keep(minutes_ago: int, pace: float) -> None:
        SystemMinute.objects.create(
            at=NOW - timedelta(minutes=minutes_ago),
            matches_per_s=pace,
            n_waiting=3,
            rows_per_forward=0,
            n_slots=2,
        )

    keep(5, 4)
    assert [line.is_early for line in draw_day(now=NOW)] == [True] * 3
    for minutes_ago in (15, 25, 26, 300, 310):
        keep(minutes_ago, 2)
    pace, waiting, slots = draw_day(now=NOW)
    assert [level.label for level in pace.levels] == ["0", "2", "4"]
    assert [level.at for level in pace.levels] == [100, 60, 20], "the scale ends at a round figure"
    assert (pace.most, waiting.most, slots.most) == ("4", "3", "2")
    assert [len(line.split()) for line in pace.lines] == [2, 3], "a gap parts the line"
    assert pace.lines[1].endswith("100.0,20.0"), "the newest ten minutes stand at the right"


def test_the_page_asks_no_more_when_more_was_played(
    client: Client, broker: Redis, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    _play_and_book()
    pushing.push_sample(now=db_now())
    with django_assert_max_num_queries(9):
        client.get("/system/")
    _play_and_book(board="other", agents=[f"level:{n}" for n in range(20, 40)])
    with django_assert_max_num_queries(9):
        client.get("/system/")


def _play_and_book(board: str = "board", **options: object) -> str:
    factories.alive()
    tournament = factories.planned(6, board=board, **options)
    order = factories.ordered(tournament, 6)
    factories.start(order)
    recording.record_report(factories.finished(order), now=NOW)
    rater.rate_all(now=NOW)
    day_costs.book_costs(now=NOW)
    return board
