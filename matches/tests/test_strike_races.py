"""An import is struck while others enter its agents."""

from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from django.db import connection
from django.db.models import Q

from matches.ledger.imported import importing, striking
from matches.ledger.imported.importing import SentFile
from matches.models import ImportBatch, Leaderboard, Rating
from matches.tests.factories import NOW
from matches.tests.imported import ANNA, imported_batch

pytestmark = pytest.mark.django_db(transaction=True)


def test_agents_that_come_again_while_they_are_taken_off_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = imported_batch()
    (path := tmp_path / "again.csv").write_text("first,second,result\nada,bob,1-0\n")
    errors: list[BaseException] = []
    is_over = Event()

    def come_again() -> None:
        try:
            sent = SentFile(path, path.name)
            importing.import_results(Leaderboard.objects.get(), sent, actor=ANNA, now=NOW)
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()
            is_over.set()

    thread = Thread(target=come_again)

    def look_away(*terms: Any, **conditions: Any) -> Q:
        """Let the other one come once it is known who is to be taken off."""
        if thread.ident is None:
            thread.start()
            is_over.wait(1)
        return Q(*terms, **conditions)

    monkeypatch.setattr(striking, "Q", look_away)
    striking.strike_import(batch, actor=ANNA, reason="wrong", now=NOW)
    thread.join()
    assert errors == []
    assert ImportBatch.objects.latest("pk").state == "imported"
    assert sorted(Rating.objects.values_list("agent__name", flat=True)) == ["ada", "bob"]
