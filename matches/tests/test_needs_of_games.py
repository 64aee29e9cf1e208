"""Games that need what only some nodes have: their matches go to those and to no other."""

from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from redis import Redis

from arena.games import registry as games
from arena.needs import Needs
from matches.ledger import relay
from matches.models import Match, RecorderMark, Tournament, Worker
from matches.operations import explain
from matches.store import selectors
from matches.store.match_needs import read_pending_needs
from matches.tests import factories as make

pytestmark = pytest.mark.django_db


def _orders(broker: Redis, *nodes: str) -> list[str]:
    """Return the node of each order that is sent now."""
    relay.send_pending_matches(now=make.NOW)
    return [node for node in nodes for _ in make.popped(broker, node)]


def _let_game_need(monkeypatch: pytest.MonkeyPatch, capability: str) -> None:
    """Let the game of `make.planned` need what only some nodes have."""
    game = games.get("skill_game")
    monkeypatch.setattr(type(game), "_spec", replace(game.spec, capability=capability))


def test_matches_of_a_game_go_only_to_nodes_that_have_what_it_needs(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    _let_game_need(monkeypatch, "mujoco")
    tournament = make.planned(40)
    assert set(Match.objects.values_list("needs", flat=True)) == {"mujoco"}
    make.alive(node="a", capabilities=["cpu", "torch"])
    assert _orders(broker, "a") == []
    missing = "a play node with mujoco"
    assert selectors.describe_missing(tournament, now=make.NOW) == missing
    waits = explain.of_tournament(tournament, now=make.NOW).waits_for
    hint = (
        "none is alive (where it is installed: ./run stop, then ./run up --capabilities cpu,mujoco)"
    )
    assert f"{missing}: {hint}" in waits
    RecorderMark.objects.create(marked_at=make.NOW)
    idle = explain.of_worker(Worker.objects.get(node="a"), now=make.NOW).waits_for
    assert "matches that it can play: those pending need mujoco" in idle
    make.alive(node="b", capabilities=["mujoco"])
    sent = _orders(broker, "a", "b")
    assert set(sent) == {"b"}
    assert selectors.describe_missing(tournament, now=make.NOW) == ""


def test_orders_that_wait_move_only_to_idle_nodes_that_can_play_them(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    _let_game_need(monkeypatch, "mujoco")
    make.planned(40)
    Tournament.objects.update(mean_match_s=60.0, order_limit=20)
    make.alive(node="a", capabilities=["mujoco"])
    assert relay.send_pending_matches(now=make.NOW) == 1
    make.alive(node="b", capabilities=["cpu", "torch"])
    assert _orders(broker, "a", "b") == ["a"]


def test_what_is_pending_is_read_at_once_for_all_tournaments() -> None:
    first, second = make.planned(40, board="a"), make.planned(40, board="b", seed=1)
    of_first = Match.objects.filter(tournament=first)
    of_first.filter(sequence__gt=20).update(needs="mujoco+torch")
    Match.objects.filter(tournament=second).update(state=Match.State.DONE)
    with CaptureQueriesContext(connection) as queries:
        pending = read_pending_needs([first.pk, second.pk])
    assert (pending, len(queries)) == ({first.pk: ["cpu", "mujoco+torch"]}, 1)
    assert all(isinstance(needs, Needs) for needs in pending[first.pk])
    assert read_pending_needs([]) == {}
