"""`./run manage checkpoints`: add the weights of networks, look at them, convert foreign files."""

import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from arena.games import registry as games
from matches.artifacts.checkpoints import MAX_STEP, New, add_run, read_run_folder
from matches.errors import BadInputError
from matches.management import verdicts
from matches.management.options import existing, pair, whole
from matches.management.stopping import INTERRUPTED
from matches.models import Checkpoint
from matches.models.choices import Placement
from matches.store import selectors
from matches.store.clock import db_now

CONVERTER = "inference.convert"


class Command(BaseCommand):
    """Add, list, show and convert checkpoints."""

    help = "Add checkpoints with their agents, list and show them, convert .pt files to them."

    def run_from_argv(self, argv: list[str]) -> None:
        """Pass the arguments of `convert` on as they are; it runs where torch is."""
        if argv[2:3] == ["convert"]:
            sys.exit(_convert(argv[3:]))
        super().run_from_argv(argv)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options; their types refuse what is out of range (exit code 2)."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        _declare_add(actions.add_parser("add", help="a safetensors file, or a folder of a run"))
        listing = actions.add_parser("list", help="the newest first")
        listing.add_argument("--game", default="", help=f"one of {', '.join(games.names())}")
        listing.add_argument("--agent", default="", metavar="NAME", help="of one run")
        listing.add_argument("--limit", type=whole(1, 1_000_000), default=100)
        showing = actions.add_parser("show", help="everything that is known of one")
        showing.add_argument("hash", help="or its beginning, or an agent's name with --game")
        showing.add_argument("--game", default="")
        actions.add_parser("convert", help="make safetensors of .pt files: convert --help")

    def handle(self, *_args: Any, action: str, **options: Any) -> None:
        """Do it. Bad input ends with exit code 2 and leaves nothing behind."""
        try:
            {"add": self._add, "list": self._list, "show": self._show}[action](options)
        except BadInputError as error:
            raise CommandError(str(error), returncode=2) from error

    def _add(self, options: dict[str, Any]) -> None:
        agents = add_run(_given(options), now=db_now())
        hashes = [str(agent.checkpoint_id) for agent in agents]
        rows = verdicts.fresh(hashes) if options["no_wait"] else self._verdicts(hashes)
        self._print(verdicts.table(rows))
        refused = verdicts.refusals(rows)
        if refused:
            raise CommandError("\n".join(refused), returncode=2)

    def _verdicts(self, hashes: Sequence[str]) -> list[Checkpoint]:
        try:
            return verdicts.wait(hashes, self.stdout)
        except KeyboardInterrupt:
            rows = verdicts.fresh(hashes)
            self._print(["", *verdicts.table(rows)])
            said = "not waited for: the checks go on, `checkpoints list` shows them"
            raise CommandError(said, returncode=INTERRUPTED) from None

    def _list(self, options: dict[str, Any]) -> None:
        rows = Checkpoint.objects.prefetch_related("agents").order_by("-pk")
        if options["game"]:
            rows = rows.filter(game=options["game"])
        if options["agent"]:
            rows = rows.filter(run=options["agent"])
        found = list(rows[: options["limit"]])
        self._print([*verdicts.table(found), *verdicts.refusals(found)])

    def _show(self, options: dict[str, Any]) -> None:
        found = selectors.find_checkpoint(options["hash"], game=options["game"])
        if found is None:
            wanted = "no checkpoint begins so, or several do; `checkpoints list` shows all"
            raise BadInputError("hash", f"{options['hash']!r}: {wanted}")
        shown = {field.name: getattr(found, field.attname) for field in found._meta.fields}
        shown |= {"agents": verdicts.names(found), "placement": found.placement}
        width = max(map(len, shown))
        self._print([f"{name:<{width}}  {_text(value)}" for name, value in shown.items()])

    def _print(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.stdout.write(line)


def _declare_add(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("path", type=existing, metavar="FILE|FOLDER", help="a folder: every *.safetensors in it")
    add("--agent", required=True, metavar="NAME", help="with a step it becomes NAME@STEP")
    add("--game", default="", help="needed unless the file is sealed")
    add("--architecture", default="", help="such as mlp; needed unless the file is sealed")
    add("--parameter", type=pair, action="append", default=[], metavar="NAME=VALUE")
    add("--step", type=whole(0, MAX_STEP), help="of a file; those of a folder are in its names")
    add("--parent", default="", metavar="HASH|AGENT", help="what it was trained from")
    add("--placement", choices=Placement.values, default="", help="default: as measured")
    add("--sha256", default="", help="of the file, to be compared")
    add("--no-wait", action="store_true", help="do not wait for the checks on the gpu queue")


def _given(options: dict[str, Any]) -> list[tuple[Path, New]]:
    path: Path = options["path"]
    new = New(
        options["agent"],
        game=options["game"],
        architecture=options["architecture"],
        parameters={name: verdicts.value_of(text) for name, text in options["parameter"]},
        step=options["step"],
        parent=options["parent"],
        placement=options["placement"],
        expected_sha256=options["sha256"],
    )
    if not path.is_dir():
        return [(path, new)]
    for name in ("step", "sha256"):
        if options[name] not in (None, ""):
            raise BadInputError(name, f"{options[name]}: of a file; {path} is a folder")
    return read_run_folder(path, new)


def _text(value: object) -> str:
    return "-" if value in (None, "") else f"{value}"


def _convert(arguments: Sequence[str]) -> int:
    """Return the exit code of the converter, which this package does not import."""
    paths = [str(settings.BASE_DIR), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        command = [sys.executable, "-m", CONVERTER, *arguments]
        return subprocess.run(command, env=environment, check=False).returncode
    except KeyboardInterrupt:
        return INTERRUPTED
