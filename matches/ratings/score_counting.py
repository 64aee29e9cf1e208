"""How episodes of one-seat games are counted: by score against the others on their game seed.

What is counted of a leaderboard is kept as rows of Score. See arena.ratings.scores for the rules.
"""

from collections.abc import Collection, Iterable, Sequence
from math import isnan
from typing import NamedTuple

import numpy as np

from arena.games import registry as games
from arena.ratings.score_means import summarize_scores
from arena.ratings.scores import FORFEITED, Episode, PairResult, ScoreBook
from matches.models import Leaderboard, Score
from matches.models.match import parse_numbers
from matches.ratings.counting import Result, Tally
from matches.store.bulk import among, insert_rows

_COLUMNS = ("game_seed", "agent_id", "sequence", "score")


class Mean(NamedTuple):
    """A mean score and its 95 % interval, which one seed alone does not give."""

    mean: float | None
    low: float | None
    high: float | None


NO_MEAN = Mean(None, None, None)


def is_scored(board: Leaderboard) -> bool:
    """Say whether a leaderboard compares scores on equal seeds: its game has one seat."""
    return games.get(board.game).spec.is_scored


def read_score(returns: str) -> float | None:
    """Return the score of a one-seat episode; None after a forfeit, and of a match of several."""
    return float(returns) if returns and "," not in returns else None


def make_book(board: Leaderboard) -> ScoreBook:
    """Return an empty book under the rules of the game."""
    return ScoreBook(games.get(board.game).spec.score_margin)


def read_episode(result: Result) -> Episode:
    """Return the episode that an outcome is of."""
    (agent,) = parse_numbers(result.lineup)
    score = FORFEITED if result.score is None else result.score
    return Episode(result.game_seed, agent, result.sequence, score)


def tally_episodes(results: Iterable[Result], book: ScoreBook, total: Tally | None = None) -> Tally:
    """Return what outcomes add to the counts; the book takes them in.

    Won, drawn and lost are the results against others on the same seeds, whoever came first.
    """
    total = Tally() if total is None else total
    for result in results:
        episode = read_episode(result)
        counts = total.agents[episode.agent]
        counts[0] += 1
        counts[4] += result.guilty_seat >= 0
        add_results(book.add(episode), total)
    return total


def add_results(results: Iterable[PairResult], total: Tally, *, sign: int = 1) -> None:
    """Add results of two to the counts of both."""
    for first, second, kind, n in results:
        total.pairs[first, second][kind] += sign * n
        total.agents[first][1 + kind] += sign * n
        total.agents[second][3 - kind] += sign * n


def load_blocks(board: Leaderboard, game_seeds: Collection[int]) -> ScoreBook:
    """Return what is counted of the blocks of these game seeds."""
    book = make_book(board)
    rows = Score.objects.filter(leaderboard=board, game_seed__in=among(sorted(game_seeds)))
    for seed, agent, sequence, score in rows.values_list(*_COLUMNS):
        book.add(Episode(seed, agent, sequence, FORFEITED if score is None else score))
    return book


def count_episodes(board: Leaderboard, new: Sequence[Result]) -> Tally:
    """Keep new outcomes as scores; return what they add. The caller has the leaderboard's lock."""
    book = load_blocks(board, {result.game_seed for result in new})
    total = tally_episodes(new, book)
    store_scores(board, new)
    return total


def store_scores(board: Leaderboard, results: Iterable[Result]) -> None:
    """Write outcomes as scores."""
    rows = [
        (
            result.match,
            board.pk,
            result.game_seed,
            int(result.lineup),
            result.sequence,
            result.score,
        )
        for result in results
    ]
    insert_rows(Score, ("match_id", "leaderboard_id", *_COLUMNS), rows)


def tally_late_episodes(board: Leaderboard, matches: Collection[int]) -> Tally:
    """Return what the counts of a leaderboard hold only because of these matches."""
    late = list(
        Score.objects.filter(pk__in=among(sorted(matches)), leaderboard=board).values_list(
            *_COLUMNS
        )
    )
    book = load_blocks(board, {seed for seed, *_ in late})
    total = Tally()
    for seed, agent, sequence, score in late:
        episode = Episode(seed, agent, sequence, FORFEITED if score is None else score)
        add_results(book.remove(episode), total, sign=-1)
    return total


def compute_means(board: Leaderboard) -> dict[int, Mean]:
    """Return the mean score of each agent over the game seeds it has played, by agent.

    A forfeit counts as the least score of the game; where that is not known it is left out.
    """
    least = (games.get(board.game).spec.score_range or (None,))[0]
    rows = Score.objects.filter(leaderboard=board).order_by("sequence", "match_id")
    firsts: dict[tuple[int, int], float] = {}
    for seed, agent, _, score in rows.values_list(*_COLUMNS).iterator(chunk_size=10_000):
        value = least if score is None else score
        if value is not None:
            # Of several on one seed the first in planned order counts, as in the book.
            firsts.setdefault((agent, seed), value)
    keys = np.array(list(firsts), np.int64).reshape(-1, 2)
    means = summarize_scores(keys[:, 0], keys[:, 1], np.array(list(firsts.values()), np.float64))
    columns = (means.agents, means.mean, means.low, means.high)
    return {
        agent: Mean(*(None if isnan(value) else value for value in values))
        for agent, *values in zip(*(column.tolist() for column in columns), strict=True)
    }
