"""Teams of a user's own, as a game of a plug-in folder that lasts as long as the benchmark."""

import json
import subprocess
from pathlib import Path

from arena.games.showdown.game import DRIVER
from arena.games.showdown.installed import VARIABLE, find_folder, find_node, name_package

GAME = "showdown_own_teams"
CATALOG = '''"""Pokemon Showdown with the teams of a folder."""

from pathlib import Path

from arena.games.showdown.game import make_game

TEAMS = Path({teams!r})
GAME = make_game({game!r}, "Own teams", {battle_format!r}, teams=TEAMS, teams_hash={hash!r})
'''


class TeamsError(Exception):
    """The folder has no teams that the package's validator accepts."""


def write_game(plugins: Path, battle_format: str, teams: Path) -> str:
    """Write the catalog file of the game and return its id. Raises TeamsError."""
    program = DRIVER.with_name("teams_check.js")
    checked = subprocess.run(
        [find_node() or "node", str(program), battle_format, name_package(), str(teams)],
        env={VARIABLE: str(find_folder())},
        capture_output=True,
        text=True,
        check=False,
    )
    if checked.returncode:
        raise TeamsError(checked.stderr.strip().splitlines()[-1])
    answer = json.loads(checked.stdout)
    if refusals := answer["refusals"]:
        raise TeamsError("; ".join(refusals))
    (plugins / "games").mkdir(parents=True)
    text = CATALOG.format(
        game=GAME, battle_format=battle_format, teams=str(teams.resolve()), hash=answer["hash"]
    )
    (plugins / "games" / f"{GAME}.py").write_text(text)
    return GAME
