"""The home page: what to do first, what runs, who leads, and how the cluster is."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.ledger.evaluation import Evaluation, start_evaluation
from matches.models import Rating, Tournament
from matches.operations.system import pushing
from matches.operations.system.sample import Point
from matches.plans import TournamentPlan
from matches.ratings import standings
from matches.store import disk
from matches.store.clock import db_now
from matches.tests import boards, factories
from pages import home

pytestmark = pytest.mark.django_db


def _home(client: Client) -> str:
    response = client.get("/")
    assert response.status_code == 200
    return response.content.decode()


def test_an_empty_installation_says_what_to_do_first(client: Client, broker: Redis) -> None:
    page = _home(client)
    assert "Nothing is rated yet: begin with the first of these" in page
    for words in ("./run evaluate", "./run campaign", "./run watch"):
        assert words in page
    for form in ("tournament", "agent", "campaign", "schedule"):
        assert f'href="/admin/matches/{form}/add/"' in page
    assert "Under way" not in page
    # Folded on a phone: the title of each says what it is.
    assert page.count("<summary><b>") == 3


def test_boards_stand_with_leader_interval_matches_and_state(client: Client, broker: Redis) -> None:
    board = boards.played_board().leaderboard
    page = " ".join(_home(client).split())
    best = Rating.objects.select_related("agent").order_by("-mu").first()
    assert best is not None
    assert f"<b>{best.mu:.2f}</b>" in page
    assert f">{best.agent.name}</a>" in page
    board.refresh_from_db()
    assert board.leader_p_best == pytest.approx(
        standings.load_field(board.pk).p_best[best.agent_id]
    )
    p_best = standings.load_rows(board.pk)[0]["best"]
    assert f'data-label="P(best)">{p_best}</td>' in page
    assert f"leaderboard={board.name}&amp;counted=yes" in page
    assert "idle, last rated " in page
    assert "A new agent starts at a rating of 25; one rated 4.17 higher wins" in page
    assert "Nothing is rated yet" not in page
    assert page.index("What you can do") < page.index('id="boards-title"')


def test_a_board_whose_agents_have_not_played_has_no_leader(client: Client, broker: Redis) -> None:
    boards.planned_board()
    assert "none rated yet" in _home(client)


def test_what_an_evaluation_opens_is_found_but_not_among_the_boards(
    client: Client, broker: Redis
) -> None:
    boards.played_board("standing", n_matches=42)
    plan = TournamentPlan(name="quick", n_matches=42)
    evaluation = Evaluation(game="connect_four", plan=plan, agents=["random", "greedy"])
    started = start_evaluation(evaluation, now=db_now())
    board = started.leaderboard
    assert (board.is_rated, board.is_listed) == (True, False)
    page = _home(client)
    boards_listed = page[page.index('id="boards-title"') :]
    assert "standing" in boards_listed
    assert f'href="/leaderboards/{board.name}/"' not in boards_listed
    assert f'href="/tournaments/{started.pk}/"' in page[: page.index('id="boards-title"')]
    assert "/leaderboards/?state=unlisted" in page


def test_what_runs_stands_with_its_progress(client: Client, broker: Redis) -> None:
    running = boards.planned_board(n_matches=84)
    boards.play_some(running, 42, boards.by_strength(), now=db_now())
    page = " ".join(_home(client).split())
    assert "<b>42</b> of 84 matches" in page
    assert 'aria-valuenow="50.0"' in page
    assert "a campaign plays until its question is answered" in page
    assert "All that runs" not in page, "all of it is shown"
    for name in ("second", "third"):
        boards.planned_board(name)
    assert 'href="/tournaments/?state=open">All that runs</a>' in _home(client)


def test_the_cluster_stands_in_a_line(client: Client, broker: Redis) -> None:
    boards.planned_board(n_matches=84)
    factories.alive(now=db_now(), slots=3)
    line = _home(client).split('id="cluster"')[1].split("</p>")[0]
    assert "<b>1</b> play node</span>" in line
    assert "<b>84</b> to play" in line
    assert 'href="/system/"' in line


@pytest.mark.parametrize(
    ("counts", "forecast"),
    [
        # After a burst nothing for seconds: the next tournament begins.
        ([(0, 0), (50, 600), (60, 600)], "about 10 s"),
        ([(0, 5), (240, 20), (300, 25)], "about 25 min"),
        ([(0, 0), (60, 9)], "not known yet"),
        ([(0, 900), (60, 0)], "not known yet"),
        ([(0, None), (20, 100), (60, 300), (70, None)], "about 20 s"),
        ([(60, None)], "not known yet"),
    ],
)
def test_the_time_left_is_told_by_enough_matches(
    counts: list[tuple[int, int | None]], forecast: str
) -> None:
    history = [Point(factories.later(at_s), n, 0.0, 0, 0.0) for at_s, n in counts]
    assert home.forecast_end(history, 100) == forecast


def test_a_cluster_without_work_is_idle_and_not_dead(client: Client, broker: Redis) -> None:
    factories.alive(now=db_now(), slots=3)
    line = _home(client).split('id="cluster"')[1].split("</p>")[0]
    assert "<b>idle</b>: nothing is waiting to be played" in line
    assert "matches/s" not in line


def test_it_says_why_nothing_can_play(client: Client, broker: Redis) -> None:
    boards.planned_board()
    factories.alive(now=db_now() - timedelta(hours=2))
    line = _home(client).split('id="cluster"')[1].split("</p>")[0]
    assert "Trouble: " in line


def test_a_full_disk_is_trouble_though_nodes_are_there(
    client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    boards.planned_board()
    factories.alive(now=db_now())
    monkeypatch.setattr(disk, "describe_shortage", lambda: "the disk has 3 MB left")
    pushing.push_sample(now=db_now())
    line = _home(client).split('id="cluster"')[1].split("</p>")[0]
    assert "Trouble: Nothing is sent: the disk has 3 MB left." in line


def test_it_asks_no_more_for_more_rows(
    client: Client,
    broker: Redis,
    django_assert_max_num_queries: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def count() -> int:
        now = db_now()
        monkeypatch.setattr(home, "db_now", lambda: now)
        client.get("/")  # looks at the system, once a second for all
        with django_assert_max_num_queries(60) as queries:
            client.get("/")
        return len(queries.captured_queries)

    boards.played_board("first", n_matches=42)
    factories.planned(20, board="waits")
    few = count()
    for number in range(9):
        for name in ("ended", "waits"):
            factories.planned(20, board=f"{name}-{number}")
    ended = Tournament.objects.filter(leaderboard__name__startswith="ended")
    assert ended.update(state=Tournament.State.DONE) == 9
    assert count() <= few + 1
