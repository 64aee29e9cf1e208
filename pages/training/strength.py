"""How strong versions of runs are, by the leaderboards on which they were judged."""

from collections.abc import Iterable
from typing import NamedTuple

from experience.models import Release
from matches.models import Leaderboard, Rating
from matches.ratings.standings import format_mean
from matches.store.catalog import is_scored_game
from pages.plots.training import JudgedVersion


class Strength(NamedTuple):
    """A rating or a mean score in words and as numbers; interval: empty where it is not known."""

    board: Leaderboard
    shown: str
    interval: str
    value: float
    low: float | None
    high: float | None


def read_strengths(releases: Iterable[Release]) -> dict[int, Strength]:
    """Return the strengths of judged releases, by key of the release: one query.

    Campaign, tournament and leaderboard of each must have been read with it.
    """
    judged = {
        (release.campaign.tournament.leaderboard_id, release.agent_id): release
        for release in releases
        if release.campaign is not None and release.agent_id is not None
    }
    boards = {board for board, _ in judged}
    agents = [agent for _, agent in judged if agent is not None]
    rated = Rating.objects.filter(leaderboard__in=boards, agent__in=agents, n_matches__gt=0)
    strengths = {}
    for rating in rated:
        release = judged.get((rating.leaderboard_id, rating.agent_id))
        if release is None or release.campaign is None:
            continue
        strength = _describe_strength(rating, release.campaign.tournament.leaderboard)
        if strength is not None:
            strengths[release.pk] = strength
    return strengths


def _describe_strength(rating: Rating, board: Leaderboard) -> Strength | None:
    if not is_scored_game(board.game):
        mu, low, high = rating.mu, rating.low, rating.high
        return Strength(board, f"{mu:.2f}", f"{low:.2f} to {high:.2f}", mu, low, high)
    if rating.mean_score is None:
        return None
    ends = rating.score_low, rating.score_high
    return Strength(board, *format_mean(rating.mean_score, *ends), rating.mean_score, *ends)


def list_judged(releases: Iterable[Release], strengths: dict[int, Strength]) -> list[JudgedVersion]:
    """Return what can be drawn of versions, the fewest steps first."""
    judged = []
    for release in releases:
        strength = strengths.get(release.pk)
        if strength is None or release.agent is None:
            continue
        if strength.low is not None and strength.high is not None:
            ends = strength.value, strength.low, strength.high
            judged.append(
                JudgedVersion(release.agent.pk, release.agent.name, release.n_steps, *ends)
            )
    return sorted(judged, key=lambda strength: strength.step)
