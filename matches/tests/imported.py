"""Results that were played elsewhere, as tests import them."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from matches.ledger.imported import importing
from matches.ledger.imported.importing import Sent
from matches.ledger.tournaments import open_leaderboard
from matches.models import ImportBatch
from matches.store.auditing import Actor
from matches.tests.factories import NOW

ANNA = Actor("anna")
ROWS = ("ada,bob,1-0", "bob,ada,1/2-1/2", "ada,cyd,1-0")


def imported_batch(rows: Sequence[str] = ROWS, *, board: str = "elsewhere") -> ImportBatch:
    """Return an import of rows to a new leaderboard."""
    opened = open_leaderboard(board, game="connect_four")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "games.csv"
        path.write_text("\n".join(["first,second,result", *rows]))
        sent = Sent(path, path.name, adds_agents=True)
        return importing.import_results(opened, sent, actor=ANNA, now=NOW).batch
