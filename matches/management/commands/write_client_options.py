"""`./run manage write_client_options`: write the client's list of options from the plans."""

import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from matches.management.clientfiles import write_source

FILE = Path("evalsite_client") / "options.py"
FORMAT = ("-m", "ruff", "format", "--stdin-filename", str(FILE), "-")


class Command(BaseCommand):
    """Write the file, or say whether it is as the plans say."""

    help = "Write the client's list of options from matches/plans.py; --check only compares."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what `./run check` gives."""
        parser.add_argument("--check", action="store_true", help="exit 1 where it would change")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Write it, or compare."""
        file = Path(settings.BASE_DIR) / FILE
        # As `./run check` formats it: else the two would never be the same.
        formatted = subprocess.run(
            (sys.executable, *FORMAT),
            input=write_source(),
            cwd=settings.BASE_DIR,
            capture_output=True,
            text=True,
            check=True,
        )
        source = formatted.stdout
        if options["check"] and (not file.exists() or file.read_text(encoding="utf-8") != source):
            hint = "`./run manage write_client_options` writes it"
            raise CommandError(f"{FILE} is not what the plans say: {hint}", returncode=1)
        if not options["check"]:
            file.write_text(source, encoding="utf-8")
