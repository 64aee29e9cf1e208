"""Who plays the next common seed: those whose order is in doubt, the one behind first."""

from collections import Counter
from dataclasses import replace

import numpy as np

from arena.conformance.standings import standing
from arena.pairing import registry
from arena.pairing.base import Field
from arena.ratings.scores import Episode, ScoreBook, count_common_seeds
from arena.ratings.settled import PairCounts, count_results, settle_ratings

SKILLS = (0.0, 1.0, 4.0, 4.5)
FIELD = Field(len(SKILLS), 1)
BEST = registry.get_adaptive("common_seeds").configured({"top": 2})


def _play(counts: dict[tuple[int, int], list[int]], book: ScoreBook, agent: int, seed: int) -> None:
    rng = np.random.default_rng((seed, agent))
    for first, second, kind, n in book.add(
        Episode(seed, agent, 0, SKILLS[agent] + rng.normal(0, 2))
    ):
        counts.setdefault((first, second), [0, 0, 0])[kind] += n


def _count(counts: dict[tuple[int, int], list[int]]) -> PairCounts:
    return PairCounts.from_rows((i, j, w, d, n) for (i, j), (w, d, n) in counts.items())


def test_most_seeds_go_to_those_that_may_be_the_best() -> None:
    book, counts, n_played = ScoreBook(), dict[tuple[int, int], list[int]](), Counter[int]()
    for turn in range(40):
        now = _count(counts)
        settled = settle_ratings(now, FIELD.n_agents)
        here = replace(
            standing(FIELD),
            **{name: getattr(settled, name) for name in ("mu", "sd", "covariance", "spread")},
            counts=now,
        )
        for (agent,) in BEST.choose(here, 4, seed=turn):
            _play(counts, book, agent, n_played[agent])
            n_played[agent] += 1
    assert sum(n_played.values()) == 160
    assert min(n_played[2], n_played[3]) > 2 * max(n_played[0], n_played[1])
    # Side by side: those that are compared have played as many seeds, but for the last few.
    assert abs(n_played[2] - n_played[3]) <= 4


def test_who_is_behind_catches_up_before_the_others_go_on() -> None:
    here = standing(Field(2, 1), n_in_flight={(0, 0): 6})
    assert registry.get_adaptive("common_seeds").choose(here, 5, seed=1) == [(1,)] * 5


def test_common_seeds_are_those_with_the_agent_that_was_met_most() -> None:
    counts = count_results([(0, 1, 1)] * 3 + [(1, 2, 0)] * 5)
    assert count_common_seeds(counts, 4).tolist() == [3, 5, 5, 0]


def test_with_an_edge_the_two_at_it_are_compared() -> None:
    results = np.array([(i, j, 1) for i in range(4) for j in range(i + 1, 4)] * 40, np.int64)
    here = standing(FIELD, results)
    chosen = registry.get_adaptive("common_seeds").configured({"edge": 2}).choose(here, 30, seed=3)
    assert {agent for (agent,) in chosen} == {1, 2}


def test_matches_of_two_seats_are_refused_with_the_reason() -> None:
    assert BEST.refusal(Field(4, 2)) == "its matches have 1 seat, and these have 2"


def test_questions_about_one_seat_are_answered_on_common_seeds() -> None:
    assert registry.choose_pairing("best", {}, n_agents=5, n_seats=1) == (
        "common_seeds",
        {"top": 2},
    )
    assert registry.choose_pairing("top_k", {"k": 3}, n_agents=5, n_seats=1) == (
        "common_seeds",
        {"edge": 3},
    )
    assert registry.choose_pairing("rank_all", {}, n_agents=5, n_seats=1) == ("common_seeds", {})


def test_an_episode_weighs_as_much_as_two_on_a_seed() -> None:
    assert FIELD.pair_weight == 1.0
