"""The admin's start page: the state of the system at a glance, at a cost that does not grow."""

from typing import Any

import pytest
from django.test import Client
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from matches.admin import start
from matches.ledger import quarantine, tournaments
from matches.models import Agent, Checkpoint, Match, Order
from matches.operations.system import pushing
from matches.store.auditing import CONTROL
from matches.store.clock import db_now
from matches.tests import boards, factories
from matches.tests.factories import NOW

pytestmark = pytest.mark.django_db

MAX_QUERIES = 21


def _start(client: Client) -> str:
    answer = client.get("/admin/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_an_empty_system_says_that_nothing_is_to_be_played(
    admin_client: Client, broker: Redis
) -> None:
    page = _start(admin_client)
    for words in ("None is scheduled, running or paused", "Open one", "Nothing yet.", "nobody"):
        assert words in page


def test_it_shows_tournaments_boards_checkpoints_and_quarantine(
    admin_client: Client, broker: Redis
) -> None:
    boards.played_board(n_matches=84)
    running = factories.planned()
    factories.alive()
    waiting = factories.planned(board="other")
    tournaments.pause_tournament(waiting)
    agent = Agent.objects.get(name="level:10")
    quarantine.quarantine_agent(agent, actor=CONTROL, reason="odd moves", now=NOW)
    Checkpoint.objects.create(
        **{"sha256": "a" * 64, "game": "connect_four", "architecture": "mlp", "run": "bad run"},
        **{"n_bytes": 1, "state": "refused", "reason": "not finite", "created_at": NOW},
    )
    pushing.push_sample(now=db_now())
    page = _start(admin_client)
    # Once, with what it waits for.
    assert "Tournaments under way" in page
    assert "What it waits for" not in page
    assert page.count(f'/admin/matches/tournament/{running.pk}/change/"') == 1
    for words in ("0 of 12 (0 %)", "it is paused", "84 outcomes", "refused: not finite"):
        assert words in page, words
    for words in ("odd moves", "agent.quarantine", "1 agent", "Flower", "/api/docs/"):
        assert words in page, words
    assert f"/admin/matches/tournament/{running.pk}/change/" in page


def test_of_many_refused_checkpoints_some_are_shown_and_the_others_counted(
    admin_client: Client, broker: Redis
) -> None:
    for n in range(12):
        Checkpoint.objects.create(
            **{"sha256": f"{n:064x}", "game": "connect_four", "architecture": "mlp"},
            **{"run": f"bad-{n}", "n_bytes": 1, "state": "refused", "created_at": NOW},
            reason="long " * 90,
        )
    page = _start(admin_client)
    assert page.count("refused: long") == start.N_REFUSED
    assert "9 more</a> <span>of the newest were refused" in page
    assert page.count("long ") < 30 * start.N_REFUSED


def test_the_first_line_says_what_is_missing(admin_client: Client, broker: Redis) -> None:
    factories.planned()
    assert "has not ticked yet" in _start(admin_client)


def test_each_advice_names_its_part(admin_client: Client, broker: Redis) -> None:
    page = " ".join(_start(admin_client).split())
    assert "<li>Control: look at ./run status, var/log/control.log" in page
    assert "<li>Recorder: look at ./run status and var/log/recorder.log" in page


def test_it_opens_without_the_fast_store(
    admin_client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(**_: Any) -> None:
        raise RedisConnectionError("away")

    monkeypatch.setattr(pushing, "read_newest", away)
    assert "State of the system" in _start(admin_client)


def test_its_cost_does_not_grow_and_no_match_is_counted(
    admin_client: Client, broker: Redis, django_assert_max_num_queries: Any
) -> None:
    boards.played_board(n_matches=84)
    for n in range(12):
        tournament = factories.planned(12, board=f"board-{n}")
    pushing.push_sample(now=db_now())
    _start(admin_client)  # once in a process it looks for migrations
    assert Match.objects.filter(tournament=tournament).exists()
    with django_assert_max_num_queries(MAX_QUERIES) as queries:
        _start(admin_client)
    counting = [q["sql"] for q in queries.captured_queries if "COUNT(" in q["sql"].upper()]
    assert not [sql for sql in counting if "matches_match" in sql]


def test_the_tournament_that_holds_the_nodes_is_not_hidden_by_newer_ones(
    admin_client: Client, broker: Redis
) -> None:
    holding = factories.planned(12, board="held")
    factories.alive()
    factories.sent(broker)
    Order.objects.filter(tournament=holding).update(node="node-1", state=Order.State.PLAYING)
    for n in range(start.N_SHOWN + 2):
        factories.scheduled(12, board=f"newer-{n}")
    page = _start(admin_client)
    rows = page.partition("Tournaments under way")[2].partition("</table>")[0]
    first = rows.partition("<tbody>")[2].partition("</tr>")[0]
    assert f"/admin/matches/tournament/{holding.pk}/change/" in first
    n_in_hand = sum(Order.objects.values_list("n_matches", flat=True))
    assert n_in_hand
    assert f'<td data-label="In hand">{n_in_hand}</td>' in first
    assert "and more" in page
