"""The command line against the running app."""

from typing import Any

import pytest
from redis import Redis

from evalsite_client.cli.main import main
from evalsite_client.tests.commands import Evalsite
from matches.tests import callers


@pytest.fixture
def evalsite(
    live_server: Any, broker: Redis, settings: Any, monkeypatch: Any, capsys: Any
) -> Evalsite:
    """Return what runs a command as an operator: exit status, stdout, stderr."""
    settings.EVALSITE_USER_RATE = settings.EVALSITE_ANONYMOUS_RATE = 0
    monkeypatch.setenv("EVALSITE_URL", live_server.url)
    monkeypatch.setenv("EVALSITE_TOKEN", callers.token("ada", callers.OPERATOR))
    monkeypatch.delenv("EVALSITE_PASSWORD", raising=False)

    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as ended:
            status = int(ended.code or 0)
        output = capsys.readouterr()
        return status, output.out, output.err

    return run
