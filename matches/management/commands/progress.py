"""`manage.py progress`, which `./run` shows: how far the tournaments under way are."""

import time
from typing import Any

from django.core.management.base import BaseCommand

from matches.store import selectors
from matches.store.clock import db_now

EVERY_S = 5.0


class Command(BaseCommand):
    """Print a line per active tournament whenever it has moved."""

    help = "Follow the tournaments that are under way."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Print until Ctrl-C."""
        printed: dict[int, str] = {}
        try:
            while True:
                self._print_changes(printed)
                time.sleep(EVERY_S)
        except KeyboardInterrupt:
            return

    def _print_changes(self, printed: dict[int, str]) -> None:
        now = db_now()
        for tournament in selectors.list_watched_tournaments(now=now):
            progress = selectors.read_progress(tournament)
            missing = selectors.describe_missing(tournament, now=now)
            key = f"{progress} {tournament.shown_state} {missing}"
            # Of several tournaments only those that have moved: the others would hide them.
            if printed.get(tournament.pk) == key:
                continue
            printed[tournament.pk] = key
            elapsed_s = selectors.compute_elapsed_s(tournament, now=now)
            line = f"{tournament.name} ({tournament.shown_state}): {progress.line(elapsed_s)}"
            self.stdout.write(f"{line}, waiting for {missing}" if missing else line)
            self.stdout.flush()
