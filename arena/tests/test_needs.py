"""What must be there to play a match."""

from dataclasses import replace

import pytest

from arena import needs
from arena.errors import NeedsError, UnsupportedGameError
from arena.games import registry as games
from arena.needs import MAX_LENGTH, SERVICES, Needs, plays_matches, refuse_capability


@pytest.mark.parametrize(
    ("capability", "has_local", "asks_gpu", "text"),
    [
        ("cpu", False, False, "cpu"),
        ("cpu", True, False, "torch"),
        ("cpu", False, True, "cpu+gpu"),
        ("cpu", True, True, "torch+gpu"),
        ("torch", True, True, "torch+gpu"),
        ("mujoco", False, False, "mujoco"),
        ("mujoco", True, True, "mujoco+torch+gpu"),
    ],
)
def test_needs_are_of_the_game_and_of_where_networks_run(
    capability: str, has_local: bool, asks_gpu: bool, text: str
) -> None:
    needed = Needs.of_match(capability, has_local=has_local, asks_gpu=asks_gpu)
    assert needed == text
    assert needed.services == ({"gpu"} if asks_gpu else set())
    assert needed.is_networked == (capability == "torch" or has_local or asks_gpu)


def test_a_node_must_have_all_of_it_and_more_does_no_harm() -> None:
    needed = Needs("mujoco+torch+gpu")
    assert needed.node == "a play node with mujoco and torch"
    assert needed.are_met_by(["cpu", "torch", "mujoco"])
    assert not needed.are_met_by(["cpu", "torch"])
    assert not needed.are_met_by(["cpu", "mujoco"])
    assert not Needs("cpu").are_met_by(["mujoco"]), "a node may be kept for its own games"
    assert not Needs("cpu").are_met_by(["gpu", "cpu"]), "who answers for networks plays nothing"


@pytest.mark.parametrize(
    ("has_torch", "has_showdown", "offered"),
    [
        (False, False, ("cpu",)),
        (True, False, ("cpu", "torch")),
        (False, True, ("cpu", "showdown")),
    ],
)
def test_a_node_has_what_is_installed(
    monkeypatch: pytest.MonkeyPatch,
    has_torch: bool,
    has_showdown: bool,
    offered: tuple[str, ...],
) -> None:
    monkeypatch.setattr(needs, "find_spec", lambda name: name if has_torch else None)
    monkeypatch.setattr(needs, "is_playable", lambda environ: has_showdown)
    assert needs.list_installed({}) == offered


def test_who_answers_for_networks_plays_nothing_and_all_others_play() -> None:
    assert plays_matches(["cpu", "spot"])
    assert plays_matches(["mujoco"])
    assert not plays_matches(["gpu"])


def test_programs_are_needed_beside_the_rest_and_none_is_said_to_be_there() -> None:
    programs = ["program.fish", "program.b", "program.fish"]
    needed = Needs.of_match("cpu", has_local=False, asks_gpu=True, programs=programs)
    assert needed == "cpu+program.b+program.fish+gpu"
    assert needed.programs == ["b", "fish"]
    assert needed.are_met_by(["cpu", "program.fish", "program.b"])
    assert not needed.are_met_by(["cpu", "program.fish"])
    assert not Needs("cpu").programs
    assert "EVALSITE_PROGRAMS" in refuse_capability("program.fish")


def test_more_programs_than_can_be_written_down_are_refused() -> None:
    programs = [f"program.{letter * 16}" for letter in "abc"]
    with pytest.raises(NeedsError, match="at most 64 characters, enter fewer programs"):
        Needs.of_match("cpu", has_local=False, asks_gpu=False, programs=programs)
    assert Needs.of_match("cpu", has_local=False, asks_gpu=True, programs=programs[:2])


@pytest.mark.parametrize("name", ["mujoco", "GPU=8", "py3.12", "a_b-c", "a" * 40])
def test_users_name_capabilities_of_their_own(name: str) -> None:
    assert refuse_capability(name) == ""
    spec = replace(games.get("tic_tac_toe").spec, capability=name)
    needed = Needs.of_match(spec.capability, has_local=True, asks_gpu=True)
    assert len("+".join([needed, *SERVICES[1:]])) <= MAX_LENGTH


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a,b", "8", "é", "a\n", "a" * 41, "gpu", "GPU"])
def test_what_no_node_can_have_is_refused_by_name(name: str) -> None:
    assert refuse_capability(name)
    with pytest.raises(UnsupportedGameError, match=r"tic_tac_toe: capability is .*must be "):
        replace(games.get("tic_tac_toe").spec, capability=name)


def test_a_game_cannot_name_what_nodes_drop() -> None:
    with pytest.raises(UnsupportedGameError, match="must be what a node has, and spot is a label"):
        replace(games.get("tic_tac_toe").spec, capability="spot")
