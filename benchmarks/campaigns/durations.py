"""Whether verdicts hold where a match that its first agent loses lasts longer.

Two equal agents, blocks of two games in planned order on some slots. Both ways of looking are held:
by the contiguous closed prefix, as control does, and by whatever is over, as it once did.
"""

from collections.abc import Iterator
from heapq import heapreplace
from typing import NamedTuple

import numpy as np

from arena.ratings.counts import Floats, Ints, PairCounts
from arena.ratings.settled import settle_ratings
from arena.verdicts import registry as questions
from arena.verdicts.base import Terms
from arena.verdicts.beliefs import form_belief
from arena.verdicts.sprt import BLOCKS, SequentialTest
from benchmarks.campaigns.hard.campaign import LOOK_GROWTH
from benchmarks.campaigns.mistakes import find_lower_bound, is_wrong
from benchmarks.campaigns.worlds import COUPLE, Normal

SPRT = "sprt"
ERROR = 0.05
# Matches.
BUDGETS = {SPRT: 4_000, "beats": 600, "best": 600}
# How much the first agent is worse, in rating: of two equal ones either is the best.
GAPS = {SPRT: 0.0, "beats": 0.0, "best": 1.0}
FIFO, LOCKSTEP = "first in, first out", "lockstep"


class Task(NamedTuple):
    """n campaigns: matches that the first agent loses last `factor` times as long."""

    question: str
    factor: float
    n_slots: int
    order: str
    n: int
    seed: int

    @property
    def world(self) -> Normal:
        """The two agents."""
        return Normal(np.array([25.0 - GAPS[self.question], 25.0]))


class Played(NamedTuple):
    """Matches in planned order: whether the first agent sits first, its score -1..1, their end."""

    is_first: Ints
    score: Ints
    ends: Floats


def play_campaign(task: Task, rng: np.random.Generator) -> Played:
    """Return all matches of a campaign that would go on to its budget."""
    n = BUDGETS[task.question]
    first = np.tile(np.array([0, 1]), n // COUPLE)
    score = task.world.play_matches(first, 1 - first, rng) * (1 - 2 * first)
    # Some jitter, or matches of one kind would all end at the same moment.
    lasts = rng.uniform(0.9, 1.1, n) * np.where(score < 0, task.factor, 1.0)
    ends = np.empty_like(lasts)
    if task.order == LOCKSTEP:
        # A chunk begins when the one before it is over; each result is told when it is there.
        begin = 0.0
        for start in range(0, n, task.n_slots):
            chunk = slice(start, start + task.n_slots)
            ends[chunk] = begin + lasts[chunk]
            begin = float(ends[chunk].max())
    else:
        free = [0.0] * task.n_slots
        for place, length in enumerate(lasts.tolist()):
            ends[place] = free[0] + length
            heapreplace(free, ends[place])
    return Played(1 - first, score, ends)


def look_at_matches(played: Played, *, by_prefix: bool) -> Iterator[Ints]:
    """Yield which matches are looked at, each time that they have grown enough."""
    # A prefix is closed when the latest of its matches is over.
    reached = np.maximum.accumulate(played.ends) if by_prefix else played.ends
    order, n_seen = np.argsort(reached, kind="stable"), 0
    for moment in np.sort(reached):
        n_over = int(np.searchsorted(reached[order], moment, side="right"))
        if n_over >= n_seen + 1 + LOOK_GROWTH * n_seen or (n_over == len(order) > n_seen):
            n_seen = n_over
            yield np.sort(order[:n_over])


def sprt_is_wrong(_: Task, played: Played, *, by_prefix: bool) -> bool:
    """Say whether the test of 0 against 20 Elo accepts, of equal agents."""
    test = SequentialTest(0, 20, alpha=ERROR, beta=ERROR)
    points = (played.score + 1).reshape(-1, COUPLE).sum(axis=1)
    ends = played.ends.reshape(-1, COUPLE).max(axis=1)
    # By what is over a campaign looked at blocks as they ended; by prefix the time plays no part.
    order = np.arange(len(points)) if by_prefix else np.argsort(ends, kind="stable")
    curve = test.curve(points[order], BLOCKS)
    crossed = np.flatnonzero((curve >= test.upper) | (curve <= test.lower))
    return bool(crossed.size and curve[crossed[0]] >= test.upper)


def verdict_is_wrong(task: Task, played: Played, *, by_prefix: bool) -> bool:
    """Say whether the first verdict on the question is wrong."""
    question = questions.get(task.question)
    for places in look_at_matches(played, by_prefix=by_prefix):
        is_first, score = played.is_first[places].astype(bool), played.score[places]
        table = np.empty((COUPLE, 5), np.int64)
        for agent, chosen, sign in ((0, is_first, 1), (1, ~is_first, -1)):
            scores = sign * score[chosen]
            table[agent] = agent, 1 - agent, *((scores == kind).sum() for kind in (1, 0, -1))
        counts = PairCounts(*table.T)
        verdict = question.judge(form_belief(settle_ratings(counts, COUPLE), counts), Terms(ERROR))
        if verdict is not None:
            # That one of two equal agents does not beat the other is true.
            has_erred = is_wrong(task.question, task.world, verdict, 0.0)
            return "not" not in verdict.statement and has_erred
    return False


def make_row(task: Task) -> dict[str, object]:
    """Hold all campaigns of a task; return its row of the benchmark."""
    rng = np.random.default_rng([task.seed, int(task.factor), task.n_slots])
    has_erred = sprt_is_wrong if task.question == SPRT else verdict_is_wrong
    n_wrong = {True: 0, False: 0}
    for _ in range(task.n):
        # Both ways look at the same campaign: so they differ by the looking alone.
        played = play_campaign(task, rng)
        for by_prefix in n_wrong:
            n_wrong[by_prefix] += has_erred(task, played, by_prefix=by_prefix)
    return {
        "question": task.question,
        "lost_lasts": task.factor,
        "slots": task.n_slots,
        "order": task.order,
        "stated_error": ERROR,
        "n": task.n,
        "wrong": n_wrong[True],
        "share": n_wrong[True] / task.n,
        "lower_bound": find_lower_bound(n_wrong[True], task.n),
        "share_by_what_is_over": n_wrong[False] / task.n,
    }
