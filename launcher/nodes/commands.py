"""The commands of `./run nodes`."""

import argparse
from pathlib import Path

from arena.parameters import parse_number
from launcher.errors import SetupError
from launcher.nodes import remote
from launcher.nodes.machines import FOLDER, Machines, try_everywhere
from launcher.nodes.ssh import RemoteError
from launcher.nodes.starting import start_nodes

MAX_PLAYERS = 4096


def add_nodes_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare `nodes` and its options."""
    nodes = commands.add_parser("nodes", help="play nodes on other machines, by ssh")
    acts = nodes.add_subparsers(dest="act", required=True, metavar="start|stop|status")
    for name, act, text in (
        ("start", start_nodes, "bring the code and the plug-ins there, start a node on each"),
        ("stop", stop_nodes, "end the nodes; what they play goes on elsewhere"),
        ("status", show_nodes, "say which of them run"),
    ):
        parser = acts.add_parser(name, help=text)
        of_file = "a machine a line: user@host[:port] [name]; # begins a comment"
        parser.add_argument("--hosts", type=Path, required=True, metavar="FILE", help=of_file)
        parser.add_argument("--folder", default=FOLDER, metavar="F", help=f"there ({FOLDER})")
        parser.add_argument("--ssh-config", type=Path, metavar="FILE", help="of ssh, not its own")
        parser.set_defaults(run=act)
        if act is start_nodes:
            _add_start_options(parser)


def _add_start_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--server", metavar="HOST", help="by which name they reach this machine, if not 127.0.0.1"
    )
    parser.add_argument(
        "--python", metavar="PATH", help="a Python there that has the packages (installs them)"
    )
    parser.add_argument("--with-torch", action="store_true", help="install torch there, too")
    parser.add_argument(
        "--concurrency", type=_read_players, metavar="T", help="players of each (its cores)"
    )


def _read_players(text: str) -> int:
    if (number := parse_number(text, lowest=1, highest=MAX_PLAYERS)) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number, 1..{MAX_PLAYERS}")
    return number


def stop_nodes(options: argparse.Namespace) -> int:
    """Stop the nodes of the file; those that can be reached, whatever the others say."""
    _report_answers(options, remote.STOP)
    return 0


def show_nodes(options: argparse.Namespace) -> int:
    """Print the state of each node of the file; 1 where not all of them run."""
    answers = _report_answers(options, remote.STATUS)
    return int(not all(answer.startswith("running") for answer in answers))


def _report_answers(options: argparse.Namespace, script: str) -> list[str]:
    """Print and return what each machine answers. Raises SetupError for those that do not."""
    machines = Machines.from_options(options)
    answers = try_everywhere(machines.hosts, lambda host: machines.call(host, script))
    for host, answer in zip(machines.hosts, answers, strict=True):
        if not isinstance(answer, RemoteError):
            print(f"{host.name:<24} {host!s:<32} {answer.strip()}")
    if failures := [str(answer) for answer in answers if isinstance(answer, RemoteError)]:
        raise SetupError("\n".join(failures))
    return [str(answer) for answer in answers]
