"""What set-up tells the launcher about play nodes."""

from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from knox.models import AuthToken

from launcher.folders import read_generations, read_variables
from matches.ledger import quarantine
from matches.models import TokenAccess, Worker
from matches.nodes import node_keys
from matches.store.auditing import COMMAND_LINE
from matches.tests import factories as make

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.django_db
def test_the_launcher_starts_a_node_in_quarantine_with_its_newest_secrets(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would be refused still when it is released."""
    settings.VAR = tmp_path
    monkeypatch.setenv("EVALSITE_NODES", "2")
    node_keys.add_node("node-1", actor=COMMAND_LINE, now=NOW)
    node_keys.replace_secrets("node-1", actor=COMMAND_LINE, now=NOW)
    make.alive(node="node-1")
    worker = Worker.objects.get(node="node-1")
    quarantine.quarantine_worker(worker, actor=COMMAND_LINE, reason="odd", now=NOW)
    node_keys.add_node("node-9", actor=COMMAND_LINE, now=NOW)
    node_keys.revoke_node("node-9", actor=COMMAND_LINE, now=NOW)
    call_command("prepare", stdout=StringIO())
    assert read_generations(tmp_path) == {"node-1": 2, "node-2": 1}


@pytest.mark.django_db
def test_the_command_line_of_this_machine_is_let_in_by_a_private_file(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.VAR = tmp_path
    monkeypatch.setenv("EVALSITE_PORT", "8123")
    call_command("prepare", stdout=StringIO())
    path = tmp_path / "client.env"
    first = read_variables(path)
    assert first["EVALSITE_URL"] == "http://127.0.0.1:8123"
    assert path.stat().st_mode & 0o777 == 0o600
    call_command("prepare", stdout=StringIO())
    assert read_variables(path) == first
    TokenAccess.objects.all().delete()
    AuthToken.objects.all().delete()
    call_command("prepare", stdout=StringIO())
    assert read_variables(path)["EVALSITE_TOKEN"] != first["EVALSITE_TOKEN"]
