"""Results that were played elsewhere, as tests import them."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from matches.ledger.imported import importing, striking
from matches.ledger.imported.importing import ImportedBatch, SentFile
from matches.ledger.tournaments import open_leaderboard
from matches.models import ImportBatch, Leaderboard, Rating
from matches.store.auditing import Actor
from matches.tests.factories import NOW

ANNA = Actor("anna")
ROWS = ("ada,bob,1-0", "bob,ada,1/2-1/2", "ada,cyd,1-0")
GAMES = (("ada", "bob", "1-0"), ("bob", "ada", "1/2-1/2"), ("ada", "cyd", "0-1"))
RATED = (
    *("agent_id", "mu", "sd", "live_mu", "live_sigma", "prefix_mu", "prefix_sigma"),
    *("n_matches", "n_wins", "n_draws", "n_losses", "n_forfeits"),
)


def imported_batch(rows: Sequence[str] = ROWS, *, board: str = "elsewhere") -> ImportBatch:
    """Return an import of rows to a new leaderboard."""
    opened = open_leaderboard(board, game="connect_four")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "games.csv"
        path.write_text("\n".join(["first,second,result", *rows]))
        sent = SentFile(path, path.name, adds_agents=True)
        return importing.import_results(opened, sent, actor=ANNA, now=NOW).batch


def write_csv(
    folder: Path,
    rows: Sequence[Sequence[str]] = GAMES,
    head: Sequence[str] = ("first", "second", "result"),
    name: str = "games.csv",
) -> Path:
    """Write a CSV file of rows under a head."""
    path = folder / name
    path.write_text("".join(f"{','.join(row)}\n" for row in (head, *rows)))
    return path


def import_file(board: Leaderboard, path: Path, **options: Any) -> ImportedBatch:
    sent = SentFile(path, path.name, **{"adds_agents": True, **options})
    return importing.import_results(board, sent, actor=ANNA, now=NOW)


def strike(batch: ImportBatch) -> int:
    return striking.strike_import(batch, actor=ANNA, reason="a wrong file", now=NOW).n_struck


def read_ratings(board: Leaderboard) -> list[tuple[Any, ...]]:
    return list(Rating.objects.filter(leaderboard=board).order_by("pk").values_list(*RATED))
