"""Seasons: freeze a leaderboard as it stands, for ever, and begin another season on it.

A reset lets everybody start anew: matches count by when they were planned, so the ratings of a
season are those of a board that never had any others. Carrying over lets all results go on to
count, and that in full: an agent never changes, so what was true of it stays true, and to widen its
doubt would forget what is known.
"""

from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F

from matches import dispatch
from matches.errors import BadInputError, ConflictError
from matches.models import Campaign, Leaderboard, Season, SeasonRow
from matches.models.choices import SeasonMode
from matches.models.validation import check_name, find_first_refusal
from matches.ratings import rater, standings
from matches.store import auditing
from matches.store.auditing import Actor
from matches.store.bulk import split_batches

BATCH = 500
MAX_NAME = 80
KEPT = (
    *("mu", "sd", "low", "high", "live_mu", "live_sigma"),
    *("n_matches", "n_wins", "n_draws", "n_losses", "n_forfeits"),
)


@transaction.atomic
def freeze(
    board: Leaderboard, name: str, *, actor: Actor, reason: str = "", now: datetime
) -> Season:
    """Return the season that keeps ranks and ratings as they stand now.

    Raises BadInputError for a name that is empty, too long or taken, ConflictError while the
    ratings do not show every counted outcome: a moment later they do.
    """
    board = Leaderboard.objects.select_for_update().get(pk=board.pk)
    season = _freeze_locked(board, _check_name(name), actor=actor, reason=reason, now=now)
    touched = _describe_for_audit(season)
    auditing.add_audit_row(
        "leaderboard.freeze", actor=actor, targets=[board], reason=reason, touched=touched, now=now
    )
    return season


@transaction.atomic
def begin(
    board: Leaderboard,
    name: str,
    *,
    mode: SeasonMode,
    actor: Actor,
    reason: str = "",
    now: datetime,
) -> Season:
    """Begin a season; return the one that ended, frozen under its name or "before" the new one's.

    Raises as `freeze` does.
    """
    board = Leaderboard.objects.select_for_update().get(pk=board.pk)
    begun = _check_name(name)
    if begun == board.season_name or _is_taken(board, begun):
        raise BadInputError("name", f"{board.name} has a season {begun!r} already: choose another")
    old = board.season_name or f"before {begun}"[:MAX_NAME]
    ended = _freeze_locked(board, old, actor=actor, reason=reason, now=now)
    Leaderboard.objects.filter(pk=board.pk).update(season_name=begun, season_began_at=now)
    if mode == SeasonMode.RESET:
        rater.start_over(board, now=now)
        # Campaigns that go on have of this leaderboard the new season only.
        undecided = Campaign.objects.filter(tournament__leaderboard=board, decided_at=None)
        undecided.update(n_judged=0, n_known=F("n_known_elsewhere"))
        transaction.on_commit(dispatch.wake_rater)
    touched = _describe_for_audit(ended, name=begun, mode=str(mode))
    auditing.add_audit_row(
        "leaderboard.begin", actor=actor, targets=[board], reason=reason, touched=touched, now=now
    )
    return ended


def _freeze_locked(
    board: Leaderboard, name: str, *, actor: Actor, reason: str, now: datetime
) -> Season:
    """Freeze a leaderboard that is locked."""
    is_settled = board.n_settled == board.n_counted and (board.results_hash or not board.n_counted)
    if board.is_rerating or not is_settled:
        raise ConflictError(
            f"the ratings of {board.name} are being computed: freeze it again in a moment"
        )
    ranked = standings.rank_ratings(board.pk)
    season = _new_season(board, name, actor=actor, reason=reason, n_agents=ranked.count(), now=now)
    # The name too, as it is now: what is frozen shows no later one.
    rows = (
        SeasonRow(
            season=season,
            rank=rank,
            agent_id=rating.agent_id,
            name=rating.agent.name,
            **{column: getattr(rating, column) for column in KEPT},
        )
        for rank, rating in enumerate(ranked.iterator(BATCH), 1)
    )
    for batch in split_batches(rows, BATCH):
        SeasonRow.objects.bulk_create(batch)
    return season


def _describe_for_audit(season: Season, **more: object) -> dict[str, object]:
    counts = {"n_agents": season.n_agents, "n_counted": season.n_counted}
    return {**counts, "season": season.pk, **more}


def _check_name(name: str) -> str:
    text = name.strip()
    if not text or len(text) > MAX_NAME:
        raise BadInputError("name", f"give the season a name of 1 to {MAX_NAME} characters")
    try:
        check_name(text)
    except ValidationError as error:
        raise BadInputError(*find_first_refusal(error)) from error
    return text


def _is_taken(board: Leaderboard, name: str) -> bool:
    return Season.objects.filter(leaderboard=board, name=name).exists()


def _new_season(
    board: Leaderboard, name: str, *, actor: Actor, reason: str, n_agents: int, now: datetime
) -> Season:
    if _is_taken(board, name):
        raise BadInputError("name", f"{board.name} has a season {name!r} already: choose another")
    return Season.objects.create(
        leaderboard=board,
        name=name,
        frozen_at=now,
        actor=actor.name,
        reason=reason,
        n_agents=n_agents,
        n_counted=board.n_counted,
        results_hash=board.results_hash,
        spread=board.spread,
    )
