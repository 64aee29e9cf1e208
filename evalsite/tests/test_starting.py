"""What the web process does as it starts, before the first request."""

import importlib

import pytest

from evalsite import asgi
from matches.api import document


def test_the_web_process_makes_the_schema_of_the_api_as_it_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gc.freeze", lambda: None)
    document._schema.clear()
    importlib.reload(asgi)
    assert document._schema["paths"]
