"""Watch a training run: register each new checkpoint, evaluate it in short, notice regressions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
from django.db import transaction
from django.db.models import QuerySet

from arena.errors import ArenaError, UnknownNameError
from arena.games import registry as games
from arena.pairing.registry import SEEDS
from arena.policies.spec import parse_policy
from arena.verdicts.base import StopReason
from matches.campaigns.belief import infer_belief
from matches.campaigns.inputs import open_board
from matches.campaigns.score_campaigns import measure_lead
from matches.campaigns.starting import start_campaign
from matches.errors import BadInputError
from matches.ledger.naming import describe_unknown, find_agent
from matches.models import Agent, Alarm, Campaign, Checkpoint, Leaderboard, Rating
from matches.models.validation import replace_unprintable
from matches.plans import CampaignPlan
from matches.ratings.entrants import entrants_of
from matches.ratings.evidence import gather_evidence
from matches.store import auditing
from matches.store.auditing import Actor

JUDGED = "it was judged before"
BEATS, RANK = "beats", "rank_all"
# Positions of the two that an alarm is about.
ANCESTOR, NEWEST = 0, 1
EVEN = 0.5
ACKNOWLEDGE = "alarm.acknowledge"


@dataclass(frozen=True)
class Watch:
    """What is watched, and what an evaluation may cost.

    name: of the run; its agents are NAME@STEP. against: agents of known kind that every checkpoint
    meets, as spelled on the command line. margin: in units of rating; margin_score: in mean score
    on equal seeds, instead. level: P(worse than the best ancestor by more than the margin) from
    which it is an alarm.
    """

    name: str
    game: str = ""
    leaderboard: str = ""
    against: Sequence[str] = ("random",)
    budget: int = 200
    margin: float = 1.0
    level: float = 0.95
    margin_score: float | None = None


class Step(NamedTuple):
    """A stored checkpoint of the run; `done`: why it needs no evaluation, empty if it does."""

    step: int | None
    sha256: str
    agent: int | None
    done: str


class Verdict(NamedTuple):
    """What came of the campaign of a checkpoint; without an ancestor it was only ranked."""

    agent: str
    mu: float
    low: float
    high: float
    n_played: int
    ancestor: str | None
    probability: float | None
    margin: float | None
    alarm: Alarm | None


def check_watch(watch: Watch) -> None:
    """Refuse what no checkpoint could be evaluated with. Raises BadInputError."""
    try:
        field = "game"
        if watch.game:
            games.get(watch.game)
        field = "against"
        for text in watch.against:
            if not Agent.objects.filter(name=text).exists():
                parse_policy(text)
    except UnknownNameError as error:
        is_agent = field == "against"
        raise BadInputError(field, describe_unknown(text) if is_agent else str(error)) from error
    except ArenaError as error:
        raise BadInputError(field, str(error)) from error


def list_steps(watch: Watch) -> list[Step]:
    """Return the stored checkpoints of the run, the first step first."""
    reasons = _find_reasons_to_skip(watch)
    playing = {str(agent.checkpoint_id): agent.pk for agent in _list_playing(watch)}
    stored = _list_stored(watch).order_by("step", "pk").values_list("step", "sha256")
    return [Step(n, sha256, playing.get(sha256), reasons.get(n, "")) for n, sha256 in stored]


def start_evaluation(watch: Watch, agent: Agent) -> Campaign:
    """Return the small campaign that asks whether the agent is worse than its best ancestor.

    Without an ancestor that could play, it is only ranked among those that it meets. One that was
    begun and has no verdict goes on.
    """
    name = watch.leaderboard or f"watch-{agent.game.replace('_', '-')}"
    board = open_board(name, game=agent.game, title=f"{watch.name}: {agent.game}")
    begun = Campaign.objects.filter(tournament__leaderboard=board, decided_at=None)
    unfinished = begun.filter(tournament__name=_make_title(agent)).order_by("pk").last()
    if unfinished is not None:
        return unfinished
    ancestor = best_ancestor(agent, board)
    anchors = [find_agent(text, game=agent.game) for text in watch.against]
    # The order is the positions of ANCESTOR and NEWEST; who has several parts stands once.
    parts = (ancestor, agent, _find_parent(agent), *anchors)
    entrants = {part.pk: part for part in parts if part is not None}
    is_by_scores = watch.margin_score is not None
    lead = watch.margin if watch.margin_score is None else watch.margin_score
    # Asked whether it beats the ancestor, the lead says by how much: no margin beside it.
    margin = lead if ancestor is None else 0.0
    plan = CampaignPlan(
        name=_make_title(agent),
        question=RANK if ancestor is None else BEATS,
        max_matches=watch.budget,
        error=1 - watch.level,
        parameters={} if ancestor is None else {"a": ANCESTOR, "b": NEWEST, "lead": lead},
        pairing=SEEDS if games.get(agent.game).spec.is_scored else "order_information",
        margin=None if is_by_scores else margin,
        margin_score=margin if is_by_scores else None,
    )
    return start_campaign(plan, leaderboard=board, agents=list(entrants.values()))


def best_ancestor(agent: Agent, board: Leaderboard) -> Agent | None:
    """Return the ancestor with the highest settled rating on the board, or None."""
    hashes = list(_walk_ancestors(agent))
    rated = Rating.objects.filter(
        leaderboard=board, agent__checkpoint__sha256__in=hashes, agent__is_retired=False
    ).exclude(agent__checkpoint__state=Checkpoint.State.REFUSED)
    best = rated.select_related("agent").order_by("-mu", "agent_id").first()
    return best.agent if best else None


def chance_of_regression(campaign: Campaign) -> float | None:
    """Return P(the newest is worse than its best ancestor by more than the campaign's lead).

    By what the campaign is judged by, a belief or scores; decided, it is what the verdict says.
    """
    if campaign.question != BEATS:
        return None
    chance = _measure_chance(campaign)
    if campaign.why != StopReason.DECIDED or campaign.probability is None:
        return chance
    # A verdict says yes or no, and how sure that is: of a no, the rest is the chance of a yes.
    return campaign.probability if chance >= EVEN else 1 - campaign.probability


def _measure_chance(campaign: Campaign) -> float:
    tournament = campaign.tournament
    agents = entrants_of(tournament)
    if campaign.is_by_scores:
        return measure_lead(campaign, agents)
    above, below = np.array([ANCESTOR]), np.array([NEWEST])
    belief = infer_belief(gather_evidence(tournament.leaderboard, agents, own=tournament))
    return float(belief.superiority(above, below, campaign.parameters["lead"])[0])


def judge_checkpoint(campaign: Campaign, *, level: float, now: datetime) -> Verdict:
    """Return how the campaign of a checkpoint ended; the alarm of a regression is raised once."""
    if campaign.question not in (BEATS, RANK):
        raise BadInputError("campaign", f"{campaign.pk} is none of a watch")
    agents = entrants_of(campaign.tournament)
    newest = agents[NEWEST if campaign.question == BEATS else 0]
    # Only of its own campaigns are the first two ancestor and newest: another's would raise an
    # alarm about a pair that nobody watches.
    if campaign.tournament.name != _make_title(Agent.objects.get(pk=newest)):
        raise BadInputError("campaign", f"{campaign.pk} is none of a watch")
    chance = chance_of_regression(campaign)
    rating = Rating.objects.select_related("agent").get(
        leaderboard=campaign.tournament.leaderboard_id, agent=newest
    )
    alarm = raise_alarm(campaign, level=level, now=now)
    ancestor = None
    if chance is not None:
        ancestor = Agent.objects.get(pk=agents[ANCESTOR]).name
    return Verdict(
        agent=rating.agent.name,
        mu=rating.mu,
        low=rating.low,
        high=rating.high,
        n_played=campaign.n_played or 0,
        ancestor=ancestor,
        probability=chance,
        margin=None if chance is None else campaign.parameters["lead"],
        alarm=alarm,
    )


def raise_alarm(campaign: Campaign, *, level: float, now: datetime) -> Alarm | None:
    """Keep the alarm of a campaign that decided on a regression, once; None where there is none.

    What is likely when the budget is spent is no verdict, and no alarm: the level holds for those.
    """
    chance = chance_of_regression(campaign)
    if chance is None or chance < level or campaign.why != StopReason.DECIDED:
        return None
    agents = entrants_of(campaign.tournament)
    alarm, _ = Alarm.objects.get_or_create(
        campaign=campaign,
        defaults={
            "agent_id": agents[NEWEST],
            "ancestor_id": agents[ANCESTOR],
            "probability": chance,
            "margin": campaign.parameters["lead"],
            "level": level,
            "at": now,
        },
    )
    return alarm


@transaction.atomic
def acknowledge_alarm(alarm: Alarm, *, actor: Actor, now: datetime, reason: str = "") -> bool:
    """Note who acknowledged an alarm first. Say whether it was this call."""
    open_alarm = Alarm.objects.filter(pk=alarm.pk, acknowledged_at=None)
    if not open_alarm.update(acknowledged_at=now, acknowledged_by=actor.name):
        return False
    auditing.add_audit_row(
        ACKNOWLEDGE, actor=actor, targets=[alarm], reason=reason, touched={}, now=now
    )
    return True


def find_quiet_verdict(watch: Watch) -> Campaign | None:
    """Return the newest evaluation of the run if it has a verdict and raised no alarm.

    A watch that was interrupted may have left before it could tell.
    """
    titles = [_make_title(agent) for agent in _list_playing(watch)]
    newest = Campaign.objects.filter(tournament__name__in=titles).order_by("pk").last()
    if newest is None or newest.decided_at is None:
        return None
    return None if Alarm.objects.filter(campaign=newest).exists() else newest


def _list_stored(watch: Watch) -> QuerySet[Checkpoint]:
    stored = Checkpoint.objects.filter(run=watch.name)
    return stored.filter(game=watch.game) if watch.game else stored


def _list_playing(watch: Watch) -> QuerySet[Agent]:
    """Return the agents of the run that may play."""
    agents = Agent.objects.filter(checkpoint__in=_list_stored(watch), is_retired=False)
    return agents.exclude(checkpoint__state=Checkpoint.State.REFUSED).order_by("pk")


def _find_reasons_to_skip(watch: Watch) -> dict[int | None, str]:
    """Return the steps that need no evaluation, and why: a verdict, a refusal, a retired agent.

    Matches of other tournaments are none: what they say is evidence, which the evaluation uses.
    """
    reasons: dict[int | None, str] = {}
    for stored in _list_stored(watch).prefetch_related("agents").order_by("pk"):
        agents = [agent for agent in stored.agents.all() if not agent.is_retired]
        if stored.state == Checkpoint.State.REFUSED:
            reasons[stored.step] = f"its checkpoint was refused: {stored.reason}"
        elif not agents:
            reasons[stored.step] = "its agent is retired"
    names = {
        _make_title(agent): agent for agent in _list_playing(watch).select_related("checkpoint")
    }
    campaigns = Campaign.objects.filter(tournament__name__in=list(names)).order_by("pk")
    # Later ones overwrite earlier ones: the newest campaign of a name decides.
    newest = dict(campaigns.values_list("tournament__name", "decided_at"))
    for title, decided_at in newest.items():
        checkpoint = names[title].checkpoint
        if decided_at is not None and checkpoint is not None:
            reasons.setdefault(checkpoint.step, JUDGED)
    return reasons


def _make_title(agent: Agent) -> str:
    return replace_unprintable(f"{agent.name} against its ancestors"[:120])


def _walk_ancestors(agent: Agent) -> Iterator[str]:
    """Yield the hashes of what its checkpoint was trained from, the parent first."""
    checkpoint = agent.checkpoint
    while checkpoint is not None and checkpoint.parent is not None:
        checkpoint = checkpoint.parent
        yield checkpoint.sha256


def _find_parent(agent: Agent) -> Agent | None:
    parent = next(_walk_ancestors(agent), None)
    if parent is None:
        return None
    playing = Agent.objects.filter(checkpoint__sha256=parent, game=agent.game, is_retired=False)
    return playing.exclude(checkpoint__state=Checkpoint.State.REFUSED).order_by("pk").first()
