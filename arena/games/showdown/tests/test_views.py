"""What a seat sees follows from what the package sends to its player, and from nothing else."""

import json
import subprocess
from pathlib import Path

import pytest

from arena.games.showdown.game import DRIVER
from arena.games.showdown.installed import find_node, name_package
from tests.catalogs import needs_simulator

pytestmark = needs_simulator
STREAMS = Path(__file__).with_name("streams.js")
OU_TEAMS = DRIVER.with_name("teams") / "gen1ou"


@pytest.mark.parametrize(
    ("battle_format", "teams"), [("gen1randombattle", "-"), ("gen1ou", str(OU_TEAMS))]
)
def test_views_are_those_of_the_streams_that_players_get(battle_format: str, teams: str) -> None:
    command = [str(find_node()), str(STREAMS), battle_format, name_package(), teams]
    seeds = map(str, range(1, 13))
    done = subprocess.run([*command, *seeds], capture_output=True, text=True, check=True)
    *differences, compared = done.stdout.splitlines()
    assert differences == []
    assert int(compared.removeprefix("compared ")) > 500


def test_views_say_what_is_true_of_who_is_out() -> None:
    command = [str(find_node()), str(STREAMS.with_name("truth.js")), name_package()]
    seeds = map(str, range(1, 7))
    done = subprocess.run([*command, *seeds], capture_output=True, text=True, check=True)
    *differences, met = done.stdout.splitlines()
    assert differences == []
    expected = {"leech_seed", "recharges", "substitute", "confusion", "transformed", "twice"}
    assert expected <= set(json.loads(met))
