"""Watching a run: what an interrupted watch left undone is done by the next one."""

from datetime import datetime
from pathlib import Path
from random import Random

import msgspec
import pytest
from redis import Redis

from arena.games import registry as games
from arena.messages import MatchOrderRow, ResultRow
from arena.needs import Needs
from matches.campaigns import judging, watching
from matches.campaigns.watching import Watch
from matches.errors import BadInputError
from matches.ledger import planning, recording
from matches.ledger.tournaments import open_leaderboard
from matches.models import Agent, Alarm, Campaign, Checkpoint, Match, Tournament
from matches.ratings import rater
from matches.tests import boards, factories, operating
from matches.tests.factories import NOW, later
from matches.tests.weights import GAME, added, verdict

pytestmark = pytest.mark.django_db


@pytest.fixture
def watch(valkey_url: str, tmp_path: Path) -> Watch:
    """Return a watch on a run."""
    Redis.from_url(valkey_url).flushall()
    return Watch("run", game=GAME, budget=400)


def _done(watch: Watch) -> dict[int | None, str]:
    """Return why the steps of the run that are stored need no evaluation."""
    return {step.step: step.done for step in watching.list_steps(watch)}


def _admitted(tmp_path: Path, step: int) -> Agent:
    before = Checkpoint.objects.filter(run="run", step__lt=step).order_by("-step").first()
    parent = before.sha256 if before else ""
    agent = added(tmp_path, "run", seed=step, step=step, parent=parent)
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
    for needs in (Needs("cpu"), Needs("torch")):
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


def test_a_checkpoint_is_to_be_judged_until_its_evaluation_has_a_verdict(
    watch: Watch, tmp_path: Path
) -> None:
    assert _done(watch) == {}
    agent = _admitted(tmp_path, 10)
    assert _done(watch) == {10: ""}  # interrupted before its evaluation began
    assert [step.agent for step in watching.list_steps(watch)] == [agent.pk]
    campaign = watching.start_evaluation(watch, agent)
    assert _done(watch) == {10: ""}  # interrupted while it was played
    assert watching.start_evaluation(watch, agent) == campaign
    _to_the_end(campaign, _best_first())
    assert _done(watch) == {10: "it was judged before"}
    verdict_of_it = watching.judge_checkpoint(campaign, level=0.95, now=NOW)
    assert (verdict_of_it.agent, verdict_of_it.ancestor, verdict_of_it.alarm) == (
        *(agent.name, None, None),
    )


def test_a_regression_found_while_nobody_watched_is_told_once(watch: Watch, tmp_path: Path) -> None:
    first = _admitted(tmp_path, 10)
    _to_the_end(watching.start_evaluation(watch, first), _best_first())
    second = _admitted(tmp_path, 20)
    campaign = _to_the_end(watching.start_evaluation(watch, second), _best_first(loses=second))
    assert watching.find_quiet_verdict(watch) == campaign
    judgement = watching.judge_checkpoint(campaign, level=0.95, now=NOW)
    assert judgement.alarm is not None
    assert (judgement.alarm.ancestor, judgement.alarm.agent) == (first, second)
    assert (judgement.agent, judgement.ancestor) == (second.name, first.name)
    assert watching.find_quiet_verdict(watch) is None


def test_a_checkpoint_that_has_played_elsewhere_is_judged_all_the_same(
    watch: Watch, tmp_path: Path
) -> None:
    other = added(tmp_path, "run", seed=20, step=20)
    verdict(other.checkpoint)
    tournament = factories.planned(4, agents=("random", other.name), game=GAME, board="else")
    _played(tournament, boards.by_strength(), now=later(1))
    assert _done(watch) == {20: ""}


def test_of_each_step_that_is_not_judged_it_is_said_why(watch: Watch, tmp_path: Path) -> None:
    refused = added(tmp_path, "run", seed=10, step=10)
    verdict(refused.checkpoint, refusal="NaN in its answers")
    _to_the_end(watching.start_evaluation(watch, _admitted(tmp_path, 20)), _best_first())
    retired = _admitted(tmp_path, 30)
    Agent.objects.filter(pk=retired.pk).update(is_retired=True)
    assert _done(watch) == {
        10: "its checkpoint was refused: NaN in its answers",
        20: "it was judged before",
        30: "its agent is retired",
    }


def test_a_campaign_that_is_none_of_a_watch_raises_no_alarm(broker: Redis) -> None:
    played = boards.played_board(n_matches=84)
    campaign = Campaign.objects.get(pk=operating.questioned(played)["campaigns"])
    Alarm.objects.all().delete()
    with pytest.raises(BadInputError, match="is none of a watch"):
        watching.judge_checkpoint(campaign, level=0.5, now=NOW)
    assert not Alarm.objects.exists()


def _walker(step: int, level: int, *, parent: Checkpoint | None) -> Agent:
    """Return an agent of a one-seat game that stands for a step of a run."""
    checkpoint = Checkpoint.objects.create(
        **{"sha256": f"{step:064x}", "game": "dice_walk", "architecture": "mlp", "run": "walker"},
        **{"step": step, "parent": parent, "n_bytes": 1, "state": "ready", "created_at": NOW},
    )
    return Agent.objects.create(
        **{"name": f"walker@{step}", "game": "dice_walk", "policy": "level"},
        **{"parameters": {"level": level}, "checkpoint": checkpoint},
    )


def _walk(row: MatchOrderRow) -> ResultRow:
    agent = Agent.objects.get(pk=Match.objects.get(pk=row.match).agent_ids[0])
    state = games.get("dice_walk").start(row.game_seed, opening_plies=0)
    while state.to_move() == 0:
        state.apply(agent.parameters["level"])
    return msgspec.structs.replace(factories.result(row, ranks=[0]), returns=list(state.returns()))


@pytest.mark.parametrize(("level", "is_alarm"), [(10, True), (95, False)])
@pytest.mark.parametrize("margin_score", [None, 1.0])
def test_a_run_of_a_game_of_one_seat_is_watched(
    broker: Redis, margin_score: float | None, level: int, is_alarm: bool
) -> None:
    open_leaderboard("walks", game="dice_walk")
    watch = Watch(
        "walker",
        game="dice_walk",
        leaderboard="walks",
        against=("level:50",),
        margin_score=margin_score,
    )
    first = _walker(1, 90, parent=None)
    ranked = _to_the_end(watching.start_evaluation(watch, first), _walk)
    assert (ranked.question, ranked.is_by_scores) == ("rank_all", margin_score is not None)
    second = _walker(2, level, parent=first.checkpoint)
    campaign = _to_the_end(watching.start_evaluation(watch, second), _walk)
    assert campaign.tournament.pairing == "common_seeds"
    assert campaign.question == "beats"
    judgement = watching.judge_checkpoint(campaign, level=watch.level, now=NOW)
    assert (judgement.alarm is not None) is is_alarm
    assert judgement.probability is not None
    assert judgement.probability >= 0.95 if is_alarm else judgement.probability < 0.5
