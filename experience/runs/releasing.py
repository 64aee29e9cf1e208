"""Releases: from time to time a version becomes an agent, is judged by the watch, and released.

A run has one candidate at a time: the newest version, once the one before is judged and a minute or
so many steps have passed. It is held where it is worse than its best ancestor by more than the
margin; the watch then raises its alarm.
"""

import logging
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Exists, OuterRef

from arena.errors import ArenaError, CheckpointFileError
from arena.games import registry as games
from experience.models import Release, TrainingRun
from experience.runs import files
from experience.runs.publishing import find_or_add_agent
from matches.artifacts.agents import unretire_agent
from matches.campaigns import watching
from matches.campaigns.watching import Watch
from matches.errors import BadInputError, BrokerError, ConflictError, NoNodeError
from matches.models import Checkpoint, Rating
from matches.store import auditing
from matches.store.auditing import Actor
from matches.store.failures import Failures

log = logging.getLogger(__name__)

LEVEL: Final = 0.95
"""P(worse than the best ancestor by more than the margin) from which it is an alarm."""
EVEN: Final = 0.5
AGAINST: Final = ("random",)
NOT_JUDGED: Final = ("cancelled", "no_results", "bad_scores")
"""Ends of a campaign that say nothing of the candidate."""
RETIRE, RELEASE = "release.retire", "release.release"
_STATES = Release.State


def advance_releases(*, now: datetime) -> int:
    """Make, judge and release candidates; return how many changed."""
    candidates = Release.objects.filter(state=_STATES.CANDIDATE).select_related(
        "run", "agent__checkpoint", "campaign__tournament__leaderboard"
    )
    failures, n_changed = Failures(), 0
    for release in candidates:
        with failures.collect(f"judge {release}"):
            n_changed += _advance(release, now=now)
    for run in _list_runs_to_propose_of():
        with failures.collect(f"propose a version of {run}"):
            n_changed += _propose(run, now=now)
    failures.raise_all()
    return n_changed


def _list_runs_to_propose_of() -> list[TrainingRun]:
    """Return the runs whose newest version may become a candidate, as none is being judged."""
    own = Release.objects.filter(run=OuterRef("pk"))
    is_judged_now = Exists(own.filter(state=_STATES.CANDIDATE))
    return list(TrainingRun.objects.filter(~is_judged_now, is_closed=False))


def _propose(run: TrainingRun, *, now: datetime) -> bool:
    """Make the newest version of a run the candidate where that is due."""
    newest = run.releases.order_by("-version").first()
    if newest is None or newest.state != _STATES.SNAPSHOT:
        _close_run(run)
        return False
    before = run.releases.exclude(agent=None).order_by("-version").first()
    if not _is_due(run, newest, before):
        return False
    try:
        agent = find_or_add_agent(newest, now=now)
    except (BadInputError, CheckpointFileError) as error:
        log.error("version %d of run %s cannot be released: %s", newest.version, run, error)
        return _change_release(newest, state=_STATES.HELD, reason=str(error)[:500], judged_at=now)
    # One that has played for its run may be retired by now; as a candidate it is not any more.
    unretire_agent(agent)
    return _change_release(newest, state=_STATES.CANDIDATE, agent=agent)


def _is_due(run: TrainingRun, newest: Release, before: Release | None) -> bool:
    if run.state != TrainingRun.State.RUNNING:
        return True
    if newest.n_steps == 0:
        return False  # as it was drawn: it has learned nothing
    n_before = before.n_steps if before else 0
    before_at = before.created_at if before else run.created_at
    is_time = newest.created_at - before_at >= timedelta(seconds=run.release_s)
    return is_time or newest.n_steps - n_before >= run.release_steps


def _close_run(run: TrainingRun) -> None:
    """Let a run that has ended be asked no more."""
    ended = TrainingRun.objects.filter(pk=run.pk).exclude(state=TrainingRun.State.RUNNING)
    # As it has ended, not as it was when it was looked at: its last state may be newer.
    if (now_ended := ended.first()) is not None:
        # First: killed in between, it is done again.
        files.delete_unnamed(now_ended)
        ended.update(is_closed=True)


def _advance(release: Release, *, now: datetime) -> bool:
    agent = release.agent
    assert agent is not None
    assert agent.checkpoint is not None
    if agent.checkpoint.state == Checkpoint.State.REFUSED:
        reason = f"its checkpoint was refused: {agent.checkpoint.reason}"
        return _change_release(release, state=_STATES.HELD, reason=reason[:500], judged_at=now)
    if agent.checkpoint.state == Checkpoint.State.CHECKING:
        return False
    if release.campaign is None:
        return _begin_evaluation(release, now=now)
    if release.campaign.decided_at is None:
        return False
    return _judge_release(release, now=now)


@transaction.atomic
def _begin_evaluation(release: Release, *, now: datetime) -> bool:
    # The end of a slice does all duties beside the tick: one of two begins.
    locked = Release.objects.select_for_update().get(pk=release.pk)
    if locked.campaign_id is not None or locked.state != _STATES.CANDIDATE:
        return False
    try:
        assert release.agent is not None
        campaign = watching.start_evaluation(make_watch(release.run), release.agent)
    except (BrokerError, NoNodeError, ConflictError) as error:
        log.warning("%s is not judged yet: %s", release, error)
        return False
    except (BadInputError, ArenaError) as error:
        log.error("%s cannot be judged: %s", release, error)
        return _change_release(release, state=_STATES.HELD, reason=str(error)[:500], judged_at=now)
    return _change_release(release, campaign=campaign)


def make_watch(run: TrainingRun) -> Watch:
    """Return what the candidates of a run are judged by."""
    is_scored = games.get(run.game).spec.is_scored
    return Watch(
        name=run.name,
        game=run.game,
        against=AGAINST,
        budget=run.budget,
        margin=1.0 if is_scored else run.margin,
        level=LEVEL,
        margin_score=run.margin if is_scored else None,
    )


def _judge_release(release: Release, *, now: datetime) -> bool:
    assert release.campaign is not None
    if release.campaign.why in NOT_JUDGED:
        reason = f"it was not judged: {release.campaign.why}"
        return _change_release(release, state=_STATES.HELD, reason=reason[:500], judged_at=now)
    try:
        verdict = watching.judge_checkpoint(release.campaign, level=LEVEL, now=now)
    except Rating.DoesNotExist:
        return False  # decided, and not rated yet
    if verdict.probability is None:
        return _change_release(
            release, state=_STATES.RELEASED, reason="the first: it has no ancestor", judged_at=now
        )
    is_worse = verdict.alarm is not None or verdict.probability > EVEN
    reason = (
        f"P(worse than {verdict.ancestor} by more than {verdict.margin:g}) is "
        f"{verdict.probability:.3f} after {verdict.n_played} matches"
    )
    state = _STATES.HELD if is_worse else _STATES.RELEASED
    return _change_release(release, state=state, reason=reason[:500], judged_at=now)


def _change_release(release: Release, **changes: Any) -> bool:
    """Change a release that is still in the state that was read."""
    unchanged = Release.objects.filter(pk=release.pk, state=release.state)
    return bool(unchanged.update(**changes))


@transaction.atomic
def retire_release(release: Release, *, actor: Actor, reason: str, now: datetime) -> bool:
    """Withdraw a version: it is loaded no more. Say whether it was this call."""
    return _perform_act(RETIRE, release, _STATES.RETIRED, actor=actor, reason=reason, now=now)


@transaction.atomic
def release_held(release: Release, *, actor: Actor, reason: str, now: datetime) -> bool:
    """Release what was held or withdrawn. Raises ConflictError where it was neither."""
    if release.state not in (_STATES.HELD, _STATES.RETIRED, _STATES.RELEASED):
        raise ConflictError(f"{release} is {release.state}: only a held one can be released")
    return _perform_act(RELEASE, release, _STATES.RELEASED, actor=actor, reason=reason, now=now)


def _perform_act(
    action: str,
    release: Release,
    state: Release.State,
    *,
    actor: Actor,
    reason: str,
    now: datetime,
) -> bool:
    if release.state == _STATES.EXPIRED:
        raise ConflictError(f"{release} has expired: its file is deleted")
    if release.state == state or not _change_release(release, state=state, reason=reason[:500]):
        return False
    touched = {"state": [release.state, state.value]}
    auditing.add_audit_row(
        action, actor=actor, targets=[release], reason=reason, touched=touched, now=now
    )
    return True
