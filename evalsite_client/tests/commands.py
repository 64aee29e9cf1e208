"""Commands as people type them, and what they answer."""

import json
from collections.abc import Callable
from typing import Any

Evalsite = Callable[..., tuple[int, str, str]]
"""Runs a command: exit status, stdout, stderr."""


def ok(ended: tuple[int, str, str]) -> str:
    status, out, err = ended
    assert status == 0, err
    return out


def as_json(ended: tuple[int, str, str]) -> Any:
    return json.loads(ok(ended))
