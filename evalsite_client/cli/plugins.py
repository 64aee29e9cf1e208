"""`evalsite plugin check` and `plugin new`: an author's own machine, no server."""

import ast
import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path
from typing import Final, NamedTuple

from evalsite_client.cli.checking import Checked, check_plugin
from evalsite_client.cli.options import add_command, make_common_options, read_seconds
from evalsite_client.cli.show import Answer
from evalsite_client.client import Client
from evalsite_client.errors import InputError

SKELETONS: Final = Path(__file__).resolve().parents[1] / "skeletons"
MAIN: Final = "__init__.py"
SECONDS: Final = 60.0


class Family(NamedTuple):
    """Where the plug-ins of a kind lie, and what checks them."""

    folder: str
    module: str


FAMILIES: Final = {
    "game": Family("games", "arena.conformance"),
    "policy": Family("policies", "arena.conformance"),
    "pairing": Family("pairing", "arena.conformance"),
    "architecture": Family("architectures", "inference.conformance"),
}


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    parser = add_command(
        commands,
        "plugin",
        explain_plugins,
        examples="  evalsite plugin new game my_game\n  evalsite plugin check games/my_game.py",
    )
    actions = parser.add_subparsers(metavar="ACTION")
    common = [make_common_options()]
    check = actions.add_parser(
        "check", help="run all checks of its family, without a server", parents=common
    )
    check.add_argument("file", type=Path)
    check.add_argument("--game", action="append", default=[], help="to check a policy on")
    check.add_argument("--limit", type=read_seconds, default=SECONDS, metavar="S", help="a check")
    check.set_defaults(run=check_file)
    new = actions.add_parser(
        "new", help="write a small one that passes, to start from", parents=common
    )
    new.add_argument("family", choices=tuple(FAMILIES))
    new.add_argument("name", help="its id, and the name of its file")
    new.add_argument("--folder", type=Path, default=Path(), help="the folder of your plug-ins")
    new.set_defaults(run=write_skeleton)


def explain_plugins(client: Client, options: Namespace) -> Answer:
    """Say what can be done with plug-ins: new, check."""
    del client, options
    raise InputError("plugin", "say what: `plugin new FAMILY NAME` or `plugin check FILE`")


def check_file(client: Client, options: Namespace) -> Answer:
    """Check a plug-in, telling what becomes of each check as it ends; status 1 if one fails."""
    del client
    family = read_family(options.file)
    checked: list[Checked] = []
    for check in check_plugin(
        options.file.resolve(), family, *FAMILIES[family], games=options.game, limit_s=options.limit
    ):
        checked.append(check)
        if not getattr(options, "json", False):
            sys.stdout.write(f"{_format_checked(check)}\n")
            sys.stdout.flush()
    n_failed = sum(bool(check.failure) for check in checked)
    text = f"{len(checked) - n_failed} checks passed, {n_failed} failed"
    return Answer([check._asdict() for check in checked], text, status=int(n_failed > 0))


def _format_checked(checked: Checked) -> str:
    remark = "; ".join(filter(None, (checked.failure, checked.note)))
    return (
        f"{'FAIL' if checked.failure else 'ok  '}  {checked.name}{': ' if remark else ''}{remark}"
    )


def write_skeleton(client: Client, options: Namespace) -> Answer:
    """Write a small plug-in of a family."""
    del client
    is_id = options.name.isidentifier() and options.name.isascii()
    if not is_id or options.name != options.name.lower():
        raise InputError("name", f"must be lower-case letters, digits and _, got {options.name!r}")
    path = options.folder / FAMILIES[options.family].folder / f"{options.name}.py"
    if path.exists():
        raise InputError("name", f"{path} is there already: choose another one")
    text = (SKELETONS / f"{options.family}.txt").read_text(encoding="utf-8")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("NAME", options.name), encoding="utf-8")
    except OSError as error:
        raise InputError("folder", f"{path} cannot be written: {error.strerror}") from error
    lines = (
        f"wrote {path}; edit it, then:",
        f"  evalsite plugin check {path}",
        f"  EVALSITE_PLUGINS={options.folder.resolve()} ./run",
    )
    return Answer({"file": str(path)}, "\n".join(lines))


def read_family(path: Path) -> str:
    """Return what a file defines, without running it: its GAME, POLICY and so on.

    Raises InputError for a file that is not there, is no Python or defines none or several.
    """
    file = path / MAIN if path.is_dir() else path
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("file", f"{file}: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        raise InputError("file", f"{file} is no Python file: {error}") from error
    assigned = {name.id for name in ast.walk(tree) if isinstance(name, ast.Name)}
    imported = {
        alias.asname or alias.name
        for statement in ast.walk(tree) if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }  # fmt: skip
    defined = [family for family in FAMILIES if family.upper() in assigned | imported]
    if len(defined) != 1:
        names = ", ".join(family.upper() for family in FAMILIES)
        which = f"defines {len(defined)} of them" if defined else "defines none"
        raise InputError("file", f"{file} must define one of {names}; it {which}")
    return defined[0]
