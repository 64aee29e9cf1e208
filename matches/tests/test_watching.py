"""Watching a run: what an interrupted watch left undone is done by the next one."""

from datetime import datetime
from pathlib import Path
from random import Random

import pytest
from redis import Redis

from arena.messages import MatchOrderRow, ResultRow
from matches.campaigns import judging, watching
from matches.campaigns.watching import Watch
from matches.ledger import planning, recording
from matches.models import Agent, Campaign, Match, Tournament
from matches.ratings import rater
from matches.tests import boards, factories
from matches.tests.factories import NOW, later
from matches.tests.weights import GAME, added, verdict, weights

pytestmark = pytest.mark.django_db
LATER = 4e9
"""Seconds since the epoch at which every file is whole."""


@pytest.fixture
def watch(valkey_url: str, tmp_path: Path) -> Watch:
    """Return a watch on two checkpoints of a run."""
    Redis.from_url(valkey_url).flushall()
    for step in (10, 20):
        weights(tmp_path / "run" / f"step_{step}.safetensors", seed=step)
    return Watch(tmp_path / "run", "run", game=GAME, architecture="mlp", budget=400)


def _steps(watch: Watch) -> list[int]:
    return [step for step, _ in watching.new_files(watch, at=LATER)]


def _admitted(watch: Watch, step: int) -> Agent:
    path = dict(watching.new_files(watch, at=LATER))[step]
    agent = watching.admit(watch, step, path, now=NOW)
    if agent.checkpoint is not None and agent.checkpoint.state != "ready":
        verdict(agent.checkpoint)
    agent.refresh_from_db()
    return agent


def _best_first(loses: Agent | None = None) -> boards.Play:
    """Return results in which one agent loses nine games of ten, and the others are alike."""
    rng = Random(1)

    def play(row: MatchOrderRow) -> ResultRow:
        lineup = Match.objects.get(pk=row.match).agent_ids
        weak = [loses is not None and agent == loses.pk for agent in lineup]
        chance = 0.9 if weak[1] else 0.1 if weak[0] else 0.5
        return factories.result(row, ranks=[0, 1] if rng.random() < chance else [1, 0])

    return play


def _played(tournament: Tournament, play: boards.Play, *, now: datetime) -> None:
    factories.alive(now=now)
    for needs in (Match.Needs.CPU, Match.Needs.TORCH):
        if Match.objects.filter(Match.is_open(), tournament=tournament, needs=needs).exists():
            order = factories.ordered(tournament, 10_000, needs=needs, now=now)
            factories.start(order, now=now)
            recording.record_report(factories.finished(order, play), now=now)
    rater.rate(tournament.leaderboard_id, now=now)


def _to_the_end(campaign: Campaign, play: boards.Play) -> Campaign:
    for turn in range(100):
        planning.plan_scheduled(now=later(2 * turn))
        _played(campaign.tournament, play, now=later(2 * turn + 1))
        judging.judge_all(now=later(2 * turn + 1))
        campaign.refresh_from_db()
        if campaign.decided_at is not None:
            return campaign
    raise AssertionError("never ended")


def test_a_checkpoint_is_new_until_its_evaluation_has_a_verdict(watch: Watch) -> None:
    assert _steps(watch) == [10, 20]
    agent = _admitted(watch, 10)
    assert _steps(watch) == [10, 20]  # interrupted before its evaluation began
    assert _admitted(watch, 10) == agent
    campaign = watching.evaluate(watch, agent)
    assert _steps(watch) == [10, 20]  # interrupted while it was played
    assert watching.evaluate(watch, agent) == campaign
    _to_the_end(campaign, _best_first())
    assert _steps(watch) == [20]
    assert Agent.objects.filter(checkpoint__run="run").count() == 1


def test_a_regression_found_while_nobody_watched_is_told_once(watch: Watch) -> None:
    first = _admitted(watch, 10)
    _to_the_end(watching.evaluate(watch, first), _best_first())
    second = _admitted(watch, 20)
    campaign = _to_the_end(watching.evaluate(watch, second), _best_first(loses=second))
    assert watching.left_alone(watch) == campaign
    alarm = watching.raise_alarm(campaign, watch, now=NOW)
    assert alarm is not None
    assert (alarm.ancestor, alarm.agent) == (first, second)
    assert watching.left_alone(watch) is None


def test_a_checkpoint_that_has_played_elsewhere_is_judged_all_the_same(watch: Watch) -> None:
    other = added(watch.folder.parent, "run", seed=20, step=20)
    verdict(other.checkpoint)
    tournament = factories.planned(4, agents=("random", other.name), game=GAME, board="else")
    _played(tournament, boards.by_strength(), now=later(1))
    assert _steps(watch) == [10, 20]
    assert watching.files_of(watch, at=LATER).left_out == {}


def test_of_each_file_that_is_not_judged_it_is_said_why(watch: Watch) -> None:
    refused = watching.admit(watch, 10, watch.folder / "step_10.safetensors", now=NOW)
    verdict(refused.checkpoint, refusal="NaN in its answers")
    judged = _admitted(watch, 20)
    _to_the_end(watching.evaluate(watch, judged), _best_first())
    for name in ("final", "step_30", "step_40"):
        weights(watch.folder / f"{name}.safetensors", seed=1)
    retired = _admitted(watch, 30)
    Agent.objects.filter(pk=retired.pk).update(is_retired=True)
    files = watching.files_of(watch, at=LATER)
    assert [step for step, _ in files.new] == [40]
    assert {path.stem: reason for path, reason in files.left_out.items()} == {
        "step_10": "its checkpoint was refused: NaN in its answers",
        "step_20": "it was judged before",
        "step_30": "its agent is retired",
        "final": "its name has no step, such as step_1000",
    }
    soon = watching.files_of(watch, at=(watch.folder / "step_40.safetensors").stat().st_mtime)
    assert soon.left_out[watch.folder / "step_40.safetensors"] == "it is being written"
