"""`arena.rate`: results from anywhere, their order without a part, errors that name the row."""

import sys
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest
import trueskill

import arena
from arena.ratings.base import RatingError
from arena.ratings.settled import FittedTerms, count_results, settle_ratings
from arena.ratings.tests.simulated import simulated

POINTS = {1: 1, 0: 0.5, -1: 0}


def name(agent: int) -> str:
    return f"agent-{agent:02}"


def rows_of(triples: list[tuple[int, int, int]]) -> list[tuple[str, str, float]]:
    return [(name(first), name(second), POINTS[score]) for first, second, score in triples]


def test_it_is_the_settled_rating_whatever_the_order() -> None:
    field = simulated(8, 400, seed=2)
    rows = rows_of(field.triples())
    rated = arena.rate(rows)
    Random(1).shuffle(rows)
    assert arena.rate(iter(rows)).mu.tolist() == rated.mu.tolist()
    settled = settle_ratings(
        count_results(field.results), 8, terms=FittedTerms(draws=True, is_shown=True)
    )
    order = [int(one.removeprefix("agent-")) for one in rated.names]
    assert rated.mu.tolist() == settled.mu[order].tolist() == sorted(settled.mu)[::-1]
    assert rated.p_above(rated.names[0], rated.names[-1]) == settled.superiority(
        order[0], order[-1]
    )
    assert (rated.low < rated.mu).all()
    assert (rated.mu < rated.high).all()
    assert rated.n_matches.sum() == 800
    assert rated.p_best.sum() == pytest.approx(1)
    assert rated.p_best.argmax() == 0


def test_it_agrees_with_trueskill_match_by_match() -> None:
    """The same model over many results: skills agree within 1 of a spread of 8, or 3 points."""
    field = simulated(6, 3_000, seed=4)
    rated = arena.rate(rows_of(field.triples()))
    model = trueskill.TrueSkill(tau=0.0)
    online = [model.create_rating() for _ in range(6)]
    for first, second, score in field.triples():
        pair = (online[first], online[second]) if score >= 0 else (online[second], online[first])
        after = trueskill.rate_1vs1(*pair, drawn=score == 0, env=model)
        online[first], online[second] = after if score >= 0 else after[::-1]
    by_name = dict(zip(rated.names, rated.mu, strict=True))
    gaps = np.array([by_name[name(agent)] - online[agent].mu for agent in range(6)])
    assert np.abs(gaps - gaps.mean()).max() < 1


@pytest.mark.no_cover
def test_intervals_cover() -> None:
    """Of 40 fields of 10: the 95 % intervals, about the mean of the field, hold the truth."""
    n_held = 0
    for seed in range(40):
        field = simulated(10, 300, seed=seed)
        rated = arena.rate(rows_of(field.triples()))
        truth = field.skill - field.skill.mean()
        for place, one in enumerate(rated.names):
            skill = truth[int(one.removeprefix("agent-"))] + rated.mu.mean()
            n_held += bool(rated.low[place] <= skill <= rated.high[place])
    assert 0.92 <= n_held / 400 <= 0.985


def test_matches_of_play_are_rated_and_more_seats_weigh_less() -> None:
    played = arena.play("kuhn_poker", {"one": "random", "other": "random"}, 40, 1)
    assert arena.rate(played).n_matches.tolist() == [40, 40]
    three = arena.play("kuhn_poker_3", {name(n): "random" for n in range(3)}, 30, 1)
    assert arena.rate(three).n_matches.tolist() == [30, 30, 30]
    with pytest.raises(RatingError, match=r"as many seats, got \[2, 3\]"):
        arena.rate([*played, *three])


@dataclass
class Frame:
    """What is used of a DataFrame of pandas."""

    rows: list[tuple[Any, ...]]

    def itertuples(self, *, index: bool) -> Any:
        assert not index
        return iter(self.rows)


def test_a_frame_goes_in_and_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rated = arena.rate(Frame([("a", "b", 1), ("b", "c", 0.5)]))
    assert set(rated.names) == {"a", "b", "c"}

    class Pandas:
        Index = staticmethod(lambda names, name: (names, name))
        DataFrame = staticmethod(lambda table, index: (table, index))

    monkeypatch.setitem(sys.modules, "pandas", Pandas)
    table, index = rated.to_pandas()
    assert index == (rated.names, "agent")
    assert list(table) == ["mu", "sd", "low", "high", "n_matches", "p_best"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("a", "b"), r"row 2: must be \(first, second, score\), is \('a', 'b'\)"),
        (3, "row 2: must be"),
        (("a", "b", 2), "row 2: score must be 1, 0.5 or 0, is 2"),
        (("a", "b", True), "row 2: score must be 1, 0.5 or 0, is True"),
        (("a", "b", "won"), "row 2: score must be 1, 0.5 or 0, is 'won'"),
        (("a", "a", 1), "row 2: 'a' meets itself"),
    ],
)
def test_a_wrong_row_is_named(row: Any, message: str) -> None:
    with pytest.raises(RatingError, match=message):
        arena.rate([("a", "b", 1), row])


def test_an_agent_that_is_not_there_is_named() -> None:
    with pytest.raises(RatingError, match="there is no agent 'z': choose one of a, b"):
        arena.rate([("a", "b", 1)]).p_above("a", "z")


def test_no_results_are_no_ratings() -> None:
    assert arena.rate([]).names == ()
