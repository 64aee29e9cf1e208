"""The commands of `./run`."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from arena.errors import ProgramListError
from arena.machine import LabelError, read_machine_labels
from arena.needs import refuse_capability
from arena.programs import VARIABLE as PROGRAM_LIST
from arena.programs import format_programs, read_programs
from arena.queues import MAX_RECORDERS
from launcher import compose, foreground, toolbox, tools
from launcher.addresses import LOOPBACK, Ports, check_bound, describe_bound
from launcher.errors import SetupError
from launcher.folders import ROOT, read_variables, var_folder
from launcher.foreground import show_addresses
from launcher.joining.__main__ import main as run_node
from launcher.llmserve.commands import add_llmserve_command
from launcher.nodes.commands import add_nodes_command
from launcher.options import read_count, read_switch, whole_number
from launcher.plan import Plan
from launcher.programs import CAPABILITIES, ONE_THREAD, PYTHON
from launcher.showdown.commands import add_showdown_command
from launcher.showdown.serving import serve_battles
from launcher.stack import NOT_OURS, child_environment, own_settings, stop_stack
from launcher.supervision import Supervisor, find_leftovers

BAD_INPUT = 2
ALREADY_RUNS = 1
INTERRUPTED = 130
EPILOG = (
    "Every other word is a command of `evalsite`, called against what runs here: "
    "./run evaluate --help, ./run gate --help; ./run agents --help and .venv/bin/evalsite --help "
    "list them all."
)
DESCRIPTION = "Without a command: start everything here and follow it; Ctrl-C ends it."


class OptionalPrograms(TypedDict):
    """What of a Plan a variable may say, too."""

    recorders: int
    trainers: int
    head: bool
    experience: bool


def capabilities(text: str) -> str:
    """Return a list of capabilities as nodes read it."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if refusal := refuse_capability(name):
            raise argparse.ArgumentTypeError(f"{name!r}: must be {refusal}")
    return ",".join(names)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="./run", description=DESCRIPTION, epilog=EPILOG)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_up(commands)
    for name, run, text in (
        ("stop", stop_here, "end the running stack"),
        ("status", show_status, "show the processes and the addresses"),
    ):
        commands.add_parser(name, help=text).set_defaults(run=run)
    check = commands.add_parser(
        "check", help="format, lint, types, import contracts, templates, migrations"
    )
    check.add_argument(
        "--environments",
        action="store_true",
        help="instead the packages of environments/: their tests, lock and lint, in both tools",
    )
    check.set_defaults(run=toolbox.run_checks)
    compose_env = commands.add_parser(
        "compose-env", help="write what docker-compose.yml and deploy/kubernetes read"
    )
    compose_env.add_argument("--nodes", type=whole_number(1), default=2, metavar="N")
    compose_env.add_argument(
        "--experience", action="store_true", help="also start stream, sink and trainer"
    )
    compose_env.set_defaults(run=write_compose)
    _add_tools(commands)
    add_nodes_command(commands)
    add_showdown_command(commands)
    add_llmserve_command(commands)
    for name, text in PASSED_ON_HELP.items():
        commands.add_parser(name, help=text, add_help=False)
    return parser


def _add_up(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    up = commands.add_parser("up", help="start the stack and follow it (the default)")
    up.add_argument("--nodes", type=whole_number(0), default=1, metavar="N", help="play nodes (1)")
    up.add_argument(
        "--concurrency",
        type=whole_number(1),
        default=os.cpu_count() or 1,
        metavar="T",
        help="players per node (the number of cores)",
    )
    up.add_argument(
        "--gpus", type=whole_number(0), default=1, metavar="G", help="servers of networks (1)"
    )
    up.add_argument(
        "--recorders",
        type=whole_number(1, MAX_RECORDERS),
        metavar="R",
        help="processes that record results; more than one needs PostgreSQL (1)",
    )
    up.add_argument(
        "--capabilities",
        type=capabilities,
        default=os.environ.get(CAPABILITIES) or None,
        metavar="C,...",
        help="what the play nodes have, as games name it: cpu,torch,mujoco (what is installed)",
    )
    up.add_argument(
        "--head",
        action="store_true",
        help="the evaluation head, for game servers: docs/gameservers.md",
    )
    up.add_argument(
        "--experience",
        action="store_true",
        help="a stream and a sink for what users of games upload",
    )
    up.add_argument(
        "--trainers",
        type=whole_number(0),
        metavar="N",
        help="trainers, with all that --experience starts (0)",
    )
    up.add_argument(
        "--bind",
        type=check_bound,
        metavar="ADDRESS",
        help="open web server, broker, fast store and stream at this address of this machine, for "
        "nodes that join with ./run node",
    )
    up.add_argument("--detach", action="store_true", help="return when it runs; ./run stop ends it")
    up.add_argument("--no-example", action="store_true", help="leave an empty database empty")
    up.set_defaults(run=start_here)


def _add_tools(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    of_tools = commands.add_parser(
        "tools", help="programs whose packages do not go with ours: which there are"
    )
    of_tools.set_defaults(run=tools.show_tools)
    install = of_tools.add_subparsers(metavar="install").add_parser(
        "install", help="install some, each in a folder of its own"
    )
    install.add_argument("names", nargs="+", metavar="NAME", help=", ".join(tools.list_tools()))
    install.set_defaults(run=tools.install_tools)


PASSED_ON_HELP = {
    "node": "make this machine a play node of a server elsewhere: ./run node --help",
    "test": "check, then the tests; arguments go to pytest",
    "manage": "a management command of Django, as in ./run manage migrate",
    "bench": "measure: ./run bench NAME; without a name it says which there are",
    "chaos": "play while processes are killed, and compare",
}


def read_optional_programs(
    options: argparse.Namespace, environment: Mapping[str, str]
) -> OptionalPrograms:
    """Return of which programs there are how many, by options and else by their variables."""
    recorders, trainers = options.recorders, options.trainers
    if recorders is None:
        recorders = read_count(environment, "EVALSITE_RECORDERS", 1, highest=MAX_RECORDERS)
    if trainers is None:
        trainers = read_count(environment, "EVALSITE_TRAINERS", 0)
    return {
        "recorders": recorders,
        "trainers": trainers,
        "head": options.head or read_switch(environment, "EVALSITE_HEAD"),
        "experience": options.experience or read_switch(environment, "EVALSITE_EXPERIENCE"),
    }


def start_here(options: argparse.Namespace) -> int:
    """Start the stack; follow it unless it is detached."""
    var = var_folder(os.environ)
    if (pid := Supervisor(var).pid()) is not None:
        print(f"evalsite runs here already (pid {pid}):")
        _show_running(var)
        print("To start it in another shape: ./run stop, then ./run up ... again.")
        return ALREADY_RUNS
    try:
        read_machine_labels(os.environ)
    except LabelError as error:
        raise SetupError(f"{error.variable}: {error}") from error
    try:
        programs = read_programs(os.environ.get(PROGRAM_LIST, ""))
    except ProgramListError as error:
        raise SetupError(str(error)) from error
    own = {CAPABILITIES: options.capabilities} if options.capabilities else {}
    own |= {PROGRAM_LIST: format_programs(programs)} if programs else {}
    ports, bind = Ports.from_environment(os.environ), options.bind
    own |= describe_bound(os.environ, bind, ports) if bind else {}
    plan = Plan(
        var=var,
        ports=ports,
        # Empty would mean every address of this machine.
        host=bind or os.environ.get("EVALSITE_HOST") or LOOPBACK,
        bind=bind or LOOPBACK,
        nodes=options.nodes,
        slots=options.concurrency,
        gpus=options.gpus,
        **read_optional_programs(options, os.environ),
        settings={**own_settings(os.environ), **own},
    )
    return foreground.run_stack(plan, example=not options.no_example, detach=options.detach)


def stop_here(_: argparse.Namespace) -> int:
    """End the stack of this data folder."""
    var = var_folder(os.environ)
    print("stopped" if stop_stack(var) else f"nothing runs in {var}")
    return 0


def show_status(_: argparse.Namespace) -> int:
    """Print the processes and addresses; 1 when nothing runs, or only leftovers do."""
    var = var_folder(os.environ)
    supervisor = Supervisor(var)
    if supervisor.pid() is None:
        if pids := ", ".join(str(process.pid) for process in find_leftovers(var)):
            print(
                f"the supervisor of {var} is gone. It left processes behind (pids {pids}), which "
                "nobody starts again: ./run stop ends them"
            )
        else:
            print(f"nothing runs in {var}")
        return 1
    print(f"{'process':<12} {'state':<10} {'pid':>8} {'up':>10}")
    for state in supervisor.states():
        print(f"{state.name:<12} {state.state:<10} {state.pid or '':>8} {state.uptime_s:>8} s")
    _show_running(var)
    return 0


def _show_running(var: Path) -> None:
    """Print the addresses of the stack that runs in this folder."""
    shared = read_variables(var / "stack.env")
    ports = Ports.from_environment(shared)
    host, has_head = shared.get("EVALSITE_HOST", "127.0.0.1"), shared.get("EVALSITE_HEAD") == "1"
    show_addresses(Plan(var=var, ports=ports, host=host, head=has_head))


def write_compose(options: argparse.Namespace) -> int:
    """Write the secrets and users that docker-compose.yml reads."""
    for path in compose.write_files(
        ROOT, n_nodes=options.nodes, experience=options.experience, now=time.time()
    ):
        print(f"written: {path}")
    return 0


def pass_on(*command: str, without: Sequence[str] = ()) -> Callable[[Sequence[str]], int]:
    """Return a command that becomes another program, against the stack of this data folder."""

    def run(arguments: Sequence[str]) -> int:
        var = var_folder(os.environ)
        shared = read_variables(var / "stack.env") | own_settings(os.environ)
        environment = ONE_THREAD | child_environment(var, shared)
        for name in set(without) - {"EVALSITE_VAR"}:
            environment.pop(name, None)
        os.chdir(ROOT)
        # No child: Ctrl-C and SIGTERM are the program's alone, however long it takes to end.
        os.execve(PYTHON, [PYTHON, *command, *arguments], environment)

    return run


PASSED_ON = {
    "node": run_node,
    "test": toolbox.run_tests,
    "manage": pass_on("manage.py"),
    "bench": pass_on("-m", "benchmarks"),
    "chaos": pass_on("-m", "benchmarks", "chaos"),
}
OWN = ("up", "stop", "status", "check", "compose-env", "tools", "nodes", "showdown", "llmserve")
# What we do not know ourselves is a command of `evalsite`, called against the stack here.
ask_server = pass_on("-m", "evalsite_client", without=NOT_OURS)


def is_for_server(arguments: Sequence[str]) -> bool:
    """Say whether `evalsite` is meant: `./run evaluate ...`, and `./run stop 3`, of a campaign."""
    first, further = arguments[0], arguments[1:]
    is_of_campaign = first == "stop" and bool(further) and further[0].isdecimal()
    return is_of_campaign or not (first in OWN or first.startswith("-"))


def _describe_refusal(error: SetupError | PermissionError) -> str:
    """Return the message for an OSError. Raises the error itself where it names no file."""
    if isinstance(error, SetupError):
        return str(error)
    if error.filename is None:
        raise error
    refused = f"no right to read or write {error.filename} ({error.strerror})"
    return f"{refused}: change its rights, or call this as its owner"


def main(arguments: Sequence[str]) -> int:
    """Run one command; return the exit status."""
    try:
        if arguments and arguments[0] in PASSED_ON:
            return PASSED_ON[arguments[0]](arguments[1:])
        if list(arguments[:2]) == ["showdown", "serve"]:
            serve_battles(arguments[2:])
        if arguments and is_for_server(arguments):
            return ask_server(arguments)
        if not arguments or (arguments[0].startswith("--") and arguments[0] != "--help"):
            arguments = ["up", *arguments]
        options = build_parser().parse_args(arguments)
        run: Callable[[argparse.Namespace], int] = options.run
        return run(options)
    except (SetupError, PermissionError) as error:
        print(_describe_refusal(error), file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Who read the output has seen enough (| head); the interpreter must not flush it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
