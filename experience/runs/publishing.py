"""Versions become agents: RUN@STEPS, which plays its best action."""

from dataclasses import replace
from datetime import datetime

from django.db.models import Exists, OuterRef

from experience.models import Release
from experience.runs import files
from matches.artifacts.agents import register_agent
from matches.artifacts.checkpoints import POLICY, New, add_checkpoint
from matches.errors import BadInputError
from matches.models import Agent, Checkpoint


def find_or_add_agent(release: Release, *, now: datetime, is_checked_again: bool = False) -> Agent:
    """Return the agent of a version, its checkpoint the child of the version before.

    Weights that are stored already, such as those that another run began with, are not stored
    twice. is_checked_again: also where they were refused, as a plug-in may have been mended since.
    Raises BadInputError, CheckpointFileError.
    """
    agent = _find_agent(release)
    if agent is not None and not (is_checked_again and _is_refused(agent)):
        return agent
    try:
        return _add_agent(release, now=now)
    except BadInputError:
        # Another tick has added it at this moment.
        agent = _find_agent(release)
        if agent is None:
            raise
        return agent


def _find_agent(release: Release) -> Agent | None:
    run = release.run
    namesakes = Agent.objects.filter(game=run.game, name=name_agent(release))
    return namesakes.filter(checkpoint__sha256=release.sha256).select_related("checkpoint").first()


def _is_refused(agent: Agent) -> bool:
    return agent.checkpoint is not None and agent.checkpoint.state == Checkpoint.State.REFUSED


def name_agent(release: Release) -> str:
    """Return what the agent of a version is called."""
    return f"{release.run.name}@{release.n_steps}"


def _add_agent(release: Release, *, now: datetime) -> Agent:
    name, game = name_agent(release), release.run.game
    stored = Checkpoint.objects.filter(sha256=release.sha256).first()
    if stored is None or stored.state == Checkpoint.State.REFUSED:
        added = _add_weights(release, stored, now=now)
        if added.name == name:
            return added
    return register_agent(name, game=game, policy=POLICY, checkpoint=release.sha256)


def _add_weights(release: Release, refused: Checkpoint | None, *, now: datetime) -> Agent:
    """Store the weights of a version and return the agent whose checkpoint they are.

    refused: the same weights, such as of a run with the same seed. They are checked again under
    the name that they have, as a checkpoint keeps it.
    """
    run = release.run
    new = New(
        name=run.name,
        game=run.game,
        step=release.n_steps,
        parent=_find_parent(release),
        expected_sha256=release.sha256,
        source_name=f"{run.name}, version {release.version}",
    )
    if refused is not None:
        new = replace(
            new,
            name=refused.run,
            step=refused.step,
            parent=refused.parent_id or "",
            source_name=refused.source_name,
        )
    with files.copy_weights(run, release.sha256) as path:
        return add_checkpoint(path, new, now=now)


def _find_parent(release: Release) -> str:
    """Return the hash of the newest version before that is a checkpoint; empty: there is none."""
    before = release.run.releases.filter(version__lt=release.version).order_by("-version")
    stored = Exists(Checkpoint.objects.filter(sha256=OuterRef("sha256")))
    return before.filter(stored).values_list("sha256", flat=True).first() or ""
