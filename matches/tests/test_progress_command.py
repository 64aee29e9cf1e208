"""`progress`, which `./run up` shows: how far the tournaments under way are."""

from pathlib import Path

import pytest
from django.core.management import call_command
from redis import Redis

from matches.tests import factories as make
from matches.tests.weights import GAME, added

pytestmark = pytest.mark.django_db


def test_progress_says_what_a_tournament_waits_for(
    broker: Redis,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make.scheduled(4, game=GAME, agents=["random", added(tmp_path, "net")])

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    call_command("progress")
    assert "waiting for the check of 1 checkpoint(s)" in capsys.readouterr().out
