"""The commands of `./run showdown`."""

import argparse
import os
from pathlib import Path
from typing import Final

from launcher.folders import var_folder
from launcher.options import whole_number
from launcher.showdown.home import make_home, require_node, write_config
from launcher.showdown.server import SHOWDOWN, describe_launch
from launcher.showdown.teams import add_teams_command
from launcher.standalone.commands import add_port, add_stop_and_status, start_server
from launcher.standalone.service import Launch
from launcher.tools import find_tool

DEFAULT_PORT: Final = 8000
MAX_SIMULATORS: Final = 64


def add_showdown_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare `showdown` and its options."""
    showdown = commands.add_parser("showdown", help="the server of Pokemon Showdown, on loopback")
    names = "start|stop|status|serve|teams"
    acts = showdown.add_subparsers(dest="act", required=True, metavar=names)
    start = acts.add_parser("start", help="start it and return once it answers")
    add_port(start, DEFAULT_PORT)
    start.add_argument(
        "--simulators",
        type=whole_number(1, MAX_SIMULATORS),
        default=1,
        metavar="N",
        help="processes that play battles (1)",
    )
    start.set_defaults(run=start_showdown)
    add_teams_command(acts)
    add_stop_and_status(acts, SHOWDOWN)
    # Its options are those of the program that it becomes (launcher.cli).
    text = "play battles on such a server, as a game server: ./run showdown serve --help"
    acts.add_parser("serve", help=text, add_help=False)


def start_showdown(options: argparse.Namespace) -> int:
    """Start the server and return once it answers; 1 where one runs already or it ends."""
    tool, node = find_tool("showdown", var_folder(os.environ)), require_node()

    def prepare(var: Path) -> Launch:
        home = var / "showdown" / "server"
        make_home(tool, home)
        write_config(home, port=options.port, simulators=options.simulators)
        return describe_launch(node, home, options.port)

    return start_server(SHOWDOWN, options.port, prepare)
