"""What people are told of game servers: explanations, the system, API, admin and pages."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from redis import Redis

from arena.messages import MatchOrder
from matches.ledger import quarantine, server_voiding
from matches.models import Attempt, Match, RecorderMark, Tournament, Worker
from matches.operations import explain
from matches.operations.explanations import game_server
from matches.operations.system.display import format_state
from matches.operations.system.prometheus import export_metrics
from matches.operations.system.sample import SystemState
from matches.operations.system.sampling import take_sample
from matches.store.auditing import Actor
from matches.store.match_query import MatchQuery
from matches.store.match_search import find_matches
from matches.tests import factories as make
from matches.tests import served

pytestmark = pytest.mark.django_db
ANNA = Actor("anna")


@pytest.fixture(autouse=True)
def tournament(monkeypatch: pytest.MonkeyPatch, broker: Redis) -> Tournament:
    """Return a tournament that game servers play, with a node alive."""
    served.let_servers_play(monkeypatch)
    RecorderMark.objects.create(marked_at=make.NOW)
    tournament = make.planned(40)
    Tournament.objects.update(mean_match_s=0.01)
    make.alive()
    return tournament


def waits_of(tournament: Tournament) -> tuple[str, ...]:
    tournament.refresh_from_db()
    return explain.of_tournament(tournament, now=make.NOW).waits_for


def sent(broker: Redis) -> MatchOrder:
    (order,) = make.sent(broker)
    return order


def table_of_servers() -> Any:
    sample = take_sample(now=make.NOW, last=None)
    state = format_state(SystemState(sample=sample, history=[], control_at=make.NOW))
    return next((table for table in state["tables"] if table["name"] == "game-servers"), None)


def test_a_tournament_says_that_it_waits_for_a_server(tournament: Tournament) -> None:
    hint = "(start one: docs/gameservers.md says how)"
    missing = f"a game server of skill_game: none may be sent matches {hint}"
    assert waits_of(tournament) == (missing,)
    match = Match.objects.select_related("tournament", "leaderboard", "order").earliest("pk")
    assert missing in explain.of_match(match, now=make.NOW).waits_for
    (row,) = take_sample(now=make.NOW, last=None).tournaments
    assert row.waits_for == f"waits for {missing}"
    (idle,) = explain.of_worker(Worker.objects.get(), now=make.NOW).waits_for
    assert idle == missing


def test_a_server_in_quarantine_is_named(tournament: Tournament) -> None:
    make.serve()
    quarantine.quarantine_worker(
        Worker.objects.get(node="sim-1"), actor=ANNA, reason="odd", now=make.NOW
    )
    (waits,) = waits_of(tournament)
    assert "none may be sent matches but sim-1 is in quarantine: odd" in waits


def test_while_all_slots_are_taken_a_match_says_so(tournament: Tournament, broker: Redis) -> None:
    make.serve()
    sent(broker)
    match = Match.objects.select_related("tournament", "leaderboard", "order").filter(
        state="pending"
    )[0]
    busy = "free slots on game servers of skill_game: all 4 slots of 1 game server are taken"
    assert explain.of_match(match, now=make.NOW).waits_for[0] == busy
    assert busy not in waits_of(tournament), "it goes on itself"
    make.planned(8, board="other")
    other = Tournament.objects.latest("pk")
    assert waits_of(other) == (busy,)
    rows = {row.pk: row.waits_for for row in take_sample(now=make.NOW, last=None).tournaments}
    assert rows[other.pk] == f"waits until there are {busy}"


def test_a_server_says_what_it_serves_and_what_is_taken(broker: Redis) -> None:
    make.serve(slots=8)
    sent(broker)
    explanation = explain.of_worker(Worker.objects.get(node="sim-1"), now=make.later(2))
    assert (explanation.state, explanation.waits_for) == ("serving", ())
    assert explanation.summary == (
        "alive, last seen 2 s ago: it serves skill_game at ws://10.0.0.1:8081/sim-1, "
        "8 of 8 slots taken"
    )
    lost = explain.of_worker(Worker.objects.get(node="sim-1"), now=make.later(11))
    assert lost.summary == "lost: last seen 11 s ago, and it reports every 2 s"
    make.serve("sim-2", rules="7")
    (waits,) = explain.of_worker(Worker.objects.get(node="sim-2"), now=make.NOW).waits_for
    assert waits == "its matches: it has version 7 of the rules, which are 1 here"
    make.serve("sim-3", game="gone")
    (waits,) = explain.of_worker(Worker.objects.get(node="sim-3"), now=make.NOW).waits_for
    assert waits == "matches of gone: that game is not installed here"


def test_the_system_lists_game_servers_apart(broker: Redis) -> None:
    assert table_of_servers() is None
    make.serve(slots=8, load={"cpu": 0.5})
    make.serve("sim-2", rules="2")
    sent(broker)
    table = table_of_servers()
    assert table["caption"] == "Game servers: 8 of 8 slots taken of those that may be sent matches"
    first, second = table["rows"]
    assert first["cells"] == [
        *("sim-1", "skill_game", "8 of 8", "0.5 processes per core"),
        *("ws://10.0.0.1:8081/sim-1", "ready, seen 0 s ago"),
    ]
    assert (first["tone"], second["tone"]) == ("good", "bad")
    assert second["cells"][-1].startswith("has version 2 of the rules")
    sample = take_sample(now=make.NOW, last=None)
    assert [node.name for node in sample.nodes] == [make.NODE]
    state = SystemState(sample=sample, history=[], control_at=make.NOW)
    metrics = {metric.name: metric for metric in export_metrics(state, now=make.NOW)}
    slots = {one.labels["state"]: one.value for one in metrics["evalsite_server_slots"].samples}
    assert slots == {"taken": 8, "free": 0}


def test_matches_are_found_by_their_server_and_can_be_declared_void(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_voiding, "MAX_AT_ONCE", 3)
    monkeypatch.setattr(game_server, "MAX_COUNTED", 3)
    make.serve("sim-1", slots=4)
    make.serve("sim-2", slots=4)
    order = sent(broker)
    served.play(order)
    of_first = {row.match for row in order.matches if served.server_of(order, row) == "sim-1"}
    page = find_matches(MatchQuery(server="sim-1"), limit=50)
    assert {match.pk for match in page.matches} == of_first
    assert find_matches(MatchQuery(server="sim-1", ending="failed"), limit=50).matches == []
    late = next(row.match for row in order.matches if row.match not in of_first)
    Attempt.objects.create(
        match_id=late, number=2, ending="done", server="sim-1", ended_at=make.NOW
    )
    worker = Worker.objects.get(node="sim-1")
    quarantine.quarantine_worker(worker, actor=ANNA, reason="it lies", now=make.NOW)
    explanation = explain.of_worker(worker, now=make.NOW)
    assert explanation.notes[0].startswith(
        "more than 3 matches of its count (/matches/?server=sim-1)"
    )
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    address = f"/admin/matches/worker/ask/void/?pk={worker.pk}&from=row"
    assert "4 matches of skill_game" in client.get(address).content.decode()
    listed = client.get("/admin/matches/match/?server=sim-1").content.decode()
    assert all(f"/admin/matches/match/{pk}/" in listed for pk in of_first)
    n = server_voiding.void_matches_of_server("sim-1", actor=ANNA, reason="it lied", now=make.NOW)
    assert n == 4
    assert set(Match.objects.filter(state="void").values_list("pk", flat=True)) == of_first
    assert server_voiding.count_matches("sim-1") == 0
    assert server_voiding.void_matches_of_server("sim-1", actor=ANNA, reason="-", now=make.NOW) == 0


def test_the_api_shows_servers_and_finds_their_attempts(broker: Redis, client: Client) -> None:
    make.serve("sim-1")
    order = sent(broker)
    served.play(order)
    client.force_login(User.objects.create_superuser("root"))
    (worker,) = client.get("/api/v1/workers/?node=sim-1").json()["results"]
    assert (worker["game"], worker["address"]) == ("skill_game", "ws://10.0.0.1:8081/sim-1")
    attempts = client.get("/api/v1/attempts/?server=sim-1").json()["results"]
    assert {attempt["match"] for attempt in attempts} == {row.match for row in order.matches}
    assert {attempt["server"] for attempt in attempts} == {"sim-1"}
    assert client.get("/api/v1/attempts/?server=sim-2").json()["results"] == []


def test_pages_name_servers_and_say_whom_to_believe(
    broker: Redis, client: Client, tournament: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    make.serve("sim-1")
    order = sent(broker)
    served.play(order)
    assert "game on sim-1" in client.get(f"/matches/{order.matches[0].match}/").content.decode()
    worker = client.get(f"/system/nodes/{Worker.objects.get(node='sim-1').pk}/").content.decode()
    assert "Game server" in worker
    assert "ws://10.0.0.1:8081/sim-1" in worker
    assert "game server, skill_game" in client.get("/search/?q=sim-1").content.decode()
    address = f"/tournaments/{tournament.pk}/"
    assert "5% of them are played again here" in client.get(address).content.decode()
    served.let_servers_play(monkeypatch, has_rules=False)
    assert "nobody can know whether what they say" in client.get(address).content.decode()
    monkeypatch.undo()
    assert "Game servers decide" not in client.get(address).content.decode()
