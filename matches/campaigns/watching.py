"""Watch a training run: register each new checkpoint, evaluate it in short, notice regressions."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
from django.db.models import QuerySet

from arena.checkpoints import read_step
from arena.verdicts.base import StopReason
from matches.artifacts.agents import register_spelled_agent
from matches.artifacts.checkpoints import New, add_checkpoint
from matches.campaigns.belief import belief_about
from matches.campaigns.starting import start
from matches.errors import BadInputError
from matches.ledger.tournaments import open_leaderboard
from matches.models import Agent, Alarm, Campaign, Checkpoint, Leaderboard, Rating
from matches.plans import CampaignPlan
from matches.ratings.entrants import entrants_of

WRITTEN_FOR_S = 2.0
"""A file that has not changed for so long is whole."""
WRITTEN = "it is being written"
JUDGED = "it was judged before"
BEATS, RANK = "beats", "rank_all"
ANCESTOR, NEWEST = 0, 1
"""Positions of the two that an alarm is about."""
EVEN = 0.5


@dataclass(frozen=True)
class Watch:
    """What is watched, and what an evaluation may cost.

    name: of the run; its agents are NAME@STEP. against: agents of known kind that every checkpoint
    meets, as spelled on the command line. margin: in units of rating. level: P(worse than the best
    ancestor by more than the margin) from which it is an alarm.
    """

    folder: Path
    name: str
    game: str = ""
    architecture: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    leaderboard: str = ""
    against: Sequence[str] = ("random",)
    budget: int = 200
    margin: float = 1.0
    level: float = 0.95


class Files(NamedTuple):
    """The checkpoint files of a folder: what is to be judged, and why the others are not."""

    new: list[tuple[int, Path]]
    """By step; also of one whose evaluation was interrupted."""
    left_out: dict[Path, str]


def new_files(watch: Watch, *, at: float | None = None) -> list[tuple[int, Path]]:
    """Return the files that are to be judged, by step; see `files_of`."""
    return files_of(watch, at=at).new


def files_of(watch: Watch, *, at: float | None = None) -> Files:
    """Return every file of the folder: to be judged, or left out for a reason.

    at: seconds since the epoch. Raises BadInputError: no folder, or two new files of one step.
    """
    if not watch.folder.is_dir():
        raise BadInputError("folder", f"there is no folder {str(watch.folder)!r}")
    done = _done_with(watch)
    new: dict[int, Path] = {}
    left_out: dict[Path, str] = {}
    for path in sorted(watch.folder.glob("*.safetensors")):
        step = read_step(path.name)
        if step is None:
            left_out[path] = "its name has no step, such as step_1000"
        elif step in done:
            left_out[path] = done[step]
        elif not _is_whole(path, time.time() if at is None else at):
            left_out[path] = WRITTEN
        elif step in new:
            raise BadInputError("folder", f"{new[step]} and {path} are both of step {step}")
        else:
            new[step] = path
    return Files(sorted(new.items()), left_out)


def admit(watch: Watch, step: int, path: Path, *, now: datetime) -> Agent:
    """Return the agent of a checkpoint, the child of the one before it in the run.

    One that is there already is returned. Raises BadInputError naming what is refused.
    """
    there = _playing(watch).filter(checkpoint__step=step).first()
    if there is not None:
        return there
    before = _stored(watch).filter(step__lt=step).order_by("-step").first()
    new = New(
        watch.name,
        game=watch.game,
        architecture=watch.architecture,
        parameters=watch.parameters,
        step=step,
        parent=before.sha256 if before else "",
    )
    return add_checkpoint(path, new, now=now)


def evaluate(watch: Watch, agent: Agent) -> Campaign:
    """Return the small campaign that asks whether the agent is worse than its best ancestor.

    Without an ancestor that could play, it is only ranked among those that it meets. One that was
    begun and has no verdict goes on.
    """
    board = _board(watch, agent)
    begun = Campaign.objects.filter(tournament__leaderboard=board, decided_at=None)
    unfinished = begun.filter(tournament__name=_title(agent)).order_by("pk").last()
    if unfinished is not None:
        return unfinished
    ancestor = best_ancestor(agent, board)
    anchors = [register_spelled_agent(text, game=agent.game) for text in watch.against]
    entrants = _distinct([ancestor, agent, _parent(agent), *anchors])
    plan = CampaignPlan(
        name=_title(agent),
        question=RANK if ancestor is None else BEATS,
        max_matches=watch.budget,
        error=1 - watch.level,
        margin=watch.margin if ancestor is None else 0.0,
        parameters={} if ancestor is None else _asked(watch),
        pairing="order_information",
    )
    return start(plan, leaderboard=board, agents=entrants)


def best_ancestor(agent: Agent, board: Leaderboard) -> Agent | None:
    """Return the ancestor with the highest settled rating on the board, or None."""
    hashes = list(_ancestors(agent))
    rated = Rating.objects.filter(
        leaderboard=board, agent__checkpoint__sha256__in=hashes, agent__is_retired=False
    ).exclude(agent__checkpoint__state=Checkpoint.State.REFUSED)
    best = rated.select_related("agent").order_by("-mu", "agent_id").first()
    return best.agent if best else None


def chance_of_regression(campaign: Campaign) -> float | None:
    """Return P(the newest is worse than its best ancestor by more than the campaign's lead).

    By the belief that the campaign is judged by; decided, it is what the verdict says.
    """
    if campaign.question != BEATS:
        return None
    above, below = np.array([ANCESTOR]), np.array([NEWEST])
    belief = belief_about(campaign)
    chance = float(belief.superiority(above, below, campaign.parameters["lead"])[0])
    if campaign.why != StopReason.DECIDED or campaign.probability is None:
        return chance
    return campaign.probability if chance >= EVEN else 1 - campaign.probability


def raise_alarm(campaign: Campaign, watch: Watch, *, now: datetime) -> Alarm | None:
    """Keep the alarm of a campaign that decided on a regression, once; None where there is none.

    What is likely when the budget is spent is no verdict, and no alarm: the level holds for those.
    """
    chance = chance_of_regression(campaign)
    if chance is None or chance < watch.level or campaign.why != StopReason.DECIDED:
        return None
    agents = entrants_of(campaign.tournament)
    alarm, _ = Alarm.objects.get_or_create(
        campaign=campaign,
        defaults={
            "agent_id": agents[NEWEST],
            "ancestor_id": agents[ANCESTOR],
            "probability": chance,
            "margin": campaign.parameters["lead"],
            "level": watch.level,
            "at": now,
        },
    )
    return alarm


def left_alone(watch: Watch) -> Campaign | None:
    """Return the newest evaluation of the run if it has a verdict and raised no alarm.

    A watch that was interrupted may have left before it could tell.
    """
    titles = [_title(agent) for agent in _playing(watch)]
    newest = Campaign.objects.filter(tournament__name__in=titles).order_by("pk").last()
    if newest is None or newest.decided_at is None:
        return None
    return None if Alarm.objects.filter(campaign=newest).exists() else newest


def _stored(watch: Watch) -> QuerySet[Checkpoint]:
    stored = Checkpoint.objects.filter(run=watch.name)
    return stored.filter(game=watch.game) if watch.game else stored


def _playing(watch: Watch) -> QuerySet[Agent]:
    """Return the agents of the run that may play."""
    agents = Agent.objects.filter(checkpoint__in=_stored(watch), is_retired=False)
    return agents.exclude(checkpoint__state=Checkpoint.State.REFUSED).order_by("pk")


def _done_with(watch: Watch) -> dict[int | None, str]:
    """Return the steps that need no evaluation, and why: a verdict, a refusal, a retired agent.

    Matches of other tournaments are none: what they say is evidence, which the evaluation uses.
    """
    reasons: dict[int | None, str] = {}
    for stored in _stored(watch).prefetch_related("agents").order_by("pk"):
        agents = [agent for agent in stored.agents.all() if not agent.is_retired]
        if stored.state == Checkpoint.State.REFUSED:
            reasons[stored.step] = f"its checkpoint was refused: {stored.reason}"
        elif not agents:
            reasons[stored.step] = "its agent is retired"
    names = {_title(agent): agent for agent in _playing(watch).select_related("checkpoint")}
    asked = Campaign.objects.filter(tournament__name__in=list(names)).order_by("pk")
    newest = dict(asked.values_list("tournament__name", "decided_at"))
    for title, decided_at in newest.items():
        checkpoint = names[title].checkpoint
        if decided_at is not None and checkpoint is not None:
            reasons.setdefault(checkpoint.step, JUDGED)
    return reasons


def _title(agent: Agent) -> str:
    return f"{agent.name} against its ancestors"[:120]


def _asked(watch: Watch) -> dict[str, object]:
    return {"a": ANCESTOR, "b": NEWEST, "lead": watch.margin}


def _board(watch: Watch, agent: Agent) -> Leaderboard:
    name = watch.leaderboard or f"watch-{agent.game.replace('_', '-')}"
    found = Leaderboard.objects.filter(name=name).first()
    if found is None:
        found = open_leaderboard(name, game=agent.game, title=f"{watch.name}: {agent.game}")
    if found.game != agent.game:
        raise BadInputError("leaderboard", f"{name!r} is of {found.game}, not of {agent.game}")
    return found


def _ancestors(agent: Agent) -> Iterator[str]:
    """Yield the hashes of what its checkpoint was trained from, the parent first."""
    checkpoint = agent.checkpoint
    while checkpoint is not None and checkpoint.parent is not None:
        checkpoint = checkpoint.parent
        yield checkpoint.sha256


def _parent(agent: Agent) -> Agent | None:
    parent = next(_ancestors(agent), None)
    if parent is None:
        return None
    playing = Agent.objects.filter(checkpoint__sha256=parent, game=agent.game, is_retired=False)
    return playing.exclude(checkpoint__state=Checkpoint.State.REFUSED).order_by("pk").first()


def _distinct(agents: Sequence[Agent | None]) -> list[Agent]:
    return list({agent.pk: agent for agent in agents if agent is not None}.values())


def _is_whole(path: Path, at: float) -> bool:
    return at - path.stat().st_mtime >= WRITTEN_FOR_S
