"""Orders of a game that is a plug-in go only to nodes that have its file as it is on control."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from arena import catalogs
from arena.messages import PLAYED_PLUGINS
from matches.ledger import relay
from matches.models import RecorderMark, Tournament, Worker
from matches.operations import explain
from matches.operations.system.display import SystemPage, format_state
from matches.operations.system.sample import Sample, SystemState
from matches.operations.system.sampling import take_sample
from matches.store import selectors
from matches.tests import factories as make
from matches.tests.plugin_folder import PluginFolder, plugin_folder

pytestmark = pytest.mark.django_db
OTHER = "e" * 64


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PluginFolder]:
    with plugin_folder(tmp_path / "plugins", monkeypatch) as made:
        yield made


@pytest.fixture
def tournament(folder: PluginFolder, broker: Redis) -> Tournament:
    """Return a planned tournament of a plug-in; control has given a sign of life."""
    RecorderMark.objects.create(marked_at=make.NOW)
    return make.planned(40, agents=["random", "centre"], game="nim", board="own")


def _own_files() -> dict[str, str]:
    return catalogs.hash_plugin_files(PLAYED_PLUGINS)


def _send(broker: Redis, *nodes: str) -> list[str]:
    """Return the node of each order that is sent now."""
    relay.send_pending_matches(now=make.NOW)
    return [node for node in nodes for _ in make.popped(broker, node)]


def _show(sample: Sample) -> SystemPage:
    """Return what the page of the system shows."""
    return format_state(SystemState(sample=sample, history=[sample.point], control_at=sample.at))


def test_a_node_with_another_file_gets_no_order_and_one_with_the_same_gets_them(
    broker: Redis, tournament: Tournament
) -> None:
    make.alive(node="a", plugins={**_own_files(), "games/nim": OTHER})
    make.alive(node="b", plugins={})
    assert _send(broker, "a", "b") == []
    make.alive(node="c", plugins=_own_files())
    assert set(_send(broker, "a", "b", "c")) == {"c"}


def test_a_node_of_an_older_version_compares_for_itself(
    broker: Redis, tournament: Tournament
) -> None:
    make.alive(node="a", plugins=None)
    assert set(_send(broker, "a")) == {"a"}


def test_a_shipped_game_asks_for_no_file(broker: Redis) -> None:
    make.planned(40)
    make.alive(node="a", plugins={})
    assert set(_send(broker, "a")) == {"a"}


def test_orders_that_wait_do_not_move_to_a_node_with_another_file(
    broker: Redis, tournament: Tournament
) -> None:
    Tournament.objects.update(mean_match_s=60.0, order_limit=20)
    make.alive(node="a", plugins=_own_files())
    assert relay.send_pending_matches(now=make.NOW) == 1
    make.alive(node="b", plugins={"games/nim": OTHER})
    assert _send(broker, "a", "b") == ["a"]


def test_a_node_without_the_file_of_a_policy_gets_no_match_of_it(
    broker: Redis, tournament: Tournament
) -> None:
    own = _own_files()
    make.alive(node="a", plugins={**own, "policies/centre": OTHER})
    assert _send(broker, "a") == []
    (missing,) = explain.of_tournament(tournament, now=make.NOW).waits_for
    here = own["policies/centre"][:12]
    assert missing.startswith(
        f"a play node with the file policies/centre as it is here ({here}): a has {OTHER[:12]} ("
    )
    assert selectors.describe_missing(tournament, now=make.NOW) == missing
    make.alive(node="b", plugins={**own, "policies/other": OTHER})
    assert set(_send(broker, "a", "b")) == {"b"}


def test_a_policy_that_does_not_take_part_is_asked_of_nobody(
    folder: PluginFolder, broker: Redis
) -> None:
    make.planned(40, agents=["random", "greedy"], game="connect_four", board="shipped")
    make.alive(node="a", plugins={})
    assert set(_send(broker, "a")) == {"a"}


def test_it_is_said_which_node_has_which_file(broker: Redis, tournament: Tournament) -> None:
    make.alive(node="a", plugins={**_own_files(), "games/nim": OTHER})
    make.alive(node="b", plugins={"policies/centre": _own_files()["policies/centre"]})
    own = _own_files()["games/nim"][:12]
    (missing,) = explain.of_tournament(tournament, now=make.NOW).waits_for
    assert missing.startswith(
        f"a play node with the file games/nim as it is here ({own}): a has {OTHER[:12]}, "
        "b has none (copy it to"
    )
    assert selectors.describe_missing(tournament, now=make.NOW) == missing
    match = tournament.matches.order_by("sequence")[0]
    assert explain.of_match(match, now=make.NOW).waits_for == (missing,)
    sample = take_sample(now=make.NOW, last=None)
    assert [one.waits_for for one in sample.tournaments] == [f"waits for {missing}"]
    (table,) = [t for t in _show(sample)["tables"] if t["name"] == "game-files"]
    others = f"a has {OTHER[:12]}, b has none"
    assert table["rows"] == [{"tone": "bad", "cells": ["games/nim", own, others]}]
    idle = explain.of_worker(Worker.objects.get(node="b"), now=make.NOW)
    assert idle.waits_for[0].endswith("those pending need games/nim as here")
    assert idle.notes[0].startswith(f"no match of nim: here games/nim is {own}, b has none (copy")


def test_a_node_that_has_the_file_or_needs_none_is_not_warned_of(folder: PluginFolder) -> None:
    make.alive(node="a", plugins=_own_files())
    make.alive(node="b", capabilities=["mujoco"], plugins={})
    make.alive(node="c", plugins=None)
    make.alive(node="gpu-1", capabilities=["gpu"])
    sample = take_sample(now=make.NOW, last=None)
    own = _own_files()["games/nim"][:12]
    (table,) = [t for t in _show(sample)["tables"] if t["name"] == "game-files"]
    assert table["rows"] == [{"tone": "good", "cells": ["games/nim", own, "\N{EN DASH}"]}]
    assert [explain.of_worker(w, now=make.NOW).notes for w in Worker.objects.order_by("node")] == [
        ("2 slots, cpu",),
        ("2 slots, mujoco",),
        ("2 slots, cpu",),
        ("2 slots, gpu",),
    ]


def test_without_plugins_the_page_has_no_table_of_them() -> None:
    make.alive(plugins={})
    tables = _show(take_sample(now=make.NOW, last=None))["tables"]
    assert "game-files" not in [table["name"] for table in tables]
