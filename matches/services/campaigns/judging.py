"""Judge campaigns as evidence comes, and end those that have their answer or no budget left.

Judging the same evidence again says the same. The verdict is written once, under the condition that
there is none; only then is what is still open cancelled.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Q

from arena.games import registry as games
from arena.ratings.settled import PairCounts
from arena.verdicts import registry as questions
from arena.verdicts.base import Terms, Verdict, Why
from arena.verdicts.beliefs import Belief, believed
from arena.verdicts.budget import exhausted
from arena.verdicts.forecast import forecast, outlook
from arena.verdicts.sprt import Decision, State
from matches import dispatch
from matches.models import Agent, Campaign, CampaignPoint, Tournament
from matches.services.campaigns import blocks, costs
from matches.services.campaigns.starting import IS_SPRT, test_of
from matches.services.fitting import evidence, fit
from matches.services.standing import entrants_of, n_matches_of
from matches.services.tournaments import conclude

GROWTH = 0.1
"""Evidence is judged anew when it has grown by so much: between, little can change."""
FORECAST_EVERY = timedelta(seconds=5)
FORECAST_LIMIT = 1_000_000
N_MORE = 100
_STATES = Tournament.State
_OVER = (_STATES.DONE.value, _STATES.CANCELLED.value)
_SAID = {
    Decision.ACCEPT: "{} is better than {}: by {elo1:g} Elo rather than by {elo0:g}",
    Decision.REJECT: "{} is not better than {}: by {elo0:g} Elo rather than by {elo1:g}",
    Decision.CONTINUE: "{} against {}: undecided",
}


@dataclass(frozen=True)
class Judgement:
    """What the evidence says: a verdict or None, the likeliest answer, and how sure that is."""

    n_results: int
    verdict: Verdict | None
    likely: Verdict
    chances: Sequence[float] = ()
    llr: float | None = None
    belief: Belief | None = None
    names: Sequence[str] = field(default_factory=list)


def judge_all(*, now: datetime) -> int:
    """Judge every campaign without a verdict; return how many ended."""
    waiting = Campaign.objects.filter(decided_at=None).exclude(
        Q(tournament__state=_STATES.SCHEDULED) & Q(n_known=0)
    )
    found = waiting.select_related("tournament__leaderboard").order_by("pk")
    return sum(judge(campaign, now=now) for campaign in found)


def judge(campaign: Campaign, *, now: datetime) -> bool:
    """Judge a campaign if there is reason to; say whether it ended now."""
    tournament = campaign.tournament
    if tournament.state == _STATES.CANCELLED:
        return _close(campaign, None, "cancelled", now=now)
    limit = exhausted(costs.budget(campaign), costs.spent(campaign))
    is_over = limit is not None or tournament.state in _OVER
    agents = entrants_of(tournament)
    counts = evidence(tournament.leaderboard, agents)
    n_results = n_matches_of(counts, games.get(tournament.leaderboard.game).spec.n_seats)
    if not is_over and n_results < campaign.n_judged * (1 + GROWTH) + 1:
        return False
    judgement = _judgement(campaign, agents, counts, n_results)
    _note(campaign, judgement, now=now)
    if judgement.verdict is not None:
        return _close(campaign, judgement.verdict, "", now=now)
    return is_over and _close(campaign, judgement.likely, limit or "", now=now)


def _judgement(
    campaign: Campaign, agents: Sequence[int], counts: PairCounts, n_results: int
) -> Judgement:
    if campaign.question == IS_SPRT:
        return _tested(campaign, agents, n_results)
    known = fit(campaign.tournament.leaderboard, agents, counts)
    belief = believed(known, counts)
    question, terms = questions.get(campaign.question), terms_of(campaign)
    verdict = question.judge(belief, terms)
    chances = [round(float(chance), 6) for chance in belief.chances_of_best()]
    likely = verdict or question.guess(belief, terms)
    return Judgement(n_results, verdict, likely, chances, belief=belief)


def terms_of(campaign: Campaign) -> Terms:
    """Return what the asker wants."""
    return Terms(campaign.error, campaign.margin, campaign.parameters)


def _tested(campaign: Campaign, agents: Sequence[int], n_results: int) -> Judgement:
    state = test_state(campaign, agents)
    verdict = _said(campaign, state)
    is_decided = state.decision is not Decision.CONTINUE
    return Judgement(n_results, verdict if is_decided else None, verdict, llr=state.llr)


def test_state(campaign: Campaign, agents: Sequence[int]) -> State:
    """Return where the sequential test of a campaign stands: by all blocks of the pair.

    Where it has crossed a bound it stays: blocks after that decide nothing any more.
    """
    test = test_of(campaign.parameters)
    found = blocks.between(campaign.tournament.leaderboard, *agents)
    curve = test.curve(found.outcomes) if found.outcomes else np.empty(0)
    crossed = np.flatnonzero((curve <= test.lower) | (curve >= test.upper))
    n_blocks = int(crossed[0]) + 1 if crossed.size else len(curve)
    return test.state(found.first(n_blocks).counts)


def _said(campaign: Campaign, state: State) -> Verdict:
    test = test_of(campaign.parameters)
    said = _SAID[state.decision].replace("{elo0:g}", f"{test.elo0:g}")
    said = said.replace("{elo1:g}", f"{test.elo1:g}")
    errors = {Decision.ACCEPT: test.alpha, Decision.REJECT: test.beta}
    is_decided = state.decision is not Decision.CONTINUE
    why = Why.DECIDED if is_decided else Why.OUT_OF_BUDGET
    return Verdict(said, (0, 1), 1 - errors.get(state.decision, 1.0), why)


def _note(campaign: Campaign, judgement: Judgement, *, now: datetime) -> None:
    """Keep what is believed now, and a point of the curve."""
    foreseen = _foreseen(campaign, judgement, now=now)
    Campaign.objects.filter(pk=campaign.pk, decided_at=None).update(
        n_judged=judgement.n_results,
        judged_at=now,
        chances=judgement.chances,
        probability=judgement.likely.probability,
        **({"forecast": foreseen, "forecast_at": now} if foreseen else {}),
    )
    CampaignPoint.objects.get_or_create(
        campaign=campaign,
        n_results=judgement.n_results,
        defaults={
            "at": now,
            "probability": judgement.likely.probability,
            "llr": judgement.llr,
            "matches_left": foreseen["matches"] if foreseen else None,
        },
    )


def _foreseen(campaign: Campaign, judgement: Judgement, *, now: datetime) -> dict[str, Any] | None:
    """Return what is left to the verdict; None when it was looked at just now or makes no sense."""
    is_fresh = campaign.forecast_at is not None and now - campaign.forecast_at < FORECAST_EVERY
    if judgement.belief is None or judgement.verdict is not None or is_fresh:
        return None
    return foresee(campaign, judgement.belief, now=now)


def foresee(campaign: Campaign, belief: Belief, *, now: datetime) -> dict[str, Any]:
    """Return the matches to the verdict with what they cost, and what 100 more would change."""
    question, terms = questions.get(campaign.question), terms_of(campaign)
    seed = campaign.tournament.seed
    ahead = forecast(belief, question, terms, limit=FORECAST_LIMIT, seed=seed)
    more = outlook(belief, question, terms, seed=seed, n_matches=N_MORE)
    cost = costs.per_match(campaign.tournament, now=now)
    return {
        "matches": ahead.matches,
        "low": ahead.low,
        "high": ahead.high,
        "decided": ahead.decided,
        "round_robin": ahead.round_robin,
        "cost": cost.of(ahead.matches),
        "more": {"n_matches": N_MORE, "now": more.now, "then": more.then, "verdict": more.verdict},
    }


@transaction.atomic
def _close(campaign: Campaign, verdict: Verdict | None, stop: str, *, now: datetime) -> bool:
    """Write how a campaign ended, once, and end its tournament."""
    agents = entrants_of(campaign.tournament)
    names = dict(Agent.objects.filter(pk__in=agents).values_list("pk", "name"))
    fields: dict[str, object] = {"why": stop, "statement": stop}
    if verdict is not None:
        fields = {
            "statement": verdict.said([names[agent] for agent in agents])[:4_000],
            "subjects": [agents[position] for position in verdict.subjects],
            "probability": verdict.probability,
            "why": f"{verdict.why.value}: {stop}" if stop else verdict.why.value,
        }
    tournament = Tournament.objects.get(pk=campaign.tournament_id)
    written = Campaign.objects.filter(pk=campaign.pk, decided_at=None).update(
        decided_at=now, n_played=tournament.n_done, **fields
    )
    if not written:
        return False
    conclude(tournament, now=now)
    transaction.on_commit(dispatch.wake_rater)
    return True
