"""`./run showdown teams`: a game of one's own sets, once the package's validator has taken them."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from arena.games.showdown.installed import (
    VARIABLE,
    find_folder,
    find_node,
    is_playable,
    name_package,
)
from launcher.errors import SetupError
from launcher.folders import ROOT
from launcher.tools import MissingToolError

REFUSED: Final = 2
CHECK: Final = ROOT / "arena" / "games" / "showdown" / "teams_check.js"
SHIPPED: Final = ROOT / "arena" / "games" / "catalog"
MARK: Final = "./run showdown teams"
"""In a catalog file that this command has written, which it may write again."""
CATALOG_FILE: Final = '''\
"""Pokemon Showdown, {battle_format}, with the sets of {id}_teams: ./run showdown teams."""

from pathlib import Path

from arena.games.showdown.game import make_game

GAME = make_game(
    "{id}",
    "Pokemon {battle_format}: {id}",
    "{battle_format}",
    teams=Path(__file__).with_name("{id}_teams"),
    teams_hash="{hash}",
)
'''


def add_teams_command(acts: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare `showdown teams` and its options."""
    teams = acts.add_parser(
        "teams",
        help="check a folder of teams, and make a game of them",
        description="A team is a text file (*.txt) as the team builder of Showdown exports it.",
    )
    teams.add_argument("folder", type=Path, metavar="FOLDER")
    teams.add_argument("--format", default="gen1ou", metavar="F", help="of generation 1 (gen1ou)")
    teams.add_argument("--game", metavar="ID", help="write a catalog file for a game of this id")
    teams.add_argument(
        "--plugins", type=Path, metavar="DIR", help="into games/ of this folder of EVALSITE_PLUGINS"
    )
    teams.set_defaults(run=check_teams)


def check_teams(options: argparse.Namespace) -> int:
    """Check the teams; 2 where one is refused, each with its reason."""
    if bool(options.game) != bool(options.plugins):
        raise SetupError("--game and --plugins go together: the id of the game, and where it goes")
    if options.game and not re.fullmatch(r"[a-z][a-z0-9_]{0,59}", options.game):
        raise SetupError(
            f"--game {options.game!r:.80}: must be up to 60 lower-case letters, digits and _, a "
            "letter first, as my_ou"
        )
    # The package would take other spellings, too, which the catalog file must not.
    if not re.fullmatch(r"[a-z0-9]{1,60}", options.format):
        raise SetupError(
            f"--format {options.format!r:.80}: must be lower-case letters and digits, as gen1ou"
        )
    if not options.folder.is_dir():
        raise SetupError(f"there is no folder {options.folder}")
    answer = _ask_validator(options.format, options.folder.resolve())
    for refusal in answer["refusals"]:
        print(refusal, file=sys.stderr)
    if answer["refusals"]:
        return REFUSED
    n_teams = len(list(options.folder.glob("*.txt")))
    print(f"{n_teams} teams of {options.folder} may play {options.format}")
    if options.game:
        try:
            _write_game(options, answer["hash"])
        except OSError as error:
            raise SetupError(f"--plugins {options.plugins} cannot be written: {error}") from error
    return 0


def _ask_validator(battle_format: str, folder: Path) -> dict[str, Any]:
    if not is_playable():
        raise MissingToolError("showdown")
    result = subprocess.run(
        [str(find_node()), str(CHECK), battle_format, name_package(), str(folder)],
        env={**os.environ, VARIABLE: str(find_folder())},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        last_line = (result.stderr.strip().splitlines() or [""])[-1]
        raise SetupError(f"the validator ended with {result.returncode}: {last_line}")
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def _write_game(options: argparse.Namespace, teams_hash: str) -> None:
    games = options.plugins / "games"
    path, copy = games / f"{options.game}.py", games / f"{options.game}_teams"
    if (SHIPPED / path.name).exists() or (path.exists() and MARK not in path.read_text()):
        raise SetupError(f"--game {options.game}: there is another game of this id: choose another")
    games.mkdir(parents=True, exist_ok=True)
    # Beside its file, so that one folder is all that other machines need.
    if copy.resolve() != options.folder.resolve():
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for text in options.folder.glob("*.txt"):
            shutil.copy(text, copy)
    fields = {"id": options.game, "battle_format": options.format, "hash": teams_hash}
    path.write_text(CATALOG_FILE.format(**fields))
    print(f"wrote {path}: EVALSITE_PLUGINS={options.plugins.resolve()} offers it")
