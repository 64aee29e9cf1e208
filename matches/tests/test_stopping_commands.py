"""A command that is stopped tells what is there, writes whole files and says how to go on."""

import json
import os
import signal
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.core.management import CommandError
from redis import Redis

from arena.messages import Ending, MatchOrderRow, Reason, ResultRow
from matches.campaigns.gates import Bounds
from matches.ledger import planning
from matches.ledger.tournaments import Plan, schedule
from matches.management import following
from matches.management.commands import evaluate, gate
from matches.management.options import writable_file
from matches.management.saving import save_json, save_text
from matches.management.stopping import stoppable
from matches.models import Match, Tournament
from matches.ratings import rater
from matches.tests import boards, factories
from matches.tests.factories import later
from matches.tests.test_campaigns import campaign_of, go_on


@pytest.fixture
def played(db: None, broker: Redis) -> Tournament:
    """Return a tournament of which 20 of 40 matches were played and rated."""
    tournament = factories.planned(40, move_s=2.0)
    boards.play_some(tournament, 20, factories.first_wins)
    rater.rate(tournament.leaderboard_id, now=later(1))
    return tournament


def options_of(**given: object) -> dict[str, Any]:
    return {"timeout": None, "finish_fraction": 1.0, "agents": ["a"], "json": None, **given}


def stop_at_once(*_: object, **__: object) -> float:
    raise KeyboardInterrupt


def test_evaluate_that_is_stopped_prints_the_table_and_writes_the_json(
    played: Tournament, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    path = tmp_path / "report.json"
    monkeypatch.setattr(following, "follow", stop_at_once)
    with pytest.raises(CommandError) as ended:
        evaluate.Command()._follow(played, options_of(json=path))
    assert ended.value.returncode == 130
    assert str(ended.value).startswith("interrupted after 20 of 40 matches; to go on")
    assert "evalsite schedule -l board -n 40" in str(ended.value)
    assert "--move-s 2 " in str(ended.value)
    assert str(ended.value).endswith("level:10 level:50 level:90")
    printed = capsys.readouterr().out
    assert "Completed 20 of which forfeits 0" in printed
    assert "level:90" in printed
    report = json.loads(path.read_text())
    assert (report["completed"], report["cancelled"], len(report["ratings"])) == (20, 20, 3)


def test_what_was_stopped_is_gone_on_with_by_the_command_that_it_names(
    played: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "follow", stop_at_once)
    with pytest.raises(CommandError):
        evaluate.Command()._follow(played, options_of())
    again = schedule(
        Plan(name="again", n_matches=40, move_s=2.0),
        leaderboard=played.leaderboard,
        agents=list(played.agents.order_by("entrant__position")),
    )
    planning.plan(again, now=later(2))
    states = list(Match.objects.filter(tournament=again).values_list("state", flat=True))
    assert (states.count("done"), states.count("pending")) == (20, 20)


def test_evaluate_of_which_nothing_counted_ends_with_1_and_says_why(
    db: None, broker: Redis, monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    tournament = factories.planned(4)

    def fails(row: MatchOrderRow) -> ResultRow:
        failed = factories.result(row, ending=Ending.FAILED, reason=Reason.ERROR)
        detail = "unknown game 'nim': choose one of chess"
        return msgspec.structs.replace(failed, detail=detail)

    for turn in range(6):
        if Match.objects.filter(tournament=tournament, state="pending").exists():
            boards.play_some(tournament, 4, fails, now=later(turn))
    monkeypatch.setattr(following, "follow", lambda *_, **__: 1.0)
    with pytest.raises(CommandError, match=r"nothing counted: .*unknown game 'nim'") as ended:
        evaluate.Command()._follow(tournament, options_of(json=tmp_path / "r.json"))
    assert ended.value.returncode == 1
    assert json.loads((tmp_path / "r.json").read_text())["failure_details"]
    assert "unknown game 'nim'" in capsys.readouterr().out


def test_evaluate_of_a_tournament_that_control_holds_back_ends_with_its_problem(
    db: None, broker: Redis
) -> None:
    tournament = factories.scheduled(4)
    problem = "held back, game: unknown game 'nim': EVALSITE_PLUGINS must name its folder"
    Tournament.objects.filter(pk=tournament.pk).update(problem=problem)
    with pytest.raises(CommandError, match="nothing counted: held back, game: unknown") as ended:
        evaluate.Command()._follow(tournament, options_of())
    assert ended.value.returncode == 1
    tournament.refresh_from_db()
    assert tournament.state == Tournament.State.CANCELLED


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


def test_sigterm_means_what_ctrl_c_means() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), stoppable():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_path_is_tried_before_any_work_and_leaves_no_file(tmp_path: Path) -> None:
    assert writable_file(str(tmp_path / "new.json")) == tmp_path / "new.json"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old.json").write_text("before")
    writable_file(str(tmp_path / "old.json"))
    assert (tmp_path / "old.json").read_text() == "before"
    with pytest.raises(ArgumentTypeError, match="cannot write"):
        writable_file(str(tmp_path))


def test_a_file_is_written_whole_or_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    save_json(path, {"n": 1})
    path.chmod(0o640)
    monkeypatch.setattr(os, "fsync", stop_at_once)
    with pytest.raises(KeyboardInterrupt):
        save_json(path, {"n": 2})
    monkeypatch.undo()
    assert json.loads(path.read_text()) == {"n": 1}
    assert list(tmp_path.iterdir()) == [path]
    (tmp_path / "link").symlink_to(path)
    save_text(tmp_path / "link", "text")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("text\n", 0o640)
    save_text(Path("/dev/null"), "a device is written as it is")
    save_text(None, "nothing was asked for")
