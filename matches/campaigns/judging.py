"""Judge campaigns as evidence comes, and end those that have their answer or no budget left.

All look at results in planned order, up to the first match that is open: see closed_prefix.
Judging the same evidence again says the same. The verdict is written once, under the condition that
there is none; what is still open is cancelled with it.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from threading import Lock
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Max, Q

from arena.pairing.registry import is_checking
from arena.verdicts import registry as questions
from arena.verdicts.base import StopReason, Terms, Verdict, find_expected_departures
from arena.verdicts.beliefs import Belief
from arena.verdicts.budget import find_exhausted
from arena.verdicts.evidence import ModelChecks
from arena.verdicts.sprt import Decision
from matches import dispatch
from matches.campaigns import forecasting
from matches.campaigns.belief import infer_and_check
from matches.campaigns.doubts import describe_doubts, is_in_doubt
from matches.campaigns.paired_blocks import load_blocks
from matches.campaigns.score_campaigns import judge_scores
from matches.campaigns.sprt import read_test
from matches.campaigns.starting import IS_SPRT
from matches.ledger import costs
from matches.ledger.tournaments import conclude_tournament
from matches.models import Agent, Campaign, CampaignPoint, Leaderboard, Tournament, Uncounted
from matches.ratings.entrants import entrants_of
from matches.ratings.evidence import Evidence, find_boards, gather_evidence, read_marks
from matches.ratings.score_tables import ScoreRangeError
from matches.store.bulk import among
from matches.store.catalog import game_problem
from matches.store.clock import is_within
from matches.store.failures import Failures

# Judged anew when what came since the start has grown by so much; by more where that comes at once,
# as a look takes a hundredth of a second for each agent, and may take a tenth of the time.
GROWTH, GROWTH_AT_ONCE = 0.05, 0.1
REST_PER_AGENT = timedelta(seconds=0.1)
# Of all campaigns together, where they have so many agents or fewer; of more as much rarer, as a
# forecast takes up to half a second then, and some seconds of sixty agents.
FORECAST_EVERY, FEW_AGENTS = timedelta(seconds=5), 10
FORECAST_LIMIT, N_MORE = forecasting.LIMIT, forecasting.N_MORE
# Why a campaign ended without an answer, and what it says then.
ENDED = {"cancelled": "cancelled", "no_results": "no match has a result: nothing can be said"}
# Of this process; between processes the condition under which a verdict is written decides.
_judging = Lock()
_STATES = Tournament.State
_STATEMENTS = {
    Decision.ACCEPT: "{} is better than {}: by {elo1:g} Elo rather than by {elo0:g}",
    Decision.REJECT: "{} is not better than {}: by {elo0:g} Elo rather than by {elo1:g}",
    Decision.CONTINUE: "{} against {}: undecided",
}


@dataclass(frozen=True)
class Judgement:
    """What the evidence says: a verdict or None, the likeliest answer, and how sure that is."""

    evidence: Evidence
    verdict: Verdict | None
    likely: Verdict
    chances: Sequence[float] = ()
    llr: float | None = None
    # Of a sequential test: its blocks by points.
    pairs: Sequence[int] | None = None
    belief: Belief | None = None
    checks: ModelChecks | None = None


def judge_all(*, now: datetime, limit_s: float = inf) -> int:
    """Judge the campaigns without a verdict, unless another thread does; return how many ended.

    After limit_s it leaves the rest to the next call, which begins with another one.
    """
    if not _judging.acquire(blocking=False):
        return 0
    try:
        return _judge_in_turn(now=now, limit_s=limit_s)
    finally:
        _judging.release()


def _judge_in_turn(*, now: datetime, limit_s: float) -> int:
    waiting = Campaign.objects.filter(decided_at=None).exclude(
        Q(tournament__state=_STATES.SCHEDULED) & Q(n_known=0)
    )
    campaigns = list(waiting.select_related("tournament__leaderboard").order_by("pk"))
    # Each second begins with another one, so that those behind a slow one have their turn.
    first = int(now.timestamp()) % len(campaigns) if campaigns else 0
    begun, n_ended, failures = time.monotonic(), 0, Failures()
    for campaign in campaigns[first:] + campaigns[:first]:
        if game_problem(campaign.tournament.leaderboard.game):
            continue  # it waits until its plug-in is here again; its page says so
        with failures.collect(f"judging campaign {campaign.pk}"):
            n_ended += judge_campaign(
                campaign, now=now, forecast_every=FORECAST_EVERY * len(campaigns)
            )
        if time.monotonic() - begun > limit_s:
            break
    failures.raise_all()
    return n_ended


def judge_campaign(
    campaign: Campaign, *, now: datetime, forecast_every: timedelta = FORECAST_EVERY
) -> bool:
    """Judge a campaign if there is reason to; say whether it ended now."""
    try:
        return _judge_or_end(campaign, now=now, forecast_every=forecast_every)
    except ScoreRangeError as error:
        fields: dict[str, object] = {"why": "bad_scores", "statement": str(error)}
        return _store_verdict(campaign, fields, now=now)


def _judge_or_end(campaign: Campaign, *, now: datetime, forecast_every: timedelta) -> bool:
    tournament = campaign.tournament
    if tournament.state == _STATES.CANCELLED:
        return _close(campaign, None, "cancelled", now=now)
    limit = find_exhausted(costs.read_budget(campaign), costs.sum_spent(campaign))
    is_over = limit is not None or tournament.state in Tournament.OVER
    if is_over and tournament.state not in Tournament.OVER:
        # The hard stop; what was played may not be counted yet.
        conclude_tournament(tournament, now=now)
    evidence = _gather_new_evidence(campaign, is_over=is_over, now=now)
    if evidence is None:
        return False
    if not count_results(campaign, evidence):
        return _close(campaign, None, "no_results", now=now)
    judgement = _form_judgement(campaign, evidence)
    _store_judgement(campaign, judgement, now=now, forecast_every=forecast_every)
    if judgement.verdict is not None:
        return _close(campaign, judgement, "", now=now)
    if not is_over:
        return False
    # Over within the limits: all was played, or the pairing has nothing more to play.
    all_played = "pairing" if tournament.n_planned < campaign.max_matches else "matches"
    return _close(campaign, judgement, limit or all_played, now=now)


def _gather_new_evidence(campaign: Campaign, *, is_over: bool, now: datetime) -> Evidence | None:
    """Return what to judge a campaign by; None where it is not due, or counts changed meanwhile."""
    tournament = campaign.tournament
    board = tournament.leaderboard
    if is_over:
        uncounted = Uncounted.objects.filter(leaderboard=board, is_counted=False)
        if uncounted.filter(match__tournament=tournament).exists():
            return None
    elif campaign.judged_at is not None:
        # Nothing to look at before some leaderboard of the game was rated since.
        rated = Leaderboard.objects.filter(game=board.game).aggregate(newest=Max("rated_at"))
        if rated["newest"] is not None and rated["newest"] < campaign.judged_at:
            return None
    agents = entrants_of(tournament)
    boards = find_boards(board, agents)
    if any(known_board.is_rerating for known_board in boards):
        return None
    marks = read_marks(boards)
    evidence = gather_evidence(board, agents, boards=boards, own=tournament)
    n_results = count_results(campaign, evidence)
    if not is_over and not n_results:
        # What was known at the start is void by now; planning waits for the first judgement.
        Campaign.objects.filter(pk=campaign.pk, judged_at=None).update(judged_at=now)
        return None
    if not is_over and not _is_look_due(campaign, n_results, len(agents), now=now):
        return None
    if campaign.question != IS_SPRT and not campaign.is_by_scores:
        # A test goes by its blocks, scores are read later; the others by these: read now
        _ = evidence.counts
    # What differs was counted between two reads: the next look has all of one moment.
    return evidence if read_marks(boards) == marks else None


def count_results(campaign: Campaign, evidence: Evidence) -> int:
    """Return how many results a judgement goes by: by scores those of its own tournament only."""
    return campaign.tournament.n_done if campaign.is_by_scores else evidence.known.n_matches


def _is_look_due(campaign: Campaign, n_results: int, n_agents: int, *, now: datetime) -> bool:
    """Return whether so many results of so many agents are judged now."""
    if n_results < campaign.n_judged:
        return True  # some were declared void
    is_early = is_within(campaign.judged_at, n_agents * REST_PER_AGENT, now=now)
    growth = GROWTH_AT_ONCE if is_early else GROWTH
    return n_results >= count_to_next_look(campaign, growth)


def count_to_next_look(campaign: Campaign, growth: float) -> float:
    """Return how many results of its agents bring the next judgement.

    What was known at the start says little about agents that are new: only what came since counts.
    """
    return campaign.n_judged + 1 + growth * max(0, campaign.n_judged - campaign.n_known)


def _form_judgement(campaign: Campaign, evidence: Evidence) -> Judgement:
    if campaign.question == IS_SPRT:
        return _judge_test(campaign, evidence)
    if campaign.is_by_scores:
        return Judgement(evidence, *judge_scores(campaign, evidence.agents))
    question, terms = questions.get(campaign.question), read_terms(campaign)
    tournament, n_agents = campaign.tournament, len(evidence.agents)
    is_checked = is_checking(tournament.pairing, tournament.pairing_parameters, n_agents)
    expected = find_expected_departures(question, n_agents, is_checked=is_checked)
    belief, checks = infer_and_check(evidence, expected_departures=expected)
    verdict = question.judge(belief, terms)
    chances = [round(float(chance), 6) for chance in belief.chances_of_best()]
    likely = verdict or question.guess(belief, terms)
    return Judgement(evidence, verdict, likely, chances, belief=belief, checks=checks)


def read_terms(campaign: Campaign) -> Terms:
    """Return what the asker wants."""
    return Terms(campaign.error, campaign.margin, campaign.parameters)


def _judge_test(campaign: Campaign, evidence: Evidence) -> Judgement:
    counts = count_test_blocks(campaign, evidence.agents, boards=evidence.boards)
    test = read_test(campaign.parameters)
    state = test.state(counts)
    is_decided = state.decision is not Decision.CONTINUE
    errors = {Decision.ACCEPT: test.alpha, Decision.REJECT: test.beta}
    statement = _STATEMENTS[state.decision].replace("{elo0:g}", f"{test.elo0:g}")
    verdict = Verdict(
        statement.replace("{elo1:g}", f"{test.elo1:g}"),
        (0, 1),
        1 - errors.get(state.decision, 1.0),
        StopReason.DECIDED if is_decided else StopReason.OUT_OF_BUDGET,
    )
    decided = verdict if is_decided else None
    return Judgement(evidence, decided, verdict, llr=state.llr, pairs=counts)


def count_test_blocks(
    campaign: Campaign, pair: Sequence[int], *, boards: Sequence[Leaderboard] | None = None
) -> list[int]:
    """Return the blocks of the pair that a sequential test goes by, counted by points.

    Where it has crossed a bound it stays: blocks after that decide nothing any more. boards: those
    that know the two, where they were found already.
    """
    test, tournament = read_test(campaign.parameters), campaign.tournament
    blocks = load_blocks(tournament.leaderboard, *pair, boards=boards, own=tournament)
    curve = test.curve(blocks.outcomes) if blocks.outcomes else np.empty(0)
    crossed = np.flatnonzero((curve <= test.lower) | (curve >= test.upper))
    n_blocks = int(crossed[0]) + 1 if crossed.size else len(curve)
    return blocks.first(n_blocks).counts


def _store_judgement(
    campaign: Campaign, judgement: Judgement, *, now: datetime, forecast_every: timedelta
) -> None:
    """Store what is believed now, and a point of the curve."""
    n_results = count_results(campaign, judgement.evidence)
    rest = forecast_every * max(1.0, len(judgement.evidence.agents) / FEW_AGENTS)
    is_fresh = is_within(campaign.forecast_at, rest, now=now)
    forecast = None if is_fresh else _forecast_rest(campaign, judgement, now=now)
    # Only while undecided: a verdict that another process has written stays as it is.
    Campaign.objects.filter(pk=campaign.pk, decided_at=None).update(
        n_judged=n_results,
        judged_at=now,
        chances=judgement.chances,
        doubts=_describe_doubts(judgement),
        ranking=_list_ranks(judgement.likely),
        **_name_likely(judgement),
        probability=judgement.likely.probability,
        pairs=judgement.pairs,
        **({"forecast": forecast, "forecast_at": now} if forecast else {}),
    )
    # One point for each number of results, however often it is looked at.
    CampaignPoint.objects.get_or_create(
        campaign=campaign,
        n_results=n_results,
        defaults={
            "at": now,
            "probability": judgement.likely.probability,
            "llr": judgement.llr,
            "matches_left": forecast["matches"] if forecast else None,
        },
    )


def _describe_doubts(judgement: Judgement) -> list[str]:
    """Return what of the rating model does not hold, in words."""
    if judgement.checks is None or not is_in_doubt(judgement.checks):
        return []
    agents = judgement.evidence.agents
    names = dict(Agent.objects.filter(pk__in=among(agents)).values_list("pk", "name"))
    return describe_doubts(judgement.checks, [names[agent] for agent in agents])


def _name_likely(judgement: Judgement) -> dict[str, object]:
    """Return what names the likeliest answer; nothing of a test, which says only its ratio."""
    if judgement.pairs is not None:
        return {}
    return _name_answer(judgement.likely, judgement.evidence.agents, prefix="likely_")


def _name_answer(verdict: Verdict, agents: Sequence[int], *, prefix: str = "") -> dict[str, object]:
    """Return the statement with names, and the agents that it names, as fields of a campaign."""
    subjects = [agents[position] for position in verdict.subjects]
    names = dict(Agent.objects.filter(pk__in=among(subjects)).values_list("pk", "name"))
    # Only those that it names: a judgement looks at fields of thousands.
    named = {position: names[agents[position]] for position in verdict.subjects}
    statement = verdict.format_statement(named)[:4_000]
    return {f"{prefix}statement": statement, f"{prefix}subjects": subjects}


def _list_ranks(verdict: Verdict) -> list[tuple[int, float | None]] | None:
    """Return positions and P(better than the next) in the order of a ranking; else None."""
    steps = [round(step, 6) for step in verdict.steps]
    # A long ranking has no steps for its last ranks.
    return list(zip(verdict.subjects, [*steps, None], strict=False)) if steps else None


def _forecast_rest(
    campaign: Campaign, judgement: Judgement, *, now: datetime
) -> dict[str, Any] | None:
    """Return what is left to the verdict; None where that makes no sense."""
    if judgement.verdict is not None:
        return None
    if judgement.pairs is not None:
        return forecasting.forecast_test(campaign, judgement.evidence, judgement.pairs, now=now)
    if judgement.belief is None:
        return None
    return forecasting.forecast_rest(campaign, judgement.belief, now=now)


def _close(campaign: Campaign, judgement: Judgement | None, stop: str, *, now: datetime) -> bool:
    """Write how a campaign ended, once; say whether it was this call.

    judgement: None where nothing can be said, but for why it stops.
    """
    if judgement is None:
        return _store_verdict(campaign, {"why": stop, "statement": ENDED[stop]}, now=now)
    verdict, agents = judgement.verdict or judgement.likely, judgement.evidence.agents
    n_round_robin = None
    if judgement.belief is not None:
        n_round_robin = forecasting.count_round_robin(campaign, judgement.belief)
    fields: dict[str, object] = {
        **_name_answer(verdict, agents),
        "upsets": [[agents[one], agents[other]] for one, other in verdict.upsets],
        "probability": verdict.probability,
        "why": f"{verdict.why.value}: {stop}" if stop else verdict.why.value,
        "n_round_robin": n_round_robin,
    }
    return _store_verdict(campaign, fields, now=now)


@transaction.atomic
def _store_verdict(campaign: Campaign, fields: dict[str, object], *, now: datetime) -> bool:
    """Write the verdict and end the tournament: both, or nothing when control dies in between."""
    tournament = Tournament.objects.get(pk=campaign.tournament_id)
    written = Campaign.objects.filter(pk=campaign.pk, decided_at=None).update(
        decided_at=now, n_played=tournament.n_done - tournament.n_known, **fields
    )
    if not written:
        return False
    conclude_tournament(tournament, now=now)
    transaction.on_commit(dispatch.wake_rater)
    return True
