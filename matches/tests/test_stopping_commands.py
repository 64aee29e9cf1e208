"""A command that is stopped tells what is there, writes whole files and says how to go on."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from redis import Redis

from matches.campaigns.gates import Bounds
from matches.management import following
from matches.management.commands import gate
from matches.tests import boards
from matches.tests.test_campaigns import campaign_of, go_on


def stop_at_once(*_: object, **__: object) -> float:
    raise KeyboardInterrupt


def test_a_gate_that_is_stopped_writes_where_it_stands(
    db: None, broker: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    pair = ("level:40", "level:60")
    bounds = Bounds(0.0, 3.0)
    campaign = campaign_of("sprt", agents=pair, parameters=bounds.parameters, max_matches=400)
    go_on(campaign, 0, boards.by_strength(forfeits=0))
    monkeypatch.setattr(following, "wait_for_cluster", lambda: "a cluster")
    monkeypatch.setattr(gate.Command, "_wait", stop_at_once)
    saved, summary = tmp_path / "gate.json", tmp_path / "gate.md"
    options = dict(zip(("candidate", "baseline"), pair, strict=True))
    with pytest.raises(CommandError, match="the test goes on") as ended:
        gate.Command()._followed(campaign, {**options, "json": saved, "markdown": summary})
    assert ended.value.returncode == 130
    assert json.loads(saved.read_text())["result"] == "interrupted"
    assert summary.read_text().startswith("### INTERRUPTED: level:40 against level:60")
    assert "LLR" in capsys.readouterr().out
