"""What is spelled of a network is read and checked without torch."""

from pathlib import Path

import pytest

from arena.errors import ParameterError
from arena.parameters import read_parameters
from arena.trainers import registry
from arena.trainers.networks import check_network, split_network


def test_a_network_is_an_architecture_and_its_parameters() -> None:
    network = split_network("run", "lines;width=64;depth=2", ["mlp", "lines"])
    assert network == ("lines", {"width": "64", "depth": "2"})
    check_network("run", "mlp;hidden=256,256")
    check_network("run", "mlp;hidden=")


@pytest.mark.parametrize(
    ("network", "words"),
    [
        ("nosuch", "parameter 'network' must be one of .*mlp.*, got 'nosuch'"),
        ("mlp;hidden", "then ;name=value as often as wanted"),
        ("mlp;hidden=64,0", "'hidden' must be up to 32 sizes of 1..8192"),
        ("mlp;size=3", "'size' is unknown"),
    ],
)
def test_one_that_cannot_be_built_is_refused_with_the_rule(network: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        check_network("run", network)


def test_of_an_architecture_that_declares_nothing_plainly_anything_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "architectures"
    folder.mkdir()
    (folder / "net_of_mine.py").write_text("parameters = (Parameter(find_name()),)\n")
    monkeypatch.setenv("EVALSITE_PLUGINS", str(tmp_path))
    check_network("run", "net_of_mine;depth=3")


def test_sizes_that_are_none_are_refused_wherever_a_trainer_takes_them() -> None:
    declared = registry.get("appo").parameters
    with pytest.raises(ParameterError, match="'hidden' must be up to 32 sizes"):
        read_parameters("appo", declared, {"hidden": "8,x"})
