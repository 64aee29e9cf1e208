"""Of what a run publishes, candidates are judged one at a time, and released or held."""

from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from redis import Redis

from arena.messages import MatchOrderRow, ResultRow
from arena.needs import Needs
from experience.models import Release, TrainingRun
from experience.runs import releasing
from experience.runs.recording import record_report
from experience.runs.starting import stop_run
from experience.tests import made
from experience.tests.made import ACTOR, begun, later, ordered, put, report, sealed
from matches.campaigns import judging
from matches.errors import ConflictError
from matches.ledger import planning, recording
from matches.models import Agent, Alarm, AuditRow, Campaign, Match
from matches.ratings import rater
from matches.tests import factories
from matches.tests.weights import verdict

pytestmark = pytest.mark.django_db(transaction=True)
States = Release.State


@pytest.fixture
def run(stream_server: Redis) -> TrainingRun:
    """Return a run of which a version may be released every minute or 1,000 steps."""
    return ordered(begun(release_s=60.0, release_steps=1_000, margin=20.0))


@pytest.fixture
def publish(run: TrainingRun, tmp_path: Path) -> Any:
    """Return what publishes a version of the run."""

    def publish_version(version: int, *, n_steps: int, at_s: float) -> Release:
        weights = put(run, sealed(tmp_path, seed=version))
        sent = report(run, version=version, n_steps=n_steps, weights=weights)
        assert record_report(sent, now=later(at_s))
        return Release.objects.get(version=version)

    return publish_version


def _advance(release: Release, *, at_s: float) -> Release:
    releasing.advance_releases(now=later(at_s))
    release.refresh_from_db()
    return release


def _admit(release: Release, refusal: str = "") -> None:
    assert release.agent is not None
    verdict(release.agent.checkpoint, refusal=refusal)


def _play(release: Release, *, loser: Agent | None = None) -> None:
    """Play the campaign of a candidate to its end, in which one agent has short episodes."""
    campaign, rng = release.campaign, Random(1)
    assert campaign is not None

    def play(row: MatchOrderRow) -> ResultRow:
        agent = Match.objects.get(pk=row.match).agent_ids[0]
        length = 20.0 if loser is not None and agent == loser.pk else 200.0 + rng.randrange(9)
        return msgspec.structs.replace(factories.result(row, ranks=[0]), returns=[length])

    for turn in range(100):
        now = factories.later(2 * turn)
        planning.plan_scheduled(now=now)
        factories.alive(now=now)
        for needs in (Needs("cpu"), Needs("torch")):
            open_matches = Match.objects.filter(Match.is_open(), tournament=campaign.tournament)
            if open_matches.filter(needs=needs).exists():
                order = factories.ordered(campaign.tournament, 10_000, needs=needs, now=now)
                factories.start(order, now=now)
                recording.record_report(factories.finished(order, play), now=now)
        rater.rate(campaign.tournament.leaderboard_id, now=now)
        judging.judge_all(now=now)
        campaign.refresh_from_db()
        if campaign.decided_at is not None:
            return
    raise AssertionError("never ended")


def test_a_version_becomes_a_candidate_after_the_time_or_the_steps(publish: Any) -> None:
    drawn = publish(0, n_steps=0, at_s=61)
    assert _advance(drawn, at_s=61).state == States.SNAPSHOT  # it has learned nothing
    early = publish(1, n_steps=900, at_s=59)
    assert _advance(early, at_s=62).state == States.SNAPSHOT
    by_steps = publish(2, n_steps=1_000, at_s=59)
    assert _advance(by_steps, at_s=63).state == States.CANDIDATE
    assert by_steps.agent is not None
    assert (by_steps.agent.name, by_steps.agent.game) == ("poles@1000", "cart_pole")
    # While it is judged no other is.
    assert _advance(publish(3, n_steps=9_000, at_s=500), at_s=500).state == States.SNAPSHOT


def test_the_first_is_released_and_a_worse_one_is_held_with_an_alarm(publish: Any) -> None:
    first = _advance(publish(1, n_steps=1_000, at_s=60), at_s=60)
    _admit(first)
    _advance(first, at_s=61)
    _play(first)
    assert _advance(first, at_s=62).state == States.RELEASED
    assert "no ancestor" in first.reason
    worse = _advance(publish(2, n_steps=2_000, at_s=120), at_s=120)
    assert worse.agent is not None
    assert worse.agent.checkpoint is not None
    assert first.agent is not None
    assert worse.agent.checkpoint.parent_id == first.agent.checkpoint_id
    _admit(worse)
    _advance(worse, at_s=121)
    _play(worse, loser=worse.agent)
    assert _advance(worse, at_s=122).state == States.HELD
    assert "P(worse than poles@1000 by more than 20) is 0.9" in worse.reason
    assert Alarm.objects.get().agent == worse.agent


def test_a_version_as_good_as_the_one_before_is_released(publish: Any) -> None:
    for version in (1, 2):
        release = publish(version, n_steps=1_000 * version, at_s=60 * version)
        _admit(_advance(release, at_s=60 * version))
        _advance(release, at_s=60 * version + 1)
        _play(release)
        _advance(release, at_s=60 * version + 2)
    assert release.state == States.RELEASED
    assert "by more than 20" in release.reason
    assert not Alarm.objects.exists()


@pytest.mark.parametrize("why", releasing.NOT_JUDGED)
def test_a_candidate_that_was_not_judged_is_held(publish: Any, why: str) -> None:
    release = _advance(publish(1, n_steps=1_000, at_s=60), at_s=60)
    _admit(release)
    campaign = _advance(release, at_s=61).campaign
    assert campaign is not None
    Campaign.objects.filter(pk=campaign.pk).update(why=why, decided_at=later(62))
    release = Release.objects.get(pk=release.pk)
    assert _advance(release, at_s=63).state == States.HELD
    assert release.reason == f"it was not judged: {why}"


def test_a_candidate_of_a_game_that_is_gone_is_held_and_others_go_on(
    run: TrainingRun, publish: Any
) -> None:
    release = _advance(publish(1, n_steps=1_000, at_s=60), at_s=60)
    _admit(release)
    TrainingRun.objects.filter(pk=run.pk).update(game="gone")
    assert _advance(release, at_s=61).state == States.HELD
    assert "unknown game 'gone'" in release.reason


def test_a_fault_of_one_candidate_is_told_after_the_others_were_judged(
    run: TrainingRun, publish: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = _advance(publish(1, n_steps=1_000, at_s=60), at_s=60)
    _admit(release, refusal="NaN")
    made.published(run, 2, States.CANDIDATE)  # without an agent, which cannot be
    with pytest.raises(AssertionError):
        releasing.advance_releases(now=later(61))
    release.refresh_from_db()
    assert release.state == States.HELD


def test_of_two_ticks_one_begins_an_evaluation(publish: Any) -> None:
    release = _advance(publish(1, n_steps=1_000, at_s=60), at_s=60)
    _admit(release)
    same = Release.objects.select_related("run", "agent__checkpoint").get(pk=release.pk)
    assert releasing._begin_evaluation(same, now=later(61))
    assert not releasing._begin_evaluation(same, now=later(61))
    assert Campaign.objects.count() == 1


def test_a_candidate_whose_network_is_refused_is_held(publish: Any) -> None:
    release = _advance(publish(1, n_steps=1_000, at_s=60), at_s=60)
    assert _advance(release, at_s=61).campaign is None  # it is being checked
    _admit(release, refusal="NaN in its answers")
    assert _advance(release, at_s=62).state == States.HELD
    assert release.reason == "its checkpoint was refused: NaN in its answers"


def test_the_last_version_of_a_run_that_ends_is_judged_before_it_is_closed(
    run: TrainingRun, publish: Any
) -> None:
    last = publish(1, n_steps=10, at_s=1)
    run.refresh_from_db()
    stop_run(run, actor=ACTOR, reason="", now=later(2))
    assert _advance(last, at_s=3).state == States.CANDIDATE
    _admit(last, refusal="NaN")
    _advance(last, at_s=4)
    run.refresh_from_db()
    assert run.is_closed


def test_an_operator_withdraws_and_releases_with_a_reason(run: TrainingRun) -> None:
    acts: dict[str, Any] = {"actor": ACTOR, "reason": "it cheats", "now": later(1)}
    release = made.published(run, 1, States.RELEASED)
    assert releasing.retire_release(release, **acts)
    assert not releasing.retire_release(Release.objects.get(), **acts)
    assert releasing.release_held(Release.objects.get(), **acts)
    assert (Release.objects.get().state, Release.objects.get().reason) == ("released", "it cheats")
    assert AuditRow.objects.filter(action__startswith="release.").count() == 2


@pytest.mark.parametrize(("state", "act"), [("expired", "retire"), ("snapshot", "release")])
def test_what_is_gone_or_was_never_judged_is_not_acted_on(
    run: TrainingRun, state: str, act: str
) -> None:
    release = made.published(run, 1, state)
    acts = {"retire": releasing.retire_release, "release": releasing.release_held}
    with pytest.raises(ConflictError, match=state):
        acts[act](release, actor=ACTOR, reason="", now=later(1))
