"""Freeze a leaderboard as it stands: a season that nobody changes any more."""

from datetime import datetime

from django.db import transaction

from matches import standings
from matches.errors import BadInputError, ConflictError
from matches.models import Leaderboard, Rating, Season, SeasonRow
from matches.services import auditing
from matches.services.auditing import Actor
from matches.services.rows import batches

BATCH = 500
KEPT = (
    *("mu", "sd", "live_mu", "live_sigma"),
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
    _refuse_unsettled(board)
    ranked = standings.ranked(board.pk)
    season = _new_season(
        board, _checked(name), actor=actor, reason=reason, n_agents=ranked.count(), now=now
    )
    rows = (_row(season, rank, rating) for rank, rating in enumerate(ranked.iterator(BATCH), 1))
    for batch in batches(rows, BATCH):
        SeasonRow.objects.bulk_create(batch)
    touched = {"n_agents": season.n_agents, "n_counted": season.n_counted, "season": season.pk}
    auditing.note(
        "leaderboard.freeze", actor=actor, targets=[board], reason=reason, touched=touched, now=now
    )
    return season


def _refuse_unsettled(board: Leaderboard) -> None:
    is_settled = board.n_settled == board.n_counted and (board.results_hash or not board.n_counted)
    if board.is_rerating or not is_settled:
        raise ConflictError(
            f"the ratings of {board.name} are being computed: freeze it again in a moment"
        )


def _checked(name: str) -> str:
    text = name.strip()
    longest = Season._meta.get_field("name").max_length or 0
    if not text or len(text) > longest:
        raise BadInputError("name", f"give the season a name of 1 to {longest} characters")
    return text


def _new_season(
    board: Leaderboard, name: str, *, actor: Actor, reason: str, n_agents: int, now: datetime
) -> Season:
    if Season.objects.filter(leaderboard=board, name=name).exists():
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


def _row(season: Season, rank: int, rating: Rating) -> SeasonRow:
    kept = {name: getattr(rating, name) for name in KEPT}
    return SeasonRow(
        season=season, rank=rank, agent_id=rating.agent_id, name=rating.agent.name, **kept
    )
